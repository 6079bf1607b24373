"""Check what a certificate says about all subsets: blocks against leaves and, with the data, blocks drawn at random."""

from __future__ import annotations

from collections import defaultdict
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from bestleaf.certificate.all_subsets import BlockSummary, has_all, summary_of
from bestleaf.certificate.claims import counted, subset_in_words
from bestleaf.certificate.numbering import MOST_NUMBERS, Block, Numbering, count_numbers
from bestleaf.certificate.schema import Content, RefusedError, need
from bestleaf.certificate.searched import STOP
from bestleaf.checks import number

if TYPE_CHECKING:
    from bestleaf.features.estimator import EstimatorOracle
    from bestleaf.features.neighbours import KNNOracle

AUDIT = 0.01  # share of the blocks that are computed again, if nobody says otherwise
LISTS = ("counts", "reached", "floors", "tops", "hashes")


def check_blocks(content: Content) -> None:
    """Check the counts of all blocks, and that the best subsets of each block are leaves."""
    part, data = content.get("all_subsets"), content["data"]
    if part is None:
        return
    fine = data is not None and data["terminal"] == "exact" and content["search"]["expansion"] is None
    need(fine, "all subsets can be evaluated in blocks only where subsets have exact values and nothing was sampled")
    need(all(leaf["exact"] for leaf in content["leaves"]), "subsets that were evaluated in blocks must be exact leaves")
    choice = data["choice"]
    total = count_numbers(len(choice["allowed"]), choice["limit"] - len(choice["forced"]))
    need(total <= MOST_NUMBERS, f"all subsets can be evaluated in blocks only if there are at most {MOST_NUMBERS:,}")
    numbers, size = part["numbers"], part["block"]
    need(numbers <= total, f"there are {total:,} numbers of subsets, got {numbers:,}")
    ended = content["reason"] == "identified"
    need(numbers == total or not ended, f"an identified answer needs all {total:,} numbers of subsets, got {numbers:,}")
    many = ceil(numbers / size)
    need(all(len(part[name]) == many for name in LISTS), f"{numbers:,} numbers make {many:,} blocks, got another count")
    numbering, asked = Numbering.of(choice), content["cost"]["exact_evaluations"]
    need(sum(part["counts"]) <= asked, f"{sum(part['counts']):,} subsets in blocks, but {asked:,} values were computed")
    leaves = defaultdict[int, list[float]](list)
    for leaf in content["leaves"]:  # a leaf of the path may not have been evaluated in a block yet
        mine = numbering.number(leaf["label"][:-1])
        leaves[mine // size if mine < numbers else -1].append(leaf["lower"])
    for place in range(many):
        block = _block(content, numbering, place)
        right = block.stop - block.start - (not numbering.forced and place == 0)
        _check_summary(_written(part, place), right, leaves[place], part["least"], place)


def _check_summary(one: BlockSummary, right: int, leaves: list[float], least: float, place: int) -> None:
    """Check what is written about a block against the values of the leaves in it."""
    need(one.count == right, f"block {place:,} has {right:,} subsets, not {one.count:,}")
    need(one.floor <= least, f"the floor of block {place:,} must be at most {least:.6g}, got {one.floor:.6g}")
    above = sum(value >= one.floor for value in leaves)
    fits = above <= one.reached <= one.count and (one.top is None) == (one.reached == 0)
    need(fits, f"block {place:,} has {above:,} leaves at its floor or above, and {one.reached:,} such subsets")
    if one.top is None:
        return
    need(one.top >= one.floor, f"the highest value of block {place:,} is below its floor")
    best = max(leaves, default=-1.0)
    need(best <= one.top, f"a leaf of block {place:,} is better than its highest value {one.top:.6g}")
    need(one.top <= least or best == one.top, f"the best subset of block {place:,} ({one.top:.6g}) is not a leaf")


def audit_blocks(
    content: Content, judge: KNNOracle | EstimatorOracle, columns: list[list[int]] | None, share: float
) -> str:
    """Compute blocks drawn at random again, at least one of them; return what was checked, in words."""
    part, data = content.get("all_subsets"), content["data"]
    if part is None or share == 0:
        return ""
    numbering, many = Numbering.of(data["choice"]), len(part["counts"])
    groups = [[column for feature in group for column in _columns(columns, feature)] for group in data["groups"]]
    rng = np.random.default_rng()  # nobody knows beforehand which blocks are drawn
    drawn = np.sort(rng.choice(many, ceil(share * many), replace=False)).tolist()
    again = 0
    for place in drawn:
        block = _block(content, numbering, place, groups)
        _check_again(content, block, _values(judge, block), place)
        again += len(block)
    of, chance = ("All", "") if len(drawn) == many else (f"{len(drawn):,} of {many:,}", ", drawn at random,")
    what = "blocks" if has_all(content) else "blocks that were evaluated"
    were = "was" if len(drawn) == 1 < many else "were"
    return f" {of} {what} ({counted(again, 'subset')}){chance} {were} computed again."


def _check_again(content: Content, block: Block, values: np.ndarray, place: int) -> None:
    """Check what is written about a block against the values of all its subsets on the data."""
    part, data, numbering = content["all_subsets"], content["data"], block.numbering
    written = _written(part, place)
    found = summary_of(block.numbers - block.start, values, written.floor)
    for name in ("count", "reached", "top", "digest"):
        right, got = getattr(found, name), getattr(written, name)
        what = {"reached": "number at the floor", "top": "highest value", "digest": "hash"}.get(name, name)
        need(right == got, f"the {what} of block {place:,} is {right!r:.20} on these data, not {got!r:.20}")
    leaves = {tuple(leaf["label"][:-1]): leaf["lower"] for leaf in content["leaves"]}
    above = values > part["least"]
    for mine, value in zip(block.numbers[above].tolist(), values[above].tolist(), strict=True):
        if leaves.get(numbering.units(mine)) != value:
            name = subset_in_words([*numbering.units(mine), STOP], data)
            raise RefusedError(f"{name} has the value {value:.6g}, so it must be a leaf of the certificate")
    sizes = block.sizes
    for size, best, _ in (content.get("report") or {"by_size": []})["by_size"]:
        better = (values[sizes == size] > best).any()
        need(not better, f"block {place:,} has a subset of size {size} that is better than the best one written")


def checked_share(share: float | None) -> float:
    """Return the share of blocks to compute again; refuse what is no share."""
    return AUDIT if share is None else number("audit", share, "between 0 and 1", 0, 1)


def _columns(columns: list[list[int]] | None, feature: int) -> list[int]:
    """Return the columns of a feature: itself, unless the table was encoded."""
    return [feature] if columns is None else columns[feature]


def _values(judge: KNNOracle | EstimatorOracle, block: Block) -> np.ndarray:
    """Return the values of the subsets of a block, by an oracle with or without blocks."""
    if hasattr(judge, "block_values"):
        return np.asarray(judge.block_values(block), np.float64)
    subsets = [np.flatnonzero(row).tolist() for row in block.columns(judge.n_features)]
    return np.array(judge.values(subsets), np.float64)


def _block(content: Content, numbering: Numbering, place: int, groups: list[list[int]] | None = None) -> Block:
    """Return the block at a place; the last one may have fewer numbers."""
    size, numbers = content["all_subsets"]["block"], content["all_subsets"]["numbers"]
    return Block(numbering, place * size, min(numbers, (place + 1) * size), groups or content["data"]["groups"])


def _written(part: Content, place: int) -> BlockSummary:
    """Return what is written about the block at a place."""
    return BlockSummary(*(part[name][place] for name in LISTS))
