"""A thousand peers with keys and addresses of their own, who call one responder from one place."""

import base64
import collections
import ipaddress
import os
import random
import select
import socket
import struct
import time

from noise import Initiator, Responder
from side import OUTER, PORT

SIZE = 1_000
OUTSIDE, INSIDE = ipaddress.ip_network("10.98.0.0/16"), ipaddress.ip_network("10.21.0.0/16")
# How many initiations are on their way at once: fewer than any responder takes for a flood, more than it needs to be busy.
WINDOW = 32
# A message that wasn't answered is sent again after this time.
PATIENCE = 0.1
IP_PKTINFO = 8


class Crowd:
    def __init__(self):
        self.members = [Initiator(os.urandom(32), OUTSIDE[256 + number]) for number in range(SIZE)]
        self.last_label = 0

    def peers(self):
        """(public key, allowed address) of each, for the responder's configuration."""
        return [(base64.b64encode(member.public).decode(), f"{INSIDE[256 + number]}/32")
                for number, member in enumerate(self.members)]

    def label(self):
        """A TAI64N time stamp greater than all before."""
        self.last_label = max(self.last_label + 1, time.time_ns())
        seconds, nanoseconds = divmod(self.last_label, 1_000_000_000)
        return struct.pack(">QI", 0x400000000000000A + seconds, nanoseconds)

    def initiations(self, responder, count):
        """Round by round one of each member; made beforehand, for making them costs as much as answering."""
        for number, index in enumerate(random.sample(range(1 << 32), count)):
            yield self.members[number % SIZE].initiate(responder, index, self.label())

    def settle(self, side):
        """Gives the near namespace all members' addresses, and the far one the way to them."""
        side.a.ip("route", "replace", "local", OUTSIDE, "dev", "lo")
        side.b.ip("route", "replace", OUTSIDE, "via", OUTER[4][0])


class Calls:
    """Calls a side's far end, `WINDOW` at a time: the next when one is answered, so it is never overrun."""

    def __init__(self, side):
        self.far, self.answers, self.cookies, self.repeats = (OUTER[4][1], PORT), [], 0, 0
        # In the order in which they were sent.
        self.open = collections.OrderedDict()

        def make():
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.bind(("0.0.0.0", 0))
            s.setsockopt(socket.SOL_SOCKET, 33, 4 << 20)  # SO_RCVBUFFORCE
            s.setblocking(False)
            return s
        self.socket = side.a.inside(make)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def run(self, initiations, seconds, window=WINDOW):
        """Calls until the time is over or all are answered; the number of answers and the seconds that they took."""
        waiting, first = iter(initiations), len(self.answers)
        start = now = time.monotonic()
        while now < start + seconds:
            while len(self.open) < window and (call := next(waiting, None)):
                self.send(call, now)
            if not self.open:
                break
            select.select([self.socket], [], [], PATIENCE / 4)
            now = time.monotonic()
            self.take_all(now)
            self.repeat(now)
        return len(self.answers) - first, now - start

    def send(self, call, now, data=None):
        source = struct.pack("=I4s4x", 0, call.peer.address.packed)
        try:
            self.socket.sendmsg([data or call.message], [(socket.IPPROTO_IP, IP_PKTINFO, source)], 0, self.far)
        except BlockingIOError:
            pass
        if data is None:
            self.open[call.index] = (call, now)
            self.open.move_to_end(call.index)

    def take_all(self, now):
        for _ in range(WINDOW):
            try:
                message = self.socket.recv(2048)
            except BlockingIOError:
                return
            if message[0] == 2 and len(message) == 92:
                call, _ = self.open.pop(int.from_bytes(message[8:12], "little"), (None, 0))
                if call:
                    self.answers.append((call, message))
            elif message[0] == 3 and len(message) == 64:
                call, _ = self.open.get(int.from_bytes(message[4:8], "little"), (None, 0))
                if call and call.take_cookie(message):
                    self.cookies += 1
                    self.send(call, now)

    def repeat(self, now):
        for call, sent in list(self.open.values()):
            if now < sent + PATIENCE:
                return
            self.repeats += 1
            self.send(call, now)

    def finish(self, answers):
        """Makes sessions of these answers, each with a first packet; how many were authentic."""
        count = 0
        for call, response in answers:
            if packet := call.finish(response):
                self.send(call, 0, packet)
                count += 1
        return count


def responder_of(side):
    return Responder(base64.b64decode(side.public))
