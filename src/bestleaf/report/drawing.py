"""The figures of the page as SVG, from templates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from math import ceil, floor, log10
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from bestleaf.proof.record import Certificate
from bestleaf.report.content import Points, Size, rows_of, sizes_of

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 760.0, 72.0, 26.0, 24.0, 44.0
ROW, NAMES, HEIGHT = 18.0, 300.0, 280.0  # height of an interval, width of its name, height of a line plot
LEGEND = 26.0  # height of a line of the legend below a plot, which has two entries
ABOVE = 26.0  # room above the path, for the label of the chosen size
BETWEEN = 30.0  # least distance of the numbers of sizes
MANY_TICKS = 12  # on a logarithmic scale; more of them are powers of ten only
SPREAD = 15  # a path to more columns than this has a logarithmic scale
COLOURS = {  # name: light, dark; blue and orange are told apart by all kinds of colour vision
    "ink": ("#1c2430", "#e6eaf0"),
    "soft": ("#5b6675", "#a3adbb"),
    "paper": ("#ffffff", "#12161c"),
    "card": ("#f5f7fa", "#1b222b"),
    "line": ("#d9dee6", "#2e3641"),
    "accent": ("#0b6bcb", "#6cb2ff"),
    "answer": ("#c2410c", "#fb923c"),
    "noise": ("#8a94a3", "#7c8797"),
    "first": ("#00795c", "#3fd0a4"),
    "second": ("#a8327f", "#f29ad0"),
    "third": ("#8a6a00", "#e3c04a"),
    "fourth": ("#1c2430", "#e6eaf0"),
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
    found.globals.update(width=WIDTH, top=TOP, bottom=BOTTOM, colours=COLOURS)
    return found


def standalone(svg: str) -> Picture:
    """Return a figure of the page with the colours that the page gives it, on white."""
    rules = templates().get_template("figures.css").render()
    rules = re.sub(r"var\(--(\w+)\)", lambda name: COLOURS[name[1]][0], rules)
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
        first, last = ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9)
        many = min(3 * about, max(1, last - first + 1))  # large numbers that hardly differ would give very many
        return [round((first + place) * step, 10) for place in range(many)]


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
        return inside if not inside or self.high < 1.3 * inside[-1] else [*inside, self.high]


class Curve(NamedTuple):
    """A line through points, with a dot at each if there are `dots`, and bars as long as twice its `errors`."""

    points: Points
    kind: str = ""  # the class that gives its colour
    words: str = ""  # in the legend
    dots: bool = False
    errors: Sequence[float] = ()


def draw_path(certificate: Certificate) -> str | None:
    """Draw the difference to all columns by size: every judge, their mean, the chosen size; None without a path.

    The scale shows the sizes that come near all columns; much worse ones leave the plot below.
    """
    path = certificate.path
    if path is None:
        return None
    sizes = [one for one in sizes_of(path) if one.difference is not None]
    if not sizes:
        return None
    numbers = [one.size for one in sizes]
    low, high = _worth_showing(sizes, path.tolerance)
    y = Scale(low, high, HEIGHT - BOTTOM, TOP + ABOVE)
    x = (LogScale if max(numbers) > SPREAD else Scale)(min(numbers), max(numbers), _beside(y) + 10, WIDTH - RIGHT)
    judged = len(path.judges) > 1 and all(len(one.judges) == len(path.judges) for one in sizes)
    judges = path.judges if judged else ()
    middles = [(x(one) + x(other)) / 2 for one, other in pairwise(numbers)]
    return _drawn(
        "path.svg",
        sizes=sizes,
        edges=list(pairwise([x.start - 8, *middles, x.end + 8])),
        judges=judges,
        legend=(legend := _legend(judges)),
        ticks=_apart(numbers, x),
        tolerance=path.tolerance,
        x=x,
        y=y,
        plot_height=HEIGHT,
        legend_row=LEGEND,
        height=HEIGHT + LEGEND * ceil(len(legend) / 2) + 4,
    )


def _legend(judges: Sequence[str]) -> list[tuple[str, str]]:
    """Return the kinds of lines with their words."""
    return [("line", "mean ± standard error"), *((f"judge judge{n}", name) for n, name in enumerate(judges[:4]))]


def _apart(sizes: Sequence[int], x: Scale) -> list[int]:
    """Return the sizes whose numbers have room below the plot: the last, and the first of those too close together."""
    found: list[int] = []
    for size in sizes[:-1]:
        if (not found or x(size) - x(found[-1]) >= BETWEEN) and x(sizes[-1]) - x(size) >= BETWEEN:
            found.append(size)
    return [*found, sizes[-1]]


def _worth_showing(sizes: Sequence[Size], tolerance: float) -> tuple[float, float]:
    """Return the ends of a scale with 0, the tolerance, the best sizes with their errors, and half of all sizes."""
    means = [one.difference or 0.0 for one in sizes]
    top = max(0.0, *((one.difference or 0.0) + one.error for one in sizes))
    judges = [value for one in sizes for value in one.judges]
    high = max(top, min(max(judges, default=0.0), 3 * top))  # a judge far above the mean leaves the plot
    low = min(-2 * tolerance, sorted(means)[len(means) // 2], max(min(means), -1.5 * high), 0.0)
    pad = 0.08 * ((high - low) or 0.01)
    return low - pad, high + pad


def draw_intervals(certificate: Certificate) -> str | None:
    """Draw the answer of a search and its closest rivals, each in its own line, and the limit that settles it."""
    claim, rows = certificate.search, rows_of(certificate)
    if claim is None:
        return None
    limit = claim.lower + claim.epsilon
    means = sorted(row.leaf.mean for row in rows if row.leaf.mean is not None) or [0.0]
    low, high = means[len(means) // 10], max(limit, *(row.leaf.upper for row in rows))
    pad = 0.15 * max(high - low, 0.01)
    x = Scale(max(0.0, low - pad), min(1.0, high + pad / 5), NAMES, WIDTH - RIGHT)
    height = TOP + BOTTOM + ROW * len(rows)
    return _drawn("intervals.svg", rows=rows, x=x, limit=min(x.high, limit), height=height, row=ROW)


def draw_curves(title: str, x_label: str, y_label: str, curves: Sequence[Curve], shaded: tuple[float, float]) -> str:
    """Draw curves on one scale, with a logarithmic height, and a shaded part of the width."""
    points, height = [point for curve in curves for point in curve.points], 400.0
    xs, ys = [x for x, _ in points], [y for _, y in points]
    y = LogScale(10.0 ** floor(log10(min(ys))), 10.0 ** ceil(log10(max(ys))), height - BOTTOM, TOP)
    x = Scale(min(xs), max(xs), _beside(y), WIDTH - RIGHT)
    labels = {"title": title, "x_label": x_label, "y_label": y_label}
    return _drawn("line.svg", curves=curves, shaded=shaded, x=x, y=y, height=height, **labels)


def _tick(value: float) -> str:
    """Return a number of a scale in words."""
    return f"{value:,.10g}"


def _beside(y: Scale) -> float:
    """Return where a plot begins, such that the numbers of its scale have room beside it."""
    return max(LEFT, 12.0 + 6.5 * max(len(_tick(tick)) for tick in y.ticks()))


def _drawn(template: str, **values: object) -> Markup:
    """Return a template filled with values."""
    return Markup(templates().get_template(template).render(**values))
