"""The `eastwest` command: one small file a verb, no logic. Exit codes: 0 done; 1 the answer is no; 2 wrong input."""

from eastwest.cli.app import main

__all__ = ["main"]
