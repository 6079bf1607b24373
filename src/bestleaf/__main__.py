"""The command line, as ``bestleaf`` and as ``python -m bestleaf``."""

from __future__ import annotations

from bestleaf.leaving import INTERRUPTED, at_once


def main() -> None:
    """Run the command line; Ctrl-C is one line and exit code 130 from the first import on."""
    import sys

    try:
        with at_once():
            from bestleaf.cli import main as run
        run()
    except KeyboardInterrupt:
        print("bestleaf: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
