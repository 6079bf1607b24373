"""The paper's tables and figures, one module each.

A module has `LINES`, the names of the lines of its table; `reproduce`, which computes a row for each run of a line; and
`table`, which shows them beside the published figures.
"""
