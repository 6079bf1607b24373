"""The old choice; it leaves."""
