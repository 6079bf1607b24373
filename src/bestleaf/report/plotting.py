"""Plots of a result on axes of matplotlib. Each function returns the axes; ``ax.figure.savefig`` saves them.

matplotlib chooses the kind of file by its suffix, such as .png, .svg or .pdf. ``pip install 'bestleaf[plot]'`` installs
it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bestleaf.certificate import Certificate
from bestleaf.certificate.schema import Content
from bestleaf.checks import whole
from bestleaf.report.content import (
    LEADING,
    LEFT_OUT,
    MANY_SIZES,
    bands_of,
    gap_runs,
    leading_leaves,
    limit_of,
    path_points,
    size_points,
    value_range,
)
from bestleaf.report.drawing import LogScale, in_steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bestleaf.selector import BestLeafSelector

__all__ = ["plot_gap", "plot_intervals", "plot_path", "plot_sizes"]

ANSWER, EXACT, NOISE, LINE = "tab:orange", "tab:green", "tab:gray", "tab:blue"
A_ROW = 0.22  # inches of an interval


def plot_path(found: Certificate | BestLeafSelector, ax: Axes | None = None) -> Axes:
    """Plot the path: training values and left-out scores by size, the chosen size, and the score of all features.

    The band is one standard error of the left-out score on each side. With many sizes the scale is logarithmic.

    Parameters
    ----------
    found : BestLeafSelector or Certificate
        A selector fitted with ``choose="new_data"``, or its certificate.
    ax : matplotlib axes, default=None
        Where to draw; None for a new figure.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from bestleaf.report.plotting import plot_path
    >>> plot_path(selector).figure.savefig("path.png")  # doctest: +SKIP
    """
    content = _content(found)
    if content.get("new_data") is None:
        raise ValueError("found must be fitted with choose='new_data', which gives a path; got one without a path")
    ax, points = _axes(ax), path_points(content)
    trained = {one.size: one.training for one in points if one.training is not None}
    scored = {one.size: one.left_out for one in points if one.left_out is not None}
    ax.plot(list(trained), list(trained.values()), color=NOISE, label="training")
    ax.plot(list(scored), list(scored.values()), "o-", color=LINE, markersize=3, label=LEFT_OUT)
    for run in bands_of(points):
        low, high = zip(*(one.band for one in run), strict=True)
        ax.fill_between([one.size for one in run], low, high, color=LINE, alpha=0.2, linewidth=0)
    if points[-1].size in scored:
        ax.axhline(scored[points[-1].size], color=EXACT, linestyle="--", label="all features, left out")
    for size in (one.size for one in points if one.chosen and one.size in scored):
        ax.plot([size], [scored[size]], "o", color=ANSWER, label=f"chosen: {size}")
    if len(points) > MANY_SIZES:
        ax.set_xscale("log")
        ticks = LogScale(points[0].size, points[-1].size, 0.0, 1.0).ticks()
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.minorticks_off()
    ax.set(xlabel="features", ylabel="score")
    ax.legend()
    return ax


def plot_intervals(found: Certificate | BestLeafSelector, ax: Axes | None = None, *, rivals: int = LEADING) -> Axes:
    """Plot the intervals of the answer and its closest rivals.

    When the search is settled, only the interval of the answer reaches beyond the dashed line. Where left-out rows
    decided, that is said of the answer by these rows alone.

    Parameters
    ----------
    found : BestLeafSelector or Certificate
        A fitted selector, or the certificate of any search.
    ax : matplotlib axes, default=None
        Where to draw; None for a new figure.
    rivals : int, default=30
        How many rivals are shown, at most 30.

    Returns
    -------
    matplotlib axes
    """
    content = _content(found)
    leaves = leading_leaves(content)[: whole("rivals", rivals, 1) + 1]
    ax = _axes(ax, height=1.5 + A_ROW * len(leaves))
    limit, called = limit_of(content)
    for place, leaf in enumerate(leaves):
        colour = ANSWER if leaf["answer"] else EXACT if leaf["exact"] else NOISE
        ax.plot([leaf["lower"], leaf["upper"]], [place, place], color=colour, linewidth=3, solid_capstyle="round")
        if leaf["mean"] is not None:
            ax.plot([leaf["mean"]], [place], "o", color=colour, markersize=4)
    ax.axvline(limit, color=ANSWER, linestyle="--", linewidth=1, label=called)
    ax.set_xlim(*value_range(leaves, limit))
    ax.set_yticks(range(len(leaves)), [_plain(leaf["short"]) for leaf in leaves])
    ax.invert_yaxis()
    ax.set(xlabel="value")
    ax.legend()
    return ax


def plot_gap(found: Certificate | BestLeafSelector, ax: Axes | None = None) -> Axes:
    """Plot the gap over time; where nothing was known of it, the line is broken.

    Parameters
    ----------
    found : BestLeafSelector or Certificate
        A fitted selector, or its certificate.
    ax : matplotlib axes, default=None
        Where to draw; None for a new figure.

    Returns
    -------
    matplotlib axes
    """
    content = _selection(found)
    runs = gap_runs(content)
    if not runs:
        raise ValueError("found must have known the gap at least twice in its search, got less")
    ax = _axes(ax)
    for run in runs:
        ax.plot(*zip(*in_steps(run), strict=True), color=LINE)
    ax.axhline(content["search"]["epsilon"], color=ANSWER, linestyle="--", linewidth=1, label="epsilon")
    ax.set(xlabel="seconds", ylabel="gap", ylim=(0.0, None))
    ax.legend()
    return ax


def plot_sizes(found: Certificate | BestLeafSelector, ax: Axes | None = None) -> Axes:
    """Plot the best value of each number of features, among the subsets evaluated.

    Parameters
    ----------
    found : BestLeafSelector or Certificate
        A fitted selector, or its certificate.
    ax : matplotlib axes, default=None
        Where to draw; None for a new figure.

    Returns
    -------
    matplotlib axes
    """
    content, ax = _selection(found), _axes(ax)
    ax.plot(*zip(*size_points(content), strict=True), "o-", color=LINE, markersize=4)
    ax.set(xlabel="features", ylabel="value")
    ax.locator_params(axis="x", integer=True)
    return ax


def _axes(ax: Axes | None, height: float | None = None) -> Axes:
    """Return the axes given, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("plots need matplotlib (pip install 'bestleaf[plot]')") from None
    size = None if height is None else (8.0, height)
    return pyplot.subplots(figsize=size, layout="constrained")[1]


def _content(found: Certificate | BestLeafSelector) -> Content:
    """Return the certificate of a fitted selector, or the one given, as a dictionary."""
    certificate = getattr(found, "certificate_", found)
    if not isinstance(certificate, Certificate):
        raise TypeError(f"found must be a fitted selector or a Certificate, got a {type(found).__name__}")
    return certificate.content


def _selection(found: Certificate | BestLeafSelector) -> Content:
    content = _content(found)
    if content.get("report") is None:
        raise ValueError("found must be a feature selection, got the certificate of another search")
    return content


def _plain(name: str) -> str:
    """Return a name that matplotlib does not take for mathematics."""
    return name.replace("$", r"\$")
