"""The compiled loops of the rivals."""
