"""The `eastwest` command: one small file a verb, no logic. Exit codes: 0 done; 1 the answer is no; 2 wrong input."""

import gc
import sys

INTERRUPTED = 130
COLLECT_EVERY = (200_000, 20, 100)
"""How often Python looks for circles to free: a step has a million values and none, and looking took half its time."""


def main() -> None:
    """Runs the command line: the entry point of the `eastwest` command."""
    gc.set_threshold(*COLLECT_EVERY)
    # Ctrl-C may come while the verbs are still being imported.
    try:
        from eastwest.cli.app import run

        run()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
