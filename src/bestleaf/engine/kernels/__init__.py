"""The compiled loops of the engine."""
