"""The compiled loops of nearest neighbours and rollouts."""
