"""Certificates of selections that left-out rows decided, for any size of the path."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
from sklearn.model_selection import RepeatedStratifiedKFold

from bestleaf import Certificate
from forging import reworded, twin
from genuine import table
from selecting import made_selector

FOLDS = RepeatedStratifiedKFold(n_splits=5, n_repeats=3, random_state=0)


@cache
def fitted(seed=0, columns=7, names=None, shuffled=False, **settings):
    """Return a selector that has evaluated every subset, and its data; made once, so nobody may change them."""
    X, y = table(seed, columns, rows=80)
    X = X if names is None else pd.DataFrame(X, columns=names)
    y = np.random.default_rng(seed).permutation(y) if shuffled else y
    settings = {"guarantee": "exhaustive", "random_state": 0, "cv": FOLDS, **settings}
    return made_selector(**settings).fit(X, y), X, y


def chosen(selector, size):
    """Return the content of a certificate in which left-out rows decided for one size of the path."""
    content = twin(selector.at_size(size).certificate_.content)
    for name in ("decided", "judged"):
        content["new_data"].pop(name, None)
    return reworded(content)


def certificate(size=None, **settings):
    """Return a certificate with a path and the data it is about; without a size, left-out rows decide for one."""
    selector, X, y = fitted(**settings)
    return Certificate(chosen(selector, len(selector.subset_) if size is None else size)), X, y
