"""The plots of the page as SVG, from templates: a page needs no matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise, zip_longest
from math import floor, log10
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from bestleaf.certificate.schema import Content
from bestleaf.report.content import (
    LEFT_OUT,
    MANY_DOTS,
    MANY_SIZES,
    Points,
    bands_of,
    gap_runs,
    limit_of,
    path_points,
    size_points,
    value_range,
)

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 760.0, 64.0, 16.0, 18.0, 40.0
ROW, NAMES, HEIGHT = 18.0, 300.0, 260.0  # height of an interval, width of its name, height of a line plot
LEGEND = 24.0  # height of the legend below a plot


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
    limit, called = limit_of(content)
    x = Scale(*value_range(leaves, limit), NAMES, WIDTH - RIGHT)
    height = TOP + BOTTOM + ROW * len(leaves)
    return _drawn("intervals.svg", leaves=leaves, x=x, limit=min(x.high, limit), called=called, height=height, row=ROW)


def draw_gap(content: Content) -> str | None:
    """Draw the gap over time; None if it was known less than twice."""
    runs = gap_runs(content)
    labels = ("seconds", "gap (dashed: epsilon)", "Gap by time")
    return _draw_lines(runs, *labels, limit=content["search"]["epsilon"], steps=True) if runs else None


def draw_sizes(content: Content) -> str:
    """Draw the best value of each number of features."""
    labels = ("features", "value", "Best value by number of features")
    return _draw_lines([size_points(content)], *labels, dots=True)


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
        bands=bands_of(points),
        all_features=points[-1].left_out,
        dots=len(points) <= MANY_DOTS,
        left_out=LEFT_OUT,
        x=x,
        y=y,
        plot_height=HEIGHT,
        height=HEIGHT + LEGEND,
    )


def _draw_lines(
    runs: Sequence[Points],
    x_label: str,
    y_label: str,
    title: str,
    *,
    limit: float | None = None,
    dots: bool = False,
    steps: bool = False,
) -> str:
    """Draw a line through each run of points, and a dashed one at a limit; in `steps` a value holds until the next."""
    points = [point for run in runs for point in run]
    xs, ys = [x for x, _ in points], [y for _, y in points]
    ys += [] if limit is None else [0.0, limit]
    pad = 0.05 * ((max(ys) - min(ys)) or 0.1)
    x = Scale(min(xs), max(xs), LEFT, WIDTH - RIGHT)
    y = Scale(min(ys) - pad, max(ys) + pad, HEIGHT - BOTTOM, TOP)
    lines = [in_steps(run) for run in runs] if steps else runs
    labels = {"x_label": x_label, "y_label": y_label, "title": title}
    return _drawn("line.svg", points=points, lines=lines, x=x, y=y, height=HEIGHT, limit=limit, dots=dots, **labels)


def in_steps(points: Points) -> Points:
    """Return points such that each value stays until the place of the next one."""
    between = [(later, value) for (_, value), (later, _) in pairwise(points)]
    return [one for pair in zip_longest(points, between) for one in pair if one is not None]


def _drawn(template: str, **values: object) -> Markup:
    """Return a template filled with values."""
    return Markup(templates().get_template(template).render(**values))
