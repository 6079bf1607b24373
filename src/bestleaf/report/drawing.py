"""The figures of the page as SVG, from templates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise, zip_longest
from math import ceil, floor, log10
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
    leading_leaves,
    limit_of,
    path_points,
    value_range,
)

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 760.0, 64.0, 16.0, 18.0, 40.0
ROW, NAMES, HEIGHT = 18.0, 300.0, 260.0  # height of an interval, width of its name, height of a line plot
LEGEND = 24.0  # height of the legend below a plot
MANY_TICKS = 12  # on a logarithmic scale; more of them are powers of ten only
LIGHT = {
    "ink": "#1c2430",
    "soft": "#5b6675",
    "paper": "#ffffff",
    "line": "#d9dee6",
    "accent": "#0b6bcb",
    "answer": "#c2410c",
    "noise": "#8a94a3",
    "exact": "#0f766e",
}


class Picture(str):
    """An SVG as text, which a notebook shows as a picture."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(self)


@cache
def templates() -> Environment:
    """Return the templates of the page and of its figures."""
    found = Environment(
        loader=PackageLoader("bestleaf.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    found.filters["tenth"] = "{:.1f}".format
    found.filters["tick"] = _tick
    found.globals.update(width=WIDTH, top=TOP, bottom=BOTTOM, light=LIGHT)
    return found


def standalone(svg: str) -> Picture:
    """Return a figure of the page with the colours that the page gives it, on white."""
    rules = templates().get_template("figures.css").render()
    rules = re.sub(r"var\(--(\w+)\)", lambda name: LIGHT[name[1]], rules)
    return Picture(str(svg).replace("<title>", f"<style>{rules}.bestleaf {{ background: white; }}</style><title>", 1))


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
        if len(inside) > MANY_TICKS:
            return [step for step in inside if log10(step).is_integer()]
        return inside if self.high < 1.15 * inside[-1] else [*inside, self.high]


class Curve(NamedTuple):
    """A line through points, with a dot at each if there are `dots`, and bars as long as twice its `errors`."""

    points: Points
    kind: str = ""  # the class that gives its colour
    words: str = ""  # in the legend
    dots: bool = False
    errors: Sequence[float] = ()


def draw_intervals(content: Content) -> str:
    """Draw the answer and its closest rivals, each in its own line, and the limit that rivals must stay below.

    The scale shows all upper bounds and most means; long intervals are cut at their lower ends.
    """
    leaves, (limit, called) = leading_leaves(content), limit_of(content)
    x = Scale(*value_range(leaves, limit), NAMES, WIDTH - RIGHT)
    height = TOP + BOTTOM + ROW * len(leaves)
    return _drawn("intervals.svg", leaves=leaves, x=x, limit=min(x.high, limit), called=called, height=height, row=ROW)


def draw_gap(content: Content) -> str | None:
    """Draw the gap over time; None if it was known less than twice."""
    runs = [] if content.get("report") is None else gap_runs(content)
    if not runs:
        return None
    curves = [Curve(_in_steps(run)) for run in runs]
    return draw_curves("Gap by time", "seconds", "gap (dashed: epsilon)", curves, limit=content["search"]["epsilon"])


def draw_sizes(content: Content) -> str | None:
    """Draw the best value of each number of features; None if there are not several."""
    rows = [] if content.get("report") is None else content["report"]["by_size"]
    if len(rows) < 2:
        return None
    points = [(float(size), value) for size, value, _ in rows]
    return draw_curves("Best value by number of features", "features", "value", [Curve(points, dots=True)])


def draw_path(content: Content) -> str | None:
    """Draw training values and left-out scores by size, the chosen size, and the score of all features.

    None if the certificate has no path.
    """
    if content.get("new_data") is None:
        return None
    points = path_points(content)
    sizes, scores = [point.size for point in points], [one for point in points for one in point.heights()] or [0.0, 1.0]
    scale = LogScale if len(sizes) > MANY_SIZES else WholeScale
    y = _upwards(scores, HEIGHT)
    x = scale(min(sizes), max(sizes), _beside(y), WIDTH - RIGHT)
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


def draw_curves(
    title: str,
    x_label: str,
    y_label: str,
    curves: Sequence[Curve],
    *,
    limit: float | None = None,
    shaded: tuple[float, float] | None = None,
    height: float = HEIGHT,
    log: bool = False,
) -> str:
    """Draw curves on one scale, a dashed line at a limit, and a shaded part of the width; `log`: of the heights."""
    points = [point for curve in curves for point in curve.points]
    xs, ys = [x for x, _ in points], [y for _, y in points]
    ys += [] if limit is None else [0.0, limit]
    y = _by_tens(ys, height) if log else _upwards(ys, height)
    return _drawn(
        "line.svg",
        title=title,
        x_label=x_label,
        y_label=y_label,
        curves=curves,
        limit=limit,
        shaded=shaded,
        x=Scale(min(xs), max(xs), _beside(y), WIDTH - RIGHT),
        y=y,
        height=height,
    )


def _tick(value: float) -> str:
    """Return a number of a scale in words."""
    return f"{value:,.10g}"


def _beside(y: Scale) -> float:
    """Return where a plot begins, such that the numbers of its scale have room beside it."""
    return max(LEFT, 12.0 + 6.5 * max(len(_tick(tick)) for tick in y.ticks()))


def _upwards(values: Sequence[float], height: float) -> Scale:
    """Return a scale upwards for these values, with some room at both ends."""
    pad = 0.05 * ((max(values) - min(values)) or 0.1)
    return Scale(min(values) - pad, max(values) + pad, height - BOTTOM, TOP)


def _by_tens(values: Sequence[float], height: float) -> Scale:
    """Return a logarithmic scale upwards from a power of ten to another."""
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    return LogScale(10.0**low, 10.0 ** max(high, low + 1), height - BOTTOM, TOP)


def _in_steps(points: Points) -> Points:
    """Return points such that each value stays until the place of the next one."""
    between = [(later, value) for (_, value), (later, _) in pairwise(points)]
    return [one for pair in zip_longest(points, between) for one in pair if one is not None]


def _drawn(template: str, **values: object) -> Markup:
    """Return a template filled with values."""
    return Markup(templates().get_template(template).render(**values))
