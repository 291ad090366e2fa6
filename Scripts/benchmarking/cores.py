"""How throughput grows from one core to all: everything is pinned, the tunnel's processes and those that use it."""

import contextlib
import os
from pathlib import Path

from streams import tcp


def growth(side, seconds, *arguments):
    with pinned(side, {min(os.sched_getaffinity(0))}):
        one = tcp(side, seconds, *arguments)["Mbit/s"]
    every = tcp(side, seconds, *arguments)["Mbit/s"]
    return {"Mbit/s, one core": one, "Mbit/s, all cores": every, "growth": every / one}


@contextlib.contextmanager
def pinned(side, processors):
    """As `taskset` would do it. What this process starts meanwhile is pinned with it."""
    before = os.sched_getaffinity(0)
    try:
        pin(side, processors)
        yield
    finally:
        pin(side, before)


def pin(side, processors):
    os.sched_setaffinity(0, processors)
    for process in side.processes:
        for thread in Path(f"/proc/{process}/task").iterdir():
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(int(thread.name), processors)
