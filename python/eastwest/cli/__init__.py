"""The `eastwest` command: one small file a verb, no logic. Exit codes: 0 done; 1 the answer is no; 2 wrong input."""

import sys

INTERRUPTED = 130


def main() -> None:
    """Runs the command line: the entry point of the `eastwest` command."""
    # Ctrl-C may come while the verbs are still being imported.
    try:
        from eastwest.cli.app import run

        run()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
