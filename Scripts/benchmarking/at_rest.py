"""What a tunnel takes of a machine besides processor time: memory after load, and waking it up while idle."""

import time

from datagrams import trial
from streams import tcp


def load(side, seconds):
    """All that fills buffers: several streams, both ways at once, and small datagrams."""
    tcp(side, seconds, "-P", "4")
    tcp(side, seconds, "--bidir")
    trial(side, 1340, 100_000, seconds)


def memory_after_load(side, seconds):
    load(side, seconds)
    time.sleep(1)
    return {"MiB": side.resident_mib()}


def idle_wakeups(sides, seconds):
    """Context switches of an end's process and its threads, a second; the mean of both ends. All sides in the same time."""
    before = [side.wakeups() for side in sides]
    time.sleep(seconds)
    return [{"1/s": (side.wakeups() - count) / seconds} for side, count in zip(sides, before)]
