"""Run the command line with `python -m corepath`."""

from corepath.cli import main

main()
