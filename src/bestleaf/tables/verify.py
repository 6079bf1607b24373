"""Check a certificate against the file of the table that it is about."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from sklearn.base import BaseEstimator

import bestleaf
from bestleaf.certificate import Certificate, verify
from bestleaf.certificate.claims import in_line
from bestleaf.certificate.findings import left_out
from bestleaf.certificate.same_data import encoded
from bestleaf.certificate.schema import Content, OtherDataError
from bestleaf.certificate.verify import Verdict
from bestleaf.checks import shown
from bestleaf.features.data import task_of
from bestleaf.features.estimator import EstimatorOracle
from bestleaf.features.neighbours import NeighbourVotes
from bestleaf.new_data import split_of
from bestleaf.tables.check import check_table, plain
from bestleaf.tables.encode import encoded_target, prepared
from bestleaf.tables.load import frame_of
from bestleaf.tables.rows import RowData, some_rows, split_off_rows
from bestleaf.tables.select import folds_for, named_estimator

NOTHING: Content = {  # what is done to a table whose certificate does not say anything
    "task": "auto",
    "groups": None,
    "weights": None,
    "dropped": [],
    "kept": [],
    "missing": [],
    "text_encoding": None,
    "findings": [],
    "holdout": None,
    "estimator": None,
}


class Rows(NamedTuple):
    """The rows that a certificate is about, as they were given to the selector."""

    X: pd.DataFrame
    y: pd.Series
    metadata: RowData


def verify_table(
    certificate: Certificate | str | Path,
    data: str | Path | pd.DataFrame,
    *,
    target: str | None = None,
    drop: Iterable[str] | None = None,
    missing: Iterable[str] | None = None,
    encoding: str | None = None,
    groups: str | None = None,
    weights: str | None = None,
    audit: float | None = None,
) -> Verdict:
    """Check a certificate against a file: the table is made again as the certificate says, and its values, too.

    A certificate of `bestleaf select` or `select_from_table` says which columns were dropped or left out, how columns
    became numbers, which rows were held out, and which estimator was used. What is given here goes before that.

    Parameters
    ----------
    certificate : Certificate or path
        What is checked.
    data : path or DataFrame
        The table it is about, as in `load_table`.
    target, drop, missing, encoding, groups, weights : default=None
        As in `load_table`; None is what the certificate says.
    audit : float, default=0.01
        Share of all subsets that are computed again, as in `verify`.

    Returns
    -------
    Verdict
        Its `other_data` says that the certificate is about another table.
    """
    certificate = certificate if isinstance(certificate, Certificate) else Certificate.load(certificate)
    verdict = verify(certificate)
    if not verdict:
        return verdict
    content = certificate.content
    if content["data"] is None:
        return Verdict(False, "Refused: the certificate is not about data, so there is nothing to compare them with.")
    given = {
        "target": target,
        "dropped": drop,
        "missing": missing,
        "text_encoding": encoding,
        "groups": groups,
        "weights": weights,
    }
    made = {
        **NOTHING,
        **content.get("table", {}),
        **{name: value for name, value in given.items() if value is not None},
    }
    if "target" not in made:
        raise ValueError("target must be given, because the certificate does not say which column it is")
    frame = frame_of(data, missing=made["missing"], encoding=made["text_encoding"])
    if "table" not in content:
        rows = made_again(content, frame, made)
        return verify(certificate, rows.X, rows.y, **rows.metadata, audit=audit)
    try:
        rows = made_again(content, frame, made)
        oracle = _oracle(content, rows, made)
    except (ValueError, KeyError, OtherDataError) as error:
        reason = in_line(" ".join(str(error.args[0] if error.args else error).split()))
        return Verdict(False, f"Refused: these are not the data the certificate is about ({reason}).", other_data=True)
    verdict = verify(certificate, rows.X, rows.y, oracle=oracle, **rows.metadata, audit=audit)
    return _with_findings(verdict, content, frame, made) if verdict else verdict


def made_again(content: Content, frame: pd.DataFrame, made: Content) -> Rows:
    """Return the rows of a table that were searched, in the form in which they were searched."""
    target, names = made["target"], content["data"]["names"]
    frame, metadata = _without(frame, made)
    if made["holdout"] is not None:
        y = encoded_target(frame[target]).to_numpy()
        by = _estimator(made, task := task_of(y, made["task"])) or NeighbourVotes(task=task)
        kept = split_of(made["holdout"], frame, y, by, content["search"]["seed"], metadata.get("groups")).kept
        frame, metadata = frame.iloc[kept], some_rows(metadata, kept)
    if "encoding" not in content["data"]:  # all columns are numbers, or the certificate is of an earlier version
        table = prepared(frame, target, task=made["task"])
        return Rows(table.X, table.y, metadata)
    X = frame.drop(columns=target)
    if "table" not in content and set(names).issubset(X.columns):
        X = X[names]
    return Rows(X, encoded_target(frame[target]), metadata)


def _without(frame: pd.DataFrame, made: Content) -> tuple[pd.DataFrame, RowData]:
    """Return the columns that were searched and the target, and what was known of the rows.

    Columns that were dropped need not be there.
    """
    out = left_out(made["findings"])
    if lost := [name for name in (*out, made["target"]) if name not in frame.columns]:
        raise ValueError(f"there is no column {shown(lost[0])}")
    frame = frame.drop(columns=out).drop(columns=made["dropped"], errors="ignore")
    return split_off_rows(frame, made["target"], groups=made["groups"], weights=made["weights"])


def _estimator(made: Content, task: str) -> BaseEstimator | None:
    """Return the estimator of the command line that was used; None for nearest neighbours and for one of Python."""
    return None if made["estimator"] is None else named_estimator(made["estimator"], task)


def _oracle(content: Content, rows: Rows, made: Content) -> EstimatorOracle | None:
    """Return what computes the values of the estimator again; None if they are votes of nearest neighbours."""
    estimator = _estimator(made, task_of(rows.y.to_numpy(), made["task"]))
    if estimator is None:
        return None
    data = content["data"]
    return EstimatorOracle(
        encoded(data, rows.X)[0] if "encoding" in data else rows.X,
        rows.y,
        estimator=estimator,
        scoring=made["scoring"],
        cv=folds_for(estimator, made["cv"], rows.metadata),
        random_state=content["search"]["seed"],
        **rows.metadata,
    )


def _with_findings(verdict: Verdict, content: Content, frame: pd.DataFrame, made: Content) -> Verdict:
    """Return the verdict, or a refusal if this version of bestleaf finds something else in the same table."""
    if content["bestleaf"] != bestleaf.__version__:
        made_by = f"because the certificate names another version of bestleaf, {shown(content['bestleaf'])}"
        return Verdict(True, f"{verdict}\nTaken as written: what is said about the columns of the table, {made_by}.")
    frame = frame.drop(columns=made["dropped"], errors="ignore")
    frame, _ = split_off_rows(frame, made["target"], groups=made["groups"], weights=made["weights"])
    look = check_table(frame, made["target"], task=made["task"], keep=made["kept"])
    if [plain(one) for one in look.findings] != content["table"]["findings"]:
        return Verdict(False, "Refused: what is written about the columns is not what a look at this table finds.")
    return Verdict(True, f"{verdict}\nWhat is written about the columns of the table was found again.")
