"""The plots of the page as SVG; they can also be shown in notebooks and saved one by one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import groupby, pairwise
from math import floor, log10
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, overload

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from bestleaf.certificate import Certificate
from bestleaf.certificate.claims import BY_THESE_ROWS
from bestleaf.certificate.schema import Content
from bestleaf.certificate.searched import searched
from bestleaf.checks import whole
from bestleaf.files import write_atomically
from bestleaf.report.content import LEADING, PathPoint, leading_leaves, path_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bestleaf.selector import BestLeafSelector

__all__ = ["Picture", "plot_gap", "plot_intervals", "plot_path", "plot_sizes"]

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 760.0, 64.0, 16.0, 18.0, 40.0
ROW, NAMES, HEIGHT = 18.0, 262.0, 260.0  # height of an interval, width of its name, height of a line plot
LEGEND = 24.0  # height of the legend below a plot
LEFT_OUT = "left out ± one standard error"
MANY_SIZES, MANY_DOTS = 30, 60  # sizes of a path from which on its scale is logarithmic, and has no dots

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


class WholeScale(Scale):
    """A linear scale of whole numbers."""

    __slots__ = ()

    def ticks(self, about: int = 5) -> list[float]:
        """Return round whole numbers between the ends."""
        return [tick for tick in super().ticks(about) if tick == round(tick)]


class LogScale(Scale):
    """A logarithmic scale from values above 0 to places in a plot."""

    __slots__ = ()

    def __call__(self, value: float) -> float:
        """Return the place of a value."""
        low, high = log10(self.low), log10(self.high)
        return self.start + (log10(value) - low) / ((high - low) or 1.0) * (self.end - self.start)

    def ticks(self, about: int = 5) -> list[float]:
        """Return 1, 2, 5, 10, 20, 50 and so on between the ends, and the upper end if it is not too close to them."""
        steps = [factor * 10.0**power for power in range(int(log10(self.high)) + 1) for factor in (1, 2, 5)]
        inside = [step for step in steps if self.low <= step <= self.high]
        return inside if self.high < 1.15 * inside[-1] else [*inside, self.high]


def draw_intervals(content: Content, leaves: Sequence[Content]) -> str:
    """Draw the intervals of leaves, each in its own line, and the limit that rivals must stay below.

    The scale shows all upper bounds and most means; long intervals are cut at their lower ends.
    """
    best = searched(content)
    limit = best.value + content["search"]["epsilon"]
    called = "answer + epsilon" if best.is_answer else f"{BY_THESE_ROWS} + epsilon"
    means = sorted(leaf["mean"] for leaf in leaves if leaf["mean"] is not None) or [0.0]
    low, high = means[len(means) // 10], max(limit, *(leaf["upper"] for leaf in leaves))
    pad = 0.15 * max(high - low, 0.01)
    x = Scale(max(0.0, low - pad), min(1.0, high + pad / 5), NAMES, WIDTH - RIGHT)
    height = TOP + BOTTOM + ROW * len(leaves)
    return _drawn("intervals.svg", leaves=leaves, x=x, limit=min(x.high, limit), called=called, height=height, row=ROW)


def draw_gap(content: Content) -> str | None:
    """Draw the gap over time; None if it was recorded less than twice."""
    points = [(row["seconds"], row["gap"]) for row in content["report"]["history"] if row["gap"] < 1]
    labels = ("seconds", "gap (dashed: epsilon)", "Gap by time")
    return _draw_line(points, *labels, limit=content["search"]["epsilon"]) if len(points) > 1 else None


def draw_sizes(content: Content) -> str:
    """Draw the best value of each number of features."""
    points = [(float(size), value) for size, value, _ in content["report"]["by_size"]]
    return _draw_line(points, "features", "value", "Best value by number of features", dots=True)


def draw_path(content: Content) -> str:
    """Draw training values and left-out scores by size, the chosen size, and the score of all features."""
    points = path_points(content)
    sizes, scores = [point.size for point in points], [one for point in points for one in point.heights()] or [0.0, 1.0]
    pad = 0.05 * ((max(scores) - min(scores)) or 0.1)
    scale = LogScale if len(sizes) > MANY_SIZES else WholeScale
    x = scale(min(sizes), max(sizes), LEFT, WIDTH - RIGHT)
    y = Scale(min(scores) - pad, max(scores) + pad, HEIGHT - BOTTOM, TOP)
    middles = [(x(one) + x(other)) / 2 for one, other in pairwise(sizes)]
    return _drawn(
        "path.svg",
        points=points,
        edges=list(pairwise([x.start, *middles, x.end])),
        bands=_bands(points),
        all_features=points[-1].left_out,
        dots=len(points) <= MANY_DOTS,
        left_out=LEFT_OUT,
        x=x,
        y=y,
        plot_height=HEIGHT,
        height=HEIGHT + LEGEND,
    )


def _bands(points: Sequence[PathPoint]) -> list[list[PathPoint]]:
    """Return the runs of sizes whose left-out scores have standard errors."""
    runs = groupby(points, key=lambda point: point.band is not None)
    return [list(run) for known, run in runs if known]


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

    When the search is settled, only the interval of the answer reaches beyond the dashed line. Where left-out rows
    decided, that is said of the answer by these rows alone.

    Parameters
    ----------
    certificate : Certificate
        The certificate of any search.
    rivals : int, default=30
        How many rivals are shown, at most 30.
    """
    shown = leading_leaves(certificate.content)[: whole("rivals", rivals, 1) + 1]
    return Picture(draw_intervals(certificate.content, shown))


