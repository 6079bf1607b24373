"""`BestLeafSelector`: data checked, columns chosen for new rows or by the paper's search, and scored."""
