"""How each compiled oracle draws one sample."""

from bestleaf._compile import draws, kernel
from bestleaf._records import Bernoulli


@draws(Bernoulli)
@kernel
def draw_bernoulli(oracle, leaf, rng):
    """Return 1.0 with probability means[leaf], otherwise 0.0."""
    return 1.0 if rng.random() < oracle.means[leaf] else 0.0
