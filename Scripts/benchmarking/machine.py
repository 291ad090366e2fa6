"""What a result depends on besides the programs."""

import os
import platform
import re
import time
from pathlib import Path


def facts():
    names = re.findall(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    return {"kernel": platform.release(), "processor": names[0] if names else platform.machine(),
            "cores": len(os.sched_getaffinity(0))}


def busy(seconds):
    """The share of the processors' time that is used in the next seconds, by whomever."""
    before = times()
    time.sleep(seconds)
    used, total = (after - count for after, count in zip(times(), before))
    return used / total if total else 0


def times():
    """Ticks used and ticks in all; idle and waiting for a disk are the fourth and fifth."""
    ticks = list(map(int, Path("/proc/stat").read_text().splitlines()[0].split()[1:9]))
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)
