"""The plots of the page as SVG; they can also be shown in notebooks and saved one by one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import floor, log10
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from bestleaf.certificate import Certificate
from bestleaf.certificate.schema import Content
from bestleaf.checks import whole
from bestleaf.files import write_atomically
from bestleaf.report.content import LEADING, leading_leaves

__all__ = ["Picture", "plot_gap", "plot_intervals", "plot_sizes"]

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 760.0, 64.0, 16.0, 18.0, 40.0
ROW, NAMES, HEIGHT = 18.0, 262.0, 260.0  # height of an interval, width of its name, height of a line plot

Points = Sequence[tuple[float, float]]


@cache
def templates() -> Environment:
    """Return the templates of the page and of its plots."""
    found = Environment(
        loader=PackageLoader("bestleaf.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    found.filters["tenth"] = "{:.1f}".format
    found.globals.update(width=WIDTH, top=TOP, bottom=BOTTOM)
    found.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    return found


class Scale(NamedTuple):
    """A linear scale from values to places in a plot."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the place of a value."""
        return self.start + (value - self.low) / ((self.high - self.low) or 1.0) * (self.end - self.start)

    def inside(self, value: float) -> float:
        """Return the place of a value; a value outside of the scale gets the place of the nearer end."""
        return self(min(max(value, self.low), self.high))

    def ticks(self, about: int = 5) -> list[float]:
        """Return round numbers between the ends."""
        if self.high <= self.low:
            return [self.low]
        raw = (self.high - self.low) / about
        power = 10.0 ** floor(log10(raw))
        step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw)
        first, last = -(-self.low // step), floor((self.high + 1e-12) / step)
        many = min(3 * about, max(1, int(last - first) + 1))  # large numbers that hardly differ would give very many
        return [round((first + place) * step, 10) for place in range(many)]


def draw_intervals(leaves: Sequence[Content], limit: float) -> str:
    """Draw the intervals of leaves, each in its own line, and the limit that rivals must stay below.

    The scale shows all upper bounds and most means; long intervals are cut at their lower ends.
    """
    means = sorted(leaf["mean"] for leaf in leaves if leaf["mean"] is not None) or [0.0]
    low, high = means[len(means) // 10], max(limit, *(leaf["upper"] for leaf in leaves))
    pad = 0.15 * max(high - low, 0.01)
    x = Scale(max(0.0, low - pad), min(1.0, high + pad / 5), NAMES, WIDTH - RIGHT)
    height = TOP + BOTTOM + ROW * len(leaves)
    return _drawn("intervals.svg", leaves=leaves, x=x, limit=min(x.high, limit), height=height, row=ROW)


def draw_gap(content: Content) -> str | None:
    """Draw the gap over time; None if it was recorded less than twice."""
    points = [(row["seconds"], row["gap"]) for row in content["report"]["history"] if row["gap"] < 1]
    labels = ("seconds", "gap (dashed: epsilon)", "Gap by time")
    return _draw_line(points, *labels, limit=content["search"]["epsilon"]) if len(points) > 1 else None


def draw_sizes(content: Content) -> str:
    """Draw the best value of each number of features."""
    points = [(float(size), value) for size, value, _ in content["report"]["by_size"]]
    return _draw_line(points, "features", "value", "Best value by number of features", dots=True)


def _draw_line(
    points: Points, x_label: str, y_label: str, title: str, *, limit: float | None = None, dots: bool = False
) -> str:
    """Draw a line through points, and a dashed one at a limit."""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    ys += [] if limit is None else [0.0, limit]
    pad = 0.05 * ((max(ys) - min(ys)) or 0.1)
    x = Scale(min(xs), max(xs), LEFT, WIDTH - RIGHT)
    y = Scale(min(ys) - pad, max(ys) + pad, HEIGHT - BOTTOM, TOP)
    labels = {"x_label": x_label, "y_label": y_label, "title": title}
    return _drawn("line.svg", points=points, x=x, y=y, height=HEIGHT, limit=limit, dots=dots, **labels)


def _drawn(template: str, **values: object) -> Markup:
    """Return a template filled with values."""
    return Markup(templates().get_template(template).render(**values))


class Picture:
    """A plot that a notebook shows and that can be saved as SVG."""

    def __init__(self, drawing: str) -> None:
        head, _, rest = drawing.partition(">")
        style = _drawn("plot.css")
        self.svg = f'{head} xmlns="http://www.w3.org/2000/svg"><style>\n{style}\n</style>{rest}'

    def _repr_svg_(self) -> str:
        return self.svg

    _repr_html_ = _repr_svg_

    def save(self, path: str | Path) -> None:
        """Write the plot to an SVG file, whole or not at all."""
        write_atomically(Path(path), self.svg + "\n")


def plot_intervals(certificate: Certificate, *, rivals: int = LEADING) -> Picture:
    """Plot the intervals of the answer and its closest rivals.

    When the search is settled, only the interval of the answer reaches beyond the dashed line.

    Parameters
    ----------
    certificate : Certificate
        The certificate of any search.
    rivals : int, default=30
        How many rivals are shown, at most 30.
    """
    shown = leading_leaves(certificate.content)[: whole("rivals", rivals, 1) + 1]
    return Picture(draw_intervals(shown, certificate.content["lower"] + certificate.epsilon))


def plot_gap(certificate: Certificate) -> Picture:
    """Plot the gap over time; only the certificate of a feature selection has it."""
    drawing = draw_gap(_selection(certificate))
    if drawing is None:
        raise ValueError("certificate must have seen the gap at least twice, got less")
    return Picture(drawing)


def plot_sizes(certificate: Certificate) -> Picture:
    """Plot the best value of each number of features, among the subsets evaluated."""
    return Picture(draw_sizes(_selection(certificate)))


def _selection(certificate: Certificate) -> Content:
    if certificate.content.get("report") is None:
        raise ValueError("certificate must be that of a BestLeafSelector, got one of another search")
    return certificate.content
