"""What a result depends on besides the programs."""

import os
import platform
import re
from pathlib import Path


def facts():
    names = re.findall(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    return {"kernel": platform.release(), "processor": names[0] if names else platform.machine(),
            "cores": len(os.sched_getaffinity(0))}


def load():
    """The load average of the last minute."""
    return os.getloadavg()[0]
