"""Run the command line as ``python -m bestleaf``."""

from bestleaf.cli import main

main()