def plot_gap(certificate: Certificate) -> Picture:
    """Plot the gap over time; only the certificate of a feature selection has it."""
    drawing = draw_gap(_selection(certificate))
    if drawing is None:
        raise ValueError("certificate must have seen the gap at least twice, got less")
    return Picture(drawing)


def plot_sizes(certificate: Certificate) -> Picture:
    """Plot the best value of each number of features, among the subsets evaluated."""
    return Picture(draw_sizes(_selection(certificate)))


@overload
def plot_path(found: Certificate | BestLeafSelector, ax: None = None) -> Picture: ...


@overload
def plot_path(found: Certificate | BestLeafSelector, ax: Axes) -> Axes: ...


def plot_path(found: Certificate | BestLeafSelector, ax: Axes | None = None) -> Picture | Axes:
    """Plot the path: training values and left-out scores by size, the chosen size, and the score of all features.

    The band is one standard error of the left-out score on each side. With many sizes the scale is logarithmic.

    Parameters
    ----------
    found : Certificate or BestLeafSelector
        A selector fitted with ``choose="new_data"``, or its certificate.
    ax : matplotlib axes, default=None
        Where to draw. Without it matplotlib is not needed.

    Returns
    -------
    Picture or axes
        The axes if they were given, otherwise a picture that a notebook shows.
    """
    certificate = getattr(found, "certificate_", found)
    if not isinstance(certificate, Certificate):
        raise TypeError(f"found must be a fitted selector or a Certificate, got a {type(found).__name__}")
    if certificate.path is None:
        raise ValueError("found must be fitted with choose='new_data', which gives a path; got one without a path")
    if ax is None:
        return Picture(draw_path(certificate.content))
    _draw_path_on(ax, path_points(certificate.content))
    return ax


def _draw_path_on(ax: Axes, points: Sequence[PathPoint]) -> None:
    """Draw a path on axes of matplotlib."""
    trained = {one.size: one.training for one in points if one.training is not None}
    scored = {one.size: one.left_out for one in points if one.left_out is not None}
    ax.plot(list(trained), list(trained.values()), color="tab:gray", label="training")
    ax.plot(list(scored), list(scored.values()), "o-", color="tab:blue", markersize=3, label=LEFT_OUT)
    for run in _bands(points):
        low, high = zip(*(one.band for one in run), strict=True)
        ax.fill_between([one.size for one in run], low, high, color="tab:blue", alpha=0.2, linewidth=0)
    if points[-1].size in scored:
        ax.axhline(scored[points[-1].size], color="tab:green", linestyle="--", label="all features, left out")
    for size in (one.size for one in points if one.chosen and one.size in scored):
        ax.plot([size], [scored[size]], "o", color="tab:orange", label=f"chosen: {size}")
    if len(points) > MANY_SIZES:
        ax.set_xscale("log")
        ticks = LogScale(points[0].size, points[-1].size, 0.0, 1.0).ticks()
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.minorticks_off()
    ax.set(xlabel="features", ylabel="score")
    ax.legend()


def _selection(certificate: Certificate) -> Content:
    if certificate.content.get("report") is None:
        raise ValueError("certificate must be that of a BestLeafSelector, got one of another search")
    return certificate.content
