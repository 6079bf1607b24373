"""Check a certificate against the file of the table that it is about."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

from bestleaf.checks import shown
from bestleaf.columns import TableEncoder
from bestleaf.features.estimator import EstimatorOracle
from bestleaf.proof import Certificate, Verdict, verify
from bestleaf.proof.record import Estimator, Table
from bestleaf.proof.text import in_line
from bestleaf.selection.data import votes_of
from bestleaf.tables.load import RowData, encoded_target, frame_of, prepared, split_off_rows, with_target
from bestleaf.tables.select import folds_for, model_of

NO_HEADER = re.compile(r"column \d+")  # how the target is called if a file was read without a header


def verify_table(
    certificate: Certificate | str | Path, data: str | Path | pd.DataFrame, *, audit: float | None = None
) -> Verdict:
    """Check a certificate against a file: the table is made again as the certificate says, and its values, too.

    A certificate of `bestleaf select` or `select_from_table` says which columns were dropped or left out, how columns
    became numbers, and which estimator was used.

    Parameters
    ----------
    certificate : Certificate or path-like
        What is checked.
    data : path-like or DataFrame
        The table it is about, as in `load_table`.
    audit : float, default=0.01
        Share of all subsets that are computed again, as in `verify`.

    Returns
    -------
    Verdict
        Its `other_data` says that the certificate is about another table.
    """
    certificate = certificate if isinstance(certificate, Certificate) else Certificate.load(certificate)
    verdict, made = verify(certificate), certificate.table
    if not verdict:
        return verdict
    if made is None:
        got = "got one that does not; use bestleaf.verify(certificate, X, y) in Python"
        raise ValueError(f"the certificate must say how its table was made, as those of bestleaf select do, {got}")
    if (wrong := _contradiction(certificate, made)) is not None:
        return Verdict(False, f"Refused: {wrong}.")
    frame = frame_of(data, missing=made.missing, encoding=made.text_encoding)
    if NO_HEADER.fullmatch(made.target) and made.target not in frame.columns and not isinstance(data, pd.DataFrame):
        frame = frame_of(data, missing=made.missing, encoding=made.text_encoding, header=False)
    try:
        X, y, metadata = _made_again(certificate, frame, made)
        oracle = _oracle(certificate, X, y, metadata, made)
    except (ValueError, KeyError) as error:
        reason = in_line(" ".join(str(error.args[0] if error.args else error).split()))
        return Verdict(False, f"Refused: these are not the data the certificate is about ({reason}).", other_data=True)
    return verify(certificate, X, y, oracle=oracle, **metadata, audit=audit)


def _contradiction(certificate: Certificate, made: Table) -> str | None:
    """Return what the table of a certificate says against itself or its data; None if nothing."""
    names = () if certificate.data is None else certificate.data.names
    data = certificate.data
    if data is not None and isinstance(data.objective, Estimator) and made.estimator is None:
        return "the table must name the estimator whose scores are the values"
    if both := set(made.left_out).intersection(made.kept):
        return f"the column {shown(min(both))} was kept and left out"
    if both := {*made.left_out, *made.dropped}.intersection(names):
        return f"the column {shown(min(both))} must not be among the features"
    if len(made.checksums) != len(names) + 1:
        return f"the table must have {len(names) + 1} checksums, got {len(made.checksums)}"
    return None


def _made_again(certificate: Certificate, frame: pd.DataFrame, made: Table) -> tuple[pd.DataFrame, pd.Series, RowData]:
    """Return a table as it was given to the selector, and what was known of its rows.

    Columns that were dropped need not be there.
    """
    if lost := [name for name in (*made.left_out, made.target) if name not in frame.columns]:
        raise ValueError(f"there is no column {shown(lost[0])}")
    frame, _ = with_target(frame, made.target)
    frame = frame.drop(columns=list(made.left_out)).drop(columns=list(made.dropped), errors="ignore")
    frame, metadata = split_off_rows(frame, made.target, made.groups, made.weights)
    if certificate.data is None or certificate.data.encoding is None:  # all columns are numbers
        table = prepared(frame, made.target, task=made.task)
        return table.X, table.y, metadata
    return frame.drop(columns=made.target), encoded_target(frame[made.target]), metadata


def _oracle(
    certificate: Certificate, X: pd.DataFrame, y: pd.Series, metadata: RowData, made: Table
) -> EstimatorOracle | None:
    """Return what computes the values of a search by an estimator again; None if no estimator has to be fitted."""
    data, claim = certificate.data, certificate.search
    estimator = None if made.estimator is None else model_of(made.estimator, y, made.task)
    if claim is None or data is None or estimator is None or votes_of(estimator) is not None:
        return None
    how = data.encoding
    return EstimatorOracle(
        X if how is None else TableEncoder(how.impute, how.dates).fit_transform(X),
        y,
        estimator=estimator,
        scoring=made.scoring,
        cv=folds_for(estimator, made.cv, metadata),
        random_state=claim.seed or 0,
        **metadata,
    )
