"""What is searched: the `Problem` protocol, its optional methods, and synthetic problems with known values."""

from bestleaf.problems.protocols import (
    Batched,
    Chance,
    Exact,
    ExactMany,
    Neighbourhood,
    Prior,
    Problem,
    State,
    TwoPlayer,
)
from bestleaf.problems.stochastic import ChanceProblem, Pig, SlipperyGrid
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
    "ChanceProblem",
    "Exact",
    "ExactMany",
    "Neighbourhood",
    "Pig",
    "Prior",
    "Problem",
    "ScoreLattice",
    "SlipperyGrid",
    "State",
    "TableProblem",
    "TwoPlayer",
    "Unrolled",
    "paper_lattice",
    "random_dag",
    "random_game_tree",
    "transposition_trap",
]
