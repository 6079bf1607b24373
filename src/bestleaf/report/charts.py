"""Plots as SVG text: they scale, print, and follow the colours of the page they stand in."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import floor, log10
from typing import Any

from bestleaf.certificate.claims import counted

WIDTH, LEFT, RIGHT, TOP, BOTTOM, ROW = 760.0, 64.0, 16.0, 18.0, 40.0, 18.0
NAMES, NUMBERS = 262.0, 28.0  # room for names, and of that for their numbers


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Return round numbers between two ends."""
    if high <= low:
        return [low]
    raw = (high - low) / about
    power = 10.0 ** floor(log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw)
    first, last = -(-low // step), floor((high + 1e-12) / step)
    many = min(3 * about, max(1, int(last - first) + 1))  # of numbers so large that they hardly differ, not for ever
    return [round((first + place) * step, 10) for place in range(many)]


class Axes:
    """A plot with linear axes."""

    def __init__(
        self, x: tuple[float, float], y: tuple[float, float], height: float, title: str, left: float = LEFT
    ) -> None:
        self.x, self.y, self.height, self.left = x, y, height, left
        self.parts = [
            f'<svg viewBox="0 0 {WIDTH:g} {height:g}" role="img" aria-label="{escape(title, quote=True)}">',
            f"<title>{escape(title)}</title>",
        ]

    def at_x(self, value: float) -> float:
        """Return where a value lies from the left."""
        low, high = self.x
        return self.left + (value - low) / ((high - low) or 1.0) * (WIDTH - self.left - RIGHT)

    def at_y(self, value: float) -> float:
        """Return where a value lies from the top."""
        low, high = self.y
        return self.height - BOTTOM - (value - low) / ((high - low) or 1.0) * (self.height - TOP - BOTTOM)

    def add(self, tag: str, text: str | None = None, **attributes: Any) -> None:
        """Add an element; numbers are rounded to a tenth, `name_` stands for the attribute name, and - for _."""
        words = []
        for name, value in attributes.items():
            shown = f"{value:.1f}" if isinstance(value, float) else escape(str(value), quote=True)
            words.append(f'{name.rstrip("_").replace("_", "-")}="{shown}"')
        inside = "/>" if text is None else f">{text}</{tag}>"
        self.parts.append(f"<{tag} {' '.join(words)}{inside}")

    def grid_x(self, label: str) -> None:
        """Draw the scale below."""
        bottom = self.height - BOTTOM
        for tick in ticks(*self.x):
            place = self.at_x(tick)
            self.add("line", class_="grid", x1=place, x2=place, y1=TOP, y2=bottom)
            self.add("text", f"{tick:g}", class_="tick", x=place, y=bottom + 18, text_anchor="middle")
        middle = (self.left + WIDTH - RIGHT) / 2
        self.add("text", escape(label), class_="label", x=middle, y=self.height - 5, text_anchor="middle")

    def grid_y(self, label: str) -> None:
        """Draw the scale on the left."""
        for tick in ticks(*self.y):
            place = self.at_y(tick)
            self.add("line", class_="grid", x1=LEFT, x2=WIDTH - RIGHT, y1=place, y2=place)
            self.add("text", f"{tick:g}", class_="tick", x=LEFT - 6, y=place + 4, text_anchor="end")
        self.add("text", escape(label), class_="label", x=LEFT, y=TOP - 3, text_anchor="start")

    def done(self) -> str:
        """Return the plot."""
        return "\n".join([*self.parts, "</svg>"])


def intervals(leaves: Sequence[dict[str, Any]], target: float) -> str:
    """Return the intervals of leaves, one a line, and the upper bound they must stay below."""
    height = TOP + BOTTOM + ROW * len(leaves)
    span = _span(leaves, target)
    axes = Axes(span, (0.0, 1.0), height, "Intervals of the leading leaves", left=NAMES)
    axes.grid_x("value")
    limit = axes.at_x(min(span[1], target))
    axes.add("line", class_="limit", x1=limit, x2=limit, y1=TOP, y2=height - BOTTOM)
    axes.add("text", "answer + epsilon", class_="tick", x=limit, y=TOP - 3, text_anchor="end")
    for row, leaf in enumerate(leaves):
        y = TOP + ROW * (row + 0.5)
        _add_interval(axes, leaf, y)
        axes.add("text", escape(leaf["short"]), class_="tick", x=NAMES - NUMBERS - 6, y=y + 4, text_anchor="end")
        axes.add("text", f"{row + 1}", class_="tick", x=NAMES - 10, y=y + 4, text_anchor="end")
    return axes.done()


def _span(leaves: Sequence[dict[str, Any]], target: float) -> tuple[float, float]:
    """Return the ends of the scale: what matters are upper bounds and most means, so long lower ends are cut off."""
    means = sorted(leaf["mean"] for leaf in leaves if leaf["mean"] is not None) or [0.0]
    low, high = means[len(means) // 10], max(target, *(leaf["upper"] for leaf in leaves))
    pad = 0.15 * max(high - low, 0.01)
    return max(0.0, low - pad), min(1.0, high + pad / 5)


def _add_interval(axes: Axes, leaf: dict[str, Any], y: float) -> None:
    """Draw one interval, as far as the scale goes."""
    shape = "answer" if leaf["answer"] else leaf["kind"].split()[0]
    span, seen = f"{leaf['lower']:.4f} to {leaf['upper']:.4f}", counted(leaf["count"], "sample")
    words = f"{leaf['name']}: {span} ({leaf['kind']}, {seen})"
    axes.parts.append(f'<g class="leaf {shape}"><title>{escape(words)}</title>')
    low, high = (min(max(value, axes.x[0]), axes.x[1]) for value in (leaf["lower"], leaf["upper"]))
    axes.add("line", x1=axes.at_x(low), x2=axes.at_x(high), y1=y, y2=y)
    if leaf["mean"] is not None and axes.x[0] <= leaf["mean"] <= axes.x[1]:
        axes.add("circle", cx=axes.at_x(leaf["mean"]), cy=y, r=4)
    axes.parts.append("</g>")


def line(
    points: Sequence[tuple[float, float]],
    x_label: str,
    y_label: str,
    title: str,
    *,
    dots: bool = False,
    limit: float | None = None,
) -> str:
    """Return one line through points, and a dashed one at a limit."""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    if limit is not None:
        ys += [0.0, limit]
    pad = 0.05 * ((max(ys) - min(ys)) or 0.1)
    axes = Axes((min(xs), max(xs)), (min(ys) - pad, max(ys) + pad), 260.0, title)
    axes.grid_x(x_label)
    axes.grid_y(y_label)
    if limit is not None:
        height = axes.at_y(limit)
        axes.add("line", class_="limit", x1=LEFT, x2=WIDTH - RIGHT, y1=height, y2=height)
    path = " ".join(f"{axes.at_x(x):.1f},{axes.at_y(y):.1f}" for x, y in points)
    axes.add("polyline", class_="line", points=path)
    for x, y in points if dots else []:
        axes.add("circle", f"<title>{x:g}: {y:.4f}</title>", class_="dot", cx=axes.at_x(x), cy=axes.at_y(y), r=4)
    return axes.done()


def gap(points: Sequence[tuple[float, float]], epsilon: float) -> str:
    """Return how the gap went with time."""
    return line(points, "seconds", "gap (dashed: epsilon)", "Gap by time", limit=epsilon)


def sizes(points: Sequence[tuple[float, float]]) -> str:
    """Return the best value by number of features."""
    return line(points, "features", "value", "Best value by number of features", dots=True)
