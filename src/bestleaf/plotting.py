"""The plots of a page one by one, for notebooks and files."""

from __future__ import annotations

from pathlib import Path

from bestleaf.certificate import Certificate
from bestleaf.checks import whole
from bestleaf.files import write_atomically
from bestleaf.report import charts
from bestleaf.report.content import LEADING, leading_leaves

__all__ = ["Picture", "plot_gap", "plot_intervals", "plot_sizes"]

STYLE = """<style>
svg{font-family:system-ui,sans-serif;background:#fff}.grid{stroke:#d9dee6}.tick,.label{fill:#5b6675;font-size:11px}
.limit{stroke:#c2410c;stroke-dasharray:5 4}.line{fill:none;stroke:#0b6bcb;stroke-width:2}.dot{fill:#0b6bcb}
.leaf line{stroke:#8a94a3;stroke-width:5;stroke-linecap:round}.leaf.exact line{stroke:#0f766e}
.leaf.exact circle{fill:#0f766e}.leaf.answer line{stroke:#c2410c}.leaf.answer circle{fill:#c2410c}
</style>"""


class Picture:
    """A plot that a notebook shows and that can be saved as SVG."""

    def __init__(self, drawing: str) -> None:
        head, _, rest = drawing.partition(">")
        self.svg = f'{head} xmlns="http://www.w3.org/2000/svg">{STYLE}{rest}'

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> None:
        """Write the plot to an SVG file, whole or not at all."""
        write_atomically(Path(path), self.svg + "\n")


def plot_intervals(certificate: Certificate, *, rivals: int = LEADING) -> Picture:
    """Return the intervals of the answer and its closest rivals.

    When the search is settled, none but the answer reaches beyond the dashed line.

    Parameters
    ----------
    certificate : Certificate
        Of any search.
    rivals : int, default=30
        How many are shown, at most 30.
    """
    content = certificate.content
    shown = leading_leaves(content)[: whole("rivals", rivals, 1) + 1]
    return Picture(charts.intervals(shown, content["lower"] + certificate.epsilon))


def plot_gap(certificate: Certificate) -> Picture:
    """Return how the gap closed with time; known of a feature selection."""
    points = [(row["elapsed"], row["gap"]) for row in _extras(certificate)["history"] if row["gap"] < 1]
    if len(points) < 2:
        raise ValueError(f"certificate must have seen the gap at two times at least, got {len(points)}")
    return Picture(charts.gap(points, certificate.epsilon))


def plot_sizes(certificate: Certificate) -> Picture:
    """Return the best value evaluated for each number of features."""
    points = [(float(size), value) for size, value, _ in _extras(certificate)["by_size"]]
    return Picture(charts.sizes(points))


def _extras(certificate: Certificate) -> dict:
    found = certificate.content.get("report")
    if found is None:
        raise ValueError("certificate must be that of a BestLeafSelector, got one of another search")
    return found
