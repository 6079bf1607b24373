"""What is searched: the `Problem` protocol, its optional methods, and synthetic problems with known values."""

from bestleaf.problems.protocols import (
    Batched,
    Chance,
    Endless,
    Exact,
    Neighbourhood,
    Prior,
    Problem,
    State,
    TwoPlayer,
)
from bestleaf.problems.synthetic import (
    PAPER_SCORES,
    Bernoulli,
    BernoulliProblem,
    BernoulliTable,
    ScoreLattice,
    TableProblem,
    Unrolled,
    paper_lattice,
    random_dag,
    random_game_tree,
    transposition_trap,
)

__all__ = [
    "PAPER_SCORES",
    "Batched",
    "Bernoulli",
    "BernoulliProblem",
    "BernoulliTable",
    "Chance",
    "Endless",
    "Exact",
    "Neighbourhood",
    "Prior",
    "Problem",
    "ScoreLattice",
    "State",
    "TableProblem",
    "TwoPlayer",
    "Unrolled",
    "paper_lattice",
    "random_dag",
    "random_game_tree",
    "transposition_trap",
]
