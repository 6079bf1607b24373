"""bestleaf demo: features of the paper's linear data."""

from __future__ import annotations

import pandas as pd
from rich.console import Console
from rich.table import Table

from bestleaf.features.neighbours import NeighbourVotes
from bestleaf.paper import load_linear
from bestleaf.selection.selector import BestLeafSelector

STORY = """\
[bold]The paper's linear data[/]: 300 examples, 30 features. The label is 0.1 x - 0.8 y + 0.6 z >= 0; ten of the \
features are made of x, y and z, twenty are noise. Which subset lets nearest neighbours rank the examples best?
"""


def show(random_state: int) -> None:
    """Select features of the paper's linear data and show what is proved, what is not, and what it cost."""
    console, data = Console(), load_linear()
    console.print(STORY, highlight=False, soft_wrap=True)
    votes = NeighbourVotes(scale=False)
    selector = BestLeafSelector(
        votes, choose="training", epsilon=0.005, delta=0.1, random_state=random_state, verbose=1
    )
    selector.fit(pd.DataFrame(data.data, columns=data.feature_names), data.target)
    sizes = Table(title="The best subset of each size among those evaluated", title_justify="left")
    for name in ("features", "value", "subset"):
        sizes.add_column(name, justify="left" if name == "subset" else "right")
    for size, best in selector.evaluated_.by_size().items():
        sizes.add_row(str(size), f"{best.score:.4f}", ", ".join(map(str, best.features)))
    console.print()
    console.print(sizes)
    print(
        "The paper reports 440,240 samples for this data set, without proof; this run took "
        f"{selector.certificate_.samples:,}. Try another seed (bestleaf demo --random-state 2), or run the paper's "
        "tables again (bestleaf reproduce --help)."
    )
