"""Check a certificate against the file of the table that it is about."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from sklearn.base import BaseEstimator

from bestleaf.certificate import Certificate, verify
from bestleaf.certificate.claims import in_line
from bestleaf.certificate.same_data import encoded
from bestleaf.certificate.schema import Content, OtherDataError
from bestleaf.certificate.verify import Verdict
from bestleaf.checks import shown
from bestleaf.features.data import task_of
from bestleaf.features.estimator import EstimatorOracle
from bestleaf.features.neighbours import NeighbourVotes
from bestleaf.new_data import split_of
from bestleaf.tables.load import RowData, encoded_target, frame_of, prepared, split_off_rows
from bestleaf.tables.select import folds_for, named_estimator


def verify_table(
    certificate: Certificate | str | Path, data: str | Path | pd.DataFrame, *, audit: float | None = None
) -> Verdict:
    """Check a certificate against a file: the table is made again as the certificate says, and its values, too.

    A certificate of `bestleaf select` or `select_from_table` says which columns were dropped or left out, how columns
    became numbers, which rows were held out, and which estimator was used.

    Parameters
    ----------
    certificate : Certificate or path
        What is checked.
    data : path or DataFrame
        The table it is about, as in `load_table`.
    audit : float, default=0.01
        Share of all subsets that are computed again, as in `verify`.

    Returns
    -------
    Verdict
        Its `other_data` says that the certificate is about another table.
    """
    certificate = certificate if isinstance(certificate, Certificate) else Certificate.load(certificate)
    verdict, content = verify(certificate), certificate.content
    if not verdict:
        return verdict
    if (made := content.get("table")) is None:
        got = "got one that does not; use bestleaf.verify(certificate, X, y) in Python"
        raise ValueError(f"the certificate must say how its table was made, as those of bestleaf select do, {got}")
    frame = frame_of(data, missing=made["missing"], encoding=made["text_encoding"])
    try:
        X, y, metadata = _made_again(content, frame, made)
        oracle = _oracle(content, X, y, metadata, made)
    except (ValueError, KeyError, OtherDataError) as error:
        reason = in_line(" ".join(str(error.args[0] if error.args else error).split()))
        return Verdict(False, f"Refused: these are not the data the certificate is about ({reason}).", other_data=True)
    return verify(certificate, X, y, oracle=oracle, **metadata, audit=audit)


def _made_again(content: Content, frame: pd.DataFrame, made: Content) -> tuple[pd.DataFrame, pd.Series, RowData]:
    """Return the rows of a table that were searched, as they were given to the selector, and what was known of them.

    Columns that were dropped need not be there.
    """
    target, out = made["target"], made["left_out"]
    if lost := [name for name in (*out, target) if name not in frame.columns]:
        raise ValueError(f"there is no column {shown(lost[0])}")
    frame = frame.drop(columns=out).drop(columns=made["dropped"], errors="ignore")
    frame, metadata = split_off_rows(frame, target, made["groups"], made["weights"])
    if made["holdout"] is not None:
        y = encoded_target(frame[target]).to_numpy()
        by = _estimator(made, task := task_of(y, made["task"])) or NeighbourVotes(task=task)
        kept = split_of(made["holdout"], frame, y, by, content["search"]["seed"], metadata.get("groups")).kept
        frame, metadata = frame.iloc[kept], {name: values[kept] for name, values in metadata.items()}
    if "encoding" not in content["data"]:  # all columns are numbers
        table = prepared(frame, target, task=made["task"])
        return table.X, table.y, metadata
    return frame.drop(columns=target), encoded_target(frame[target]), metadata


def _estimator(made: Content, task: str) -> BaseEstimator | None:
    """Return the estimator of the command line that was used; None for nearest neighbours and for one of Python."""
    return None if made["estimator"] is None else named_estimator(made["estimator"], task)


def _oracle(
    content: Content, X: pd.DataFrame, y: pd.Series, metadata: RowData, made: Content
) -> EstimatorOracle | None:
    """Return what computes the values of the estimator again; None if they are votes of nearest neighbours."""
    estimator, data = _estimator(made, task_of(y.to_numpy(), made["task"])), content["data"]
    if estimator is None:
        return None
    return EstimatorOracle(
        encoded(data, X)[0] if "encoding" in data else X,
        y,
        estimator=estimator,
        scoring=made["scoring"],
        cv=folds_for(estimator, made["cv"], metadata),
        random_state=content["search"]["seed"],
        **metadata,
    )
