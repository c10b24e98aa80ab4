"""Runs a command for as long as somebody holds the other end of standard input, then ends it.

Whoever reproduces the paper may be killed without a chance to stop the benchmark that is running.
That benchmark would continue to write while the restarted one does.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence


def main(command: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    return process.wait()


def _end_with_stdin() -> None:
    os.read(sys.stdin.fileno(), 1)  # answers when the other end is closed
    os.killpg(os.getpgrp(), signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
