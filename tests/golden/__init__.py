"""Whole searches as JSON, recorded once: what a search did then it must still do, to the last sample."""
