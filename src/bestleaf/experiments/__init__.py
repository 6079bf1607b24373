"""The paper's tables and figures, one module each: a plan gives rows, rows give a table; rendering never reruns."""
