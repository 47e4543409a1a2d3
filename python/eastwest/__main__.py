"""`python -m eastwest`: the command, where its script is not on the path."""

from eastwest.cli import main

main()
