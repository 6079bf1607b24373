"""How a table was made ready for a search: what a certificate keeps of it, checked and in words."""

from __future__ import annotations

from bestleaf.certificate.claims import counted, first_of, shown
from bestleaf.certificate.findings import check_findings, findings_in_words, left_out
from bestleaf.certificate.schema import Content, need


def check_how_made(content: Content) -> None:
    """Check that what is written about the table fits the data that the certificate is about."""
    table, data = content.get("table"), content["data"]
    if table is None:
        return
    check_findings(table["findings"])
    about_rows = [table[name] for name in ("groups", "weights") if table[name] is not None]
    names, out = set(data["names"]), [*table["dropped"], *about_rows, *left_out(table["findings"])]
    for name in out:
        need(name not in names, f"the column {name!r:.60} was left out, so it must not be among the features")
        need(name not in table["kept"], f"the column {name!r:.60} was kept, so it must not be left out")
    many = len(names) + 1
    need(len(table["checksums"]) == many, f"the table must have {many:,} checksums, got {len(table['checksums']):,}")
    for name, part in (("groups", "row_groups"), ("weights", "row_weights")):
        fine = (table[name] is None) == (part not in data)
        need(fine, f"the column of {name} must be written if and only if rows have {name}")
    by_estimator = data["objective"].get("kind") == "estimator"
    fine = table["estimator"] is None or (table["estimator"] != "neighbours") == by_estimator
    need(fine, f"the estimator {table['estimator']} does not go with the objective")


def made_in_words(table: Content) -> list[str]:
    """Return how a table was made ready and what was found in it, as lines."""
    lines = []
    if table["dropped"]:
        names = first_of([shown(name) for name in table["dropped"]])
        lines.append(f"{counted(len(table['dropped']), 'column')} dropped before the search: {names}.")
    if table["missing"]:
        lines.append(f"Cells that mean a missing value: {', '.join(map(repr, table['missing']))}.")
    return [*lines, *findings_in_words(table["findings"], encoded=True)]
