"""Other algorithms for the same problems: UCT and its variants, FUSE, and searches without a graph."""
