"""Certificates of selections that left-out rows decided: a small real fit, with scores of real folds beside it."""

from __future__ import annotations

import copy

import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold

from bestleaf import Certificate
from bestleaf.certificate.claims import words_of
from bestleaf.certificate.searched import label_of, unit_of
from bestleaf.certificate.verify_graph import answer_of
from bestleaf.features.neighbours import NeighbourVotes
from bestleaf.new_data import votes_score
from genuine import table
from selecting import made_selector

FOLDS = RepeatedStratifiedKFold(n_splits=5, n_repeats=3, random_state=0)


def noisy_table(seed=0, columns=7):
    return table(seed, columns, rows=80)


def fitted(X, y, **settings):
    """Return a selector that has evaluated every subset."""
    return made_selector(choose="training", guarantee="exhaustive", random_state=0, **settings).fit(X, y)


def path_of(selector, X, y):
    """Return the best subset of each size, scored on the rows that 15 folds leave out."""
    names = selector.certificate_.content["data"]["names"]
    subsets = selector.evaluated_.by_size()
    votes, X = selector.estimator or NeighbourVotes(), np.asarray(X)
    places = {label: place for place, label in enumerate(getattr(selector, "feature_names_in_", range(X.shape[1])))}
    columns = {size: sorted(places[label] for label in one.features) for size, one in subsets.items()}

    def score(rows, left, one):
        return votes_score(votes, X[rows][:, one], y[rows], X[left][:, one], y[left]).score

    folds = list(FOLDS.split(X, y))
    scores = {size: np.array([score(*fold, one) for fold in folds]) for size, one in columns.items()}
    last, error = max(columns), np.sqrt(1 / 15 + 1 / 4)  # the correction of Nadeau and Bengio
    return [
        {
            "size": size,
            "features": [names[column] for column in columns[size]],
            "family": "all features" if size == last else "search",
            "training": subsets[size].score,
            "left_out": float(scores[size].mean()),
            "standard_error": float(error * scores[size].std(ddof=1)),
            "difference": float((scores[size] - scores[last]).mean()),
            "difference_error": float(error * (scores[size] - scores[last]).std(ddof=1)),
        }
        for size in columns
    ]


def chosen(content, path, size, **changes):
    """Return the content of a certificate in which left-out rows decided for one row of a path."""
    content = copy.deepcopy(content)
    row = next(one for one in path if one["size"] == size)
    best = {"features": content["features"], "value": content["lower"], "gap": content["gap"]}
    decision = {"parsimony": 0.0, "folds": 15, "rows": content["data"]["rows"], "size": size, "family": row["family"]}
    families = {"search": max(one["left_out"] for one in path), "F-test": 0.7}
    content["new_data"] = copy.deepcopy({**decision, "families": families, "path": path, "best": best, **changes})
    data, graph = content["data"], content["graph"]
    content["answer"] = graph["labels"].index(label_of(row["features"], unit_of(data)))
    content["features"] = [name for name in data["names"] if name in row["features"]]
    data["standard_error"] = None  # that of another answer
    if content.get("report"):
        content["report"] |= {"without": {}, "feature_scores": {}}
    content |= answer_of(content)
    content |= words_of(content)
    return content


def certificate(seed=0, size=None, columns=7, **settings):
    """Return a certificate with a path and the data it is about; without a size, the best left-out score decides."""
    X, y = noisy_table(seed, columns)
    selector = fitted(X, y, **settings)
    path = path_of(selector, X, y)
    size = max(path, key=lambda row: row["left_out"])["size"] if size is None else size
    return Certificate(chosen(selector.certificate_.content, path, size)), X, y
