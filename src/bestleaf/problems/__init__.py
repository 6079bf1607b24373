"""What is searched: the `Problem` protocol, its optional methods, and synthetic problems with known values."""

from bestleaf.problems.cyclic import SlidingPuzzle, cat_and_mouse, navigation_grid, random_cyclic_graph
from bestleaf.problems.protocols import (
    Batched,
    Chance,
    Endless,
    Exact,
    ExactMany,
    Neighbourhood,
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
    "Endless",
    "Exact",
    "ExactMany",
    "Neighbourhood",
    "Pig",
    "Problem",
    "ScoreLattice",
    "SlidingPuzzle",
    "SlipperyGrid",
    "State",
    "TableProblem",
    "TwoPlayer",
    "Unrolled",
    "cat_and_mouse",
    "navigation_grid",
    "paper_lattice",
    "random_cyclic_graph",
    "random_dag",
    "random_game_tree",
    "transposition_trap",
]
