"""What is measured, between whom, and what must be reached."""

from dataclasses import dataclass, field
from typing import Callable

import cores
from at_rest import idle_wakeups, memory_after_load
from datagrams import small_datagrams
from handshakes import first_answer, handshakes_per_second, sessions
from ping_pong import ping_pong, ping_pong_under_load
from streams import tcp, udp_overload

TUNNELD, PEER, OLD, VETH, COPYING = "tunneld", "wireguard-go", "installed wireguard-go", "veth alone", "cipher copies"
CROWDED = {TUNNELD: "tunneld, 1,000 peers", PEER: "wireguard-go, 1,000 peers"}


@dataclass(frozen=True)
class Bar:
    """A bound of a ratio, or of tunneld's own value (`of_value`); another one where libcrypto does the encryption."""

    at_least: bool
    fast: float
    libcrypto: float | None
    of_value: bool = False

    def bound(self, cipher):
        return self.libcrypto if cipher == "libcrypto" else self.fast


def at_least(fast, libcrypto):
    return Bar(True, fast, libcrypto)


def at_most(fast, libcrypto):
    return Bar(False, fast, libcrypto)


def value_at_most(bound):
    return Bar(False, bound, bound, of_value=True)


@dataclass(frozen=True)
class Row:
    """`measure(bench, side)` gives values by unit; those in `units` are compared, with their bars."""

    name: str
    title: str
    measure: Callable
    units: dict = field(default_factory=dict)
    between: tuple = (TUNNELD, PEER)
    # Both are measured in the same time, once: nothing of the one disturbs the other.
    together: bool = False


def cut(bench, side, *arguments):
    with side.cut_to_wire_size():
        return tcp(side, bench.seconds, *arguments)


def memory_of_many(bench, side):
    sessions(bench.crowd, side, 30)
    return memory_after_load(side, bench.short)


def idle(bench, sides):
    bench.rest()
    return idle_wakeups(sides, bench.idle)


def stream(fast, libcrypto):
    return {"Mbit/s": at_least(fast[0], libcrypto[0]),
            "CPU s/GB": at_most(fast[1], libcrypto[1]) if libcrypto[1] else at_most(fast[1], None)}


ONE, MANY, CUT = ((2.0, 0.40), (1.6, 0.6)), ((2.4, 0.36), (1.8, 0.5)), ((2.4, 0.38), (1.8, None))
UNBOUND = {"Mbit/s": None, "CPU s/GB": None}
GROWTH = {"Mbit/s, one core": None, "Mbit/s, all cores": None, "growth": None}

ROWS = [
    Row("idle", "idle wake-ups", idle, {"1/s": value_at_most(0)}, together=True),
    Row("tcp", "TCP, one stream", lambda bench, side: tcp(side, bench.seconds), stream(*ONE)),
    Row("tcp-back", "TCP, one stream, other direction",
        lambda bench, side: tcp(side, bench.seconds, "-R"), stream(*ONE)),
    Row("tcp-4", "TCP, 4 streams", lambda bench, side: tcp(side, bench.seconds, "-P", "4"), stream(*MANY)),
    Row("tcp-both", "TCP, both ways at once", lambda bench, side: tcp(side, bench.seconds, "--bidir"), stream(*MANY)),
    Row("tcp-ipv6", "TCP over inner IPv6",
        lambda bench, side: tcp(side, bench.seconds, address=side.far6), stream(*MANY)),
    Row("cut", "TCP, one stream, cut to wire size", cut, stream(*CUT)),
    Row("cut-4", "TCP, 4 streams, cut to wire size", lambda bench, side: cut(bench, side, "-P", "4"), stream(*CUT)),
    Row("udp", "UDP, 1,340 bytes, overload, delivered", lambda bench, side: udp_overload(side, bench.seconds),
        {"Mbit/s": at_least(2.8, 2.2), "CPU s/GB": None, "Mbit/s out of the tunnel": None}),
    Row("udp-small", "UDP, 64 bytes, under 0.5 % lost", lambda bench, side: small_datagrams(side, bench.trial),
        {"packets/s": at_least(1.2, 1.0), "CPU us/packet": None}),
    Row("latency", "ping-pong", lambda bench, side: ping_pong(side, bench.short),
        {"p50 us": at_most(0.6, 0.6), "p99 us": at_most(0.6, 0.6), "CPU us/round trip": None}),
    Row("latency-loaded", "ping-pong under one bulk stream", lambda bench, side: ping_pong_under_load(side, bench.seconds),
        {"p50 us": at_most(0.5, 0.5), "p99 us": at_most(0.6, 0.6), "Mbit/s of the stream": None}),
    Row("memory", "resident memory after load, one peer", lambda bench, side: memory_after_load(side, bench.short),
        {"MiB": value_at_most(24)}),
    Row("memory-1000", "resident memory after load, 1,000 peers", memory_of_many, {"MiB": value_at_most(32)},
        between=(CROWDED[TUNNELD], CROWDED[PEER])),
    Row("handshakes", "handshakes as responder, 1,000 peers",
        lambda bench, side: handshakes_per_second(bench.crowd, side, bench.seconds),
        {"handshakes/s": at_least(1.0, 1.0), "CPU us/handshake": None}, between=(CROWDED[TUNNELD], CROWDED[PEER])),
    Row("first-answer", "handshake and first answer", lambda bench, side: first_answer(side), {"ms": None}),
    Row("old", "TCP, one stream", lambda bench, side: tcp(side, bench.seconds), UNBOUND, between=(TUNNELD, OLD)),
    Row("veth", "TCP, one stream", lambda bench, side: tcp(side, bench.seconds), {"Mbit/s": None}, between=(TUNNELD, VETH)),
    Row("veth-latency", "ping-pong", lambda bench, side: ping_pong(side, bench.short),
        {"p50 us": None, "p99 us": None}, between=(TUNNELD, VETH)),
    # The share of the limit: tunneld built so that its cipher only copies (`--copying`).
    Row("limit", "TCP, one stream", lambda bench, side: tcp(side, bench.seconds), UNBOUND, between=(TUNNELD, COPYING)),
    Row("limit-4", "TCP, 4 streams", lambda bench, side: tcp(side, bench.seconds, "-P", "4"), UNBOUND,
        between=(TUNNELD, COPYING)),
    # With `--pin`.
    Row("cores", "TCP, 4 streams", lambda bench, side: cores.growth(side, bench.seconds, "-P", "4"), GROWTH),
    Row("cores-both", "TCP, both ways at once", lambda bench, side: cores.growth(side, bench.seconds, "--bidir"), GROWTH),
]
