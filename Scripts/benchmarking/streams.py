"""Throughput by iperf3, with what the tunnel's processes spent on it."""

import json
import re
import time

from lab import wait_for

IPERF_PORT = 5201


def throughput(side, received_bytes, spent, seconds):
    measured = {"Mbit/s": received_bytes * 8 / seconds / 1e6}
    if side.processes:
        measured["CPU s/GB"] = spent / (received_bytes / 1e9)
    return measured


def serve(side):
    server = side.b.popen("iperf3", "-s", "-1", "-J", log="iperf3-server")
    wait_for("iperf3", lambda: f":{IPERF_PORT} " in side.b.exec("ss", "-Hltn").stdout, 10)
    return server


def iperf(side, seconds, *arguments, address=None):
    """The client's and the server's report, and the processor seconds spent meanwhile."""
    server = serve(side)
    before = side.processor_seconds()
    text = side.a.exec("iperf3", "-J", "-c", address or side.far, "-t", seconds, *arguments, timeout=seconds + 60).stdout
    spent = side.processor_seconds() - before
    server.wait(timeout=20)
    return json.loads(text), json.loads(server.log_path.read_text()), spent


def tcp(side, seconds, *arguments, address=None):
    """One or more streams from near to far, or the other way with `-R`, or both with `--bidir`."""
    report, _, spent = iperf(side, seconds, *arguments, address=address)
    ways = [report["end"][key] for key in ("sum_received", "sum_received_bidir_reverse") if key in report["end"]]
    return throughput(side, sum(way["bytes"] for way in ways), spent, max(way["seconds"] for way in ways))


def udp_overload(side, seconds, size=1340):
    """As many datagrams as the sender can make; what the receiver got of them counts."""
    before = full_sockets(side.b)
    _, report, spent = iperf(side, seconds, "-u", "-b", "0", "-l", size)
    received = sum(interval["sum"]["bytes"] for interval in report["intervals"])
    # The receiver is short of processor time too: its socket has no room for all that comes out of the tunnel.
    missed = (full_sockets(side.b) - before) * size
    return {**throughput(side, received, spent, seconds), "Mbit/s out of the tunnel": (received + missed) * 8 / seconds / 1e6}


def full_sockets(namespace):
    """Datagrams that the kernel dropped since the socket that they were for was full."""
    names, values = [line.split() for line in namespace.exec("cat", "/proc/net/snmp").stdout.splitlines()
                     if line.startswith("Udp:")]
    return int(values[names.index("RcvbufErrors")])


class Bulk:
    """One TCP stream in the background, while it is entered."""

    def __init__(self, side, seconds):
        self.side, self.seconds = side, seconds

    def __enter__(self):
        self.server = serve(self.side)
        self.client = self.side.a.popen(
            "iperf3", "-c", self.side.far, "-t", self.seconds, "-i", "0.5", "--forceflush", log="iperf3-bulk")
        wait_for("the bulk stream", lambda: re.search(r"sec +\d", self.client.log_path.read_text())
                 or self.client.poll() is not None, 10)
        self.check()
        self.start, self.before = time.monotonic(), self.arrived()
        return self

    def __exit__(self, *_):
        for process in (self.client, self.server):
            process.terminate()
            process.wait(timeout=20)
        # The end of the stream is not part of the next measurement.
        time.sleep(0.3)

    def check(self):
        assert self.client.poll() is None, f"the bulk stream ended: {self.client.log_path.read_text()}"

    def arrived(self):
        """Bytes that came in from the link, the tunnel's own included."""
        return self.side.b.ip_json("-s", "link", "show", "eth0")[0]["stats64"]["rx"]["bytes"]

    def mbit_per_second(self):
        """What it has carried until now; fails where it has ended."""
        self.check()
        return (self.arrived() - self.before) * 8 / (time.monotonic() - self.start) / 1e6
