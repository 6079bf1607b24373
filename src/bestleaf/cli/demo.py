"""bestleaf demo: the main job on a messy table that is generated, and the paper's data with their proof."""

from __future__ import annotations

import shlex
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console

from bestleaf.cli.options import tell
from bestleaf.features.neighbours import NeighbourVotes
from bestleaf.paper import load_linear
from bestleaf.proof.words_new_rows import proved_in_short
from bestleaf.report import save_report
from bestleaf.selection.selector import BestLeafSelector
from bestleaf.tables import load_table
from bestleaf.tables.select import select_from_table

ROWS, NOISE = 2400, 14


def messy_table(seed: int) -> pd.DataFrame:
    """Return a table of customers, of whom some churned: an id, dates, categories, gaps, copies and much noise."""
    rng = np.random.default_rng(seed)
    age, visits, months = rng.integers(18, 80, ROWS), rng.poisson(4, ROWS), rng.integers(1, 60, ROWS)
    plan, spent = rng.choice(["basic", "plus", "team"], ROWS, p=[0.5, 0.3, 0.2]), rng.gamma(2, 30, ROWS)
    score = 0.9 * (visits < 3) - 0.03 * months + 1.1 * (plan == "basic") - 0.012 * spent + rng.logistic(0, 0.6, ROWS)
    frame = pd.DataFrame({"customer_id": np.arange(ROWS) + 40_000, "age": age, "visits": visits, "months": months})
    frame["plan"], frame["spent"] = plan, np.where(rng.random(ROWS) < 0.06, np.nan, spent)
    frame["spent in cents"] = (100 * spent).round(-2)  # almost a copy
    frame["since"] = (pd.Timestamp("2026-01-01") - pd.to_timedelta(30 * months, "D")).strftime("%Y-%m-%d")
    for number in range(NOISE):
        frame[f"noise {number + 1}"] = rng.normal(size=ROWS)
    return frame.assign(churned=np.where(score > 0, "yes", "no"))


def show(random_state: int) -> None:
    """Select columns of both tables; print the answers and where the page is."""
    console, folder = Console(), Path(tempfile.mkdtemp(prefix="bestleaf-demo-"))
    messy_table(random_state).to_csv(folder / "customers.csv", index=False)
    tell(console, f"A messy table: {ROWS:,} customers, of whom some churned ({folder / 'customers.csv'}).")
    table = load_table(folder / "customers.csv", "churned")
    seed = ["--random-state", str(random_state)]
    repeat = shlex.join(["bestleaf", "select", str(folder / "customers.csv"), "--target", "churned", *seed])
    with redirect_stdout(sys.stderr):
        found = select_from_table(table, repeat=repeat, random_state=random_state, n_jobs=-1, verbose=1).certificate
    page = folder / "customers.html"
    save_report(found, page, title="customers.csv: columns that predict churned")
    tell(
        console,
        *found.answer_in_words().splitlines(),
        f"{proved_in_short(found)} The page: {page}",
        "",
    )
    tell(console, "The paper's data (300 rows, 30 columns, 20 of them noise), by the paper's search, with its proof:")
    linear = load_linear()
    votes = NeighbourVotes(scale=False)
    selector = BestLeafSelector(votes, choose="training", epsilon=0.005, delta=0.1, random_state=random_state)
    proved = selector.fit(pd.DataFrame(linear.data, columns=linear.feature_names), linear.target).certificate_
    tell(console, proved.answer_in_words().splitlines()[0], proved.claims[0])
