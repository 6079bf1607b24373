"""The command line, as ``bestleaf`` and as ``python -m bestleaf``."""

from bestleaf.cli import main

if __name__ == "__main__":
    main()
