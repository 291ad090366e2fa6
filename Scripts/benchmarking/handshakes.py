"""What a responder makes of handshakes: how many a second, and how soon a tunnel carries its first packet."""

import time

from crowd import Calls, responder_of
from side import OUTER, PORT, key_bytes

WARM_UP = 1
# So many initiations are made beforehand; one core of a fast machine answers fewer.
MOST = 12_000
SAMPLE = 20
# The far end may take a second initiation within 20 ms for a flood.
APART = 0.1


def handshakes_per_second(crowd, side, seconds):
    """Answered initiations a second, from a thousand peers at as many addresses, after the first second.

    Initiations that are answered with a cookie are sent again with it. A sample of the answers is opened: they are valid.
    """
    responder = responder_of(side)
    known = getattr(side, "handshake_rate", None)
    count = MOST if known is None else min(MOST, int(known * 1.5) + 500)
    calls = iter(list(crowd.initiations(responder, count * (WARM_UP + seconds))))
    with Calls(side) as line:
        warm, took = line.run(calls, WARM_UP)
        before = side.processor_seconds()
        answered, lasted = line.run(calls, seconds)
        spent = side.processor_seconds() - before
        assert answered, f"{side.name} answers no handshake"
        assert line.finish(line.answers[-SAMPLE:]) == min(SAMPLE, len(line.answers)), f"{side.name} sent a wrong answer"
    side.handshake_rate = max(warm / took, answered / lasted)
    return {"handshakes/s": answered / lasted, "CPU us/handshake": spent / answered * 1e6,
            "cookies": line.cookies, "sent again": line.repeats}


def sessions(crowd, side, seconds):
    """Has every member of the crowd make a session with the far end."""
    with Calls(side) as line:
        answered, _ = line.run(list(crowd.initiations(responder_of(side), len(crowd.members))), seconds)
        assert answered == len(crowd.members), f"{side.name} answered {answered} of {len(crowd.members)} peers in {seconds} s"
        assert line.finish(line.answers) == answered, f"{side.name} sent a wrong answer"


def first_answer(side):
    """From setting the peer up to the first answer through the tunnel: a handshake and a round trip."""
    time.sleep(APART)
    key = key_bytes(side.public).hex()
    with side.udp(side.a, side.near) as here, side.udp(side.b, side.far) as there:
        for s in (here, there):
            s.settimeout(20)
        side.set_device(side.interface, f"public_key={key}\nremove=true\n")
        start = time.monotonic()
        side.set_device(side.interface, f"public_key={key}\nendpoint={OUTER[4][1]}:{PORT}\n"
                        f"allowed_ip={side.far}/32\nallowed_ip={side.far6}/128\n")
        here.sendto(b"?", there.getsockname())
        there.sendto(b"!", there.recvfrom(1)[1])
        here.recv(1)
        return {"ms": (time.monotonic() - start) * 1000}
