"""The paper's tables and figures, one module each. `reproduce` computes rows, `table` shows them."""
