"""The paper's tables and figures, one module each.

A module has `EXPERIMENT`, its lines with what is measured and shown, and `reproduce`, which computes the rows.
"""
