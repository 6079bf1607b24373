"""Numbers of subsets: every subset has one number, blocks hold the subsets that may be chosen."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from bestleaf.certificate.numbering import MOST_BLOCKS, Block, Numbering, count_numbers
from bestleaf.features.exhaust import FastNumbering

ALONE = [[unit] for unit in range(12)]


@pytest.mark.parametrize(("units", "most"), [(1, 1), (5, 5), (6, 2), (4, 1), (7, 3), (9, 8)])
def test_numbers_are_the_order_of_sorted_tuples(units, most):
    numbering = Numbering(range(units), (), most)
    subsets = sorted(subset for size in range(most + 1) for subset in combinations(range(units), size))
    assert numbering.total == len(subsets) == count_numbers(units, most)
    found = [tuple(np.flatnonzero(row)) for row in numbering.members(np.arange(numbering.total))]
    assert found == subsets
    assert [numbering.number(subset) for subset in subsets] == list(range(numbering.total))
    assert [numbering.units(number) for number in range(numbering.total)] == subsets


def test_a_subset_shares_all_but_the_end_with_one_before_it():
    numbering, seen = Numbering(range(8), (), 4), set()
    for number in range(numbering.total):
        subset = numbering.units(number)
        assert not subset or subset[:-1] in seen
        seen.add(subset)


def test_blocks_hold_every_subset_that_may_be_chosen_once():
    numbering = Numbering([0, 1, 3, 5, 6], [4], 4)
    blocks = [Block(numbering, start, min(start + 5, numbering.total), ALONE) for start in range(0, numbering.total, 5)]
    found = [numbering.units(int(number)) for block in blocks for number in block.numbers]
    every = (tuple(sorted((4, *some))) for size in range(4) for some in combinations([0, 1, 3, 5, 6], size))
    assert sorted(found) == sorted(every)
    assert [len(subset) for subset in found] == np.concatenate([block.sizes for block in blocks]).tolist()


def test_the_columns_of_a_block_are_those_of_its_groups():
    groups = [[0, 3], [1], [2, 4, 5]]
    block = Block(Numbering([0, 2], [1], 3), 0, 4, groups)
    assert [np.flatnonzero(row).tolist() for row in block.columns(6)] == [
        [1],
        [0, 1, 3],
        [0, 1, 2, 3, 4, 5],
        [1, 2, 4, 5],
    ]
    assert len(Block(Numbering([0, 2], (), 2), 0, 4, groups)) == 3  # nobody can choose no feature at all


def test_the_default_block_makes_some_thousand_blocks_at_most():
    for units, most in [(12, 12), (22, 22), (30, 30), (500, 3)]:
        numbering = Numbering(range(units), (), most)
        assert numbering.total / numbering.default_block() <= MOST_BLOCKS
    with pytest.raises(ValueError, match=r"at most 1,073,741,824 subsets to be numbered, got more"):
        Numbering(range(31), (), 31)


@pytest.mark.parametrize(("units", "most"), [(1, 1), (6, 6), (7, 3), (9, 1)])
def test_a_kernel_lists_the_same_subsets(units, most):
    plain, fast = Numbering(range(units), (), most), FastNumbering(range(units), (), most)
    for start in range(0, plain.total, 3):
        for stop in (start, start + 1, plain.total):
            stop = min(stop, plain.total)
            assert (fast.between(start, stop) == plain.between(start, stop)).all()
            assert (fast.sizes(start, stop) == plain.sizes(start, stop)).all()
