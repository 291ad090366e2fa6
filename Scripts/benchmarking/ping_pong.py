"""Round trips of small datagrams, one at a time, between two programs."""

import time

from streams import Bulk
from worker import Worker, until

SIZE = 64
# Below this a p99 means nothing.
FEWEST = 200
LONGEST = 15


def echo(s, seconds):
    s.settimeout(0.2)
    end = time.monotonic() + seconds
    while until(end):
        try:
            data, source = s.recvfrom(2048)
        except TimeoutError:
            continue
        s.sendto(data, source)


def exchange(s, far, seconds):
    """The round trips, in nanoseconds; one that is lost doesn't count. Lasts longer where they would be too few."""
    s.settimeout(0.5)
    s.connect(far)
    times, number, end = [], 0, time.monotonic() + seconds
    while until(end) or len(times) < FEWEST and until(end + LONGEST):
        number += 1
        text = number.to_bytes(8, "little") + bytes(SIZE - 8)
        start = time.perf_counter_ns()
        s.send(text)
        try:
            while s.recv(2048) != text:
                pass
        except TimeoutError:
            continue
        times.append(time.perf_counter_ns() - start)
    return times


def ping_pong(side, seconds):
    with side.udp(side.a, side.near) as near, side.udp(side.b, side.far) as far:
        before = side.processor_seconds()
        with (Worker(lambda: echo(far, seconds + LONGEST + 2)),
              Worker(lambda: exchange(near, far.getsockname(), seconds)) as client):
            times = sorted(client.result())
        spent = side.processor_seconds() - before
    assert len(times) >= FEWEST, f"{side.name}: only {len(times)} round trips in {seconds + LONGEST} s"
    measured = {"p50 us": times[len(times) // 2] / 1000, "p99 us": times[len(times) * 99 // 100] / 1000}
    if side.processes:
        measured["CPU us/round trip"] = spent / len(times) * 1e6
    return measured


def ping_pong_under_load(side, seconds):
    with Bulk(side, seconds + LONGEST + 5) as bulk:
        measured = ping_pong(side, seconds)
        measured["Mbit/s of the stream"] = bulk.mbit_per_second()
    measured.pop("CPU us/round trip", None)
    return measured
