"""How many small datagrams a second go through with hardly a loss: the rate is searched."""

import ctypes
import math
import socket
import struct
import time

from worker import Worker, until

BATCH = 64
LOSS = 0.005
RATES = 5_000, 1_500_000
STEPS = 8
# A sender that was kept from the processor for longer doesn't make up for it: that burst would overflow any queue.
LONGEST_CATCH_UP = 0.0005

_libc = ctypes.CDLL(None, use_errno=True)


class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


class Message(ctypes.Structure):
    """`struct mmsghdr` of 64-bit Linux."""

    _fields_ = [("name", ctypes.c_void_p), ("name_length", ctypes.c_uint32), ("vectors", ctypes.POINTER(Vector)),
                ("vector_count", ctypes.c_size_t), ("control", ctypes.c_void_p), ("control_length", ctypes.c_size_t),
                ("flags", ctypes.c_int), ("padding", ctypes.c_int), ("length", ctypes.c_uint32)]


def messages(size):
    """A batch of messages, all in the same bytes: what they hold is of no interest."""
    data = ctypes.create_string_buffer(size)
    vector = Vector(ctypes.addressof(data), size)
    batch = (Message * BATCH)(*(Message(vectors=ctypes.pointer(vector), vector_count=1) for _ in range(BATCH)))
    batch.kept = data, vector  # They live as long as what points at them.
    return batch


def send(s, size, rate, seconds):
    """Sends at a rate; how many, and in how many seconds."""
    batch, sent = messages(size), 0
    start = now = time.monotonic()
    due, last = 0.0, start
    while now < start + seconds:
        due = min(due + (now - last) * rate, max(rate * LONGEST_CATCH_UP, BATCH))
        last = now
        if due >= 1:
            count = _libc.sendmmsg(s.fileno(), batch, min(int(due), BATCH), 0)
            if count > 0:
                sent += count
                due -= count
        else:
            time.sleep(0.00005)
        now = time.monotonic()
    return sent, now - start


def receive(s, seconds):
    """Counts what arrives for so long."""
    batch, received, end = messages(2048), 0, time.monotonic() + seconds
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 50_000))
    while until(end):
        count = _libc.recvmmsg(s.fileno(), batch, BATCH, 0x10000, None)  # MSG_WAITFORONE
        if count > 0:
            received += count
    return received


def trial(side, size, rate, seconds):
    """Sent, received, seconds, processor seconds of the tunnel."""
    with side.udp(side.a, side.near) as near, side.udp(side.b, side.far) as far:
        far.setsockopt(socket.SOL_SOCKET, 33, 16 << 20)  # SO_RCVBUFFORCE: a loss shall be the tunnel's
        near.connect(far.getsockname())
        before = side.processor_seconds()
        with Worker(lambda: receive(far, seconds + 0.4)) as receiver, Worker(lambda: send(near, size, rate, seconds)) as sender:
            sent, lasted = sender.result()
            received = receiver.result()
        return sent, received, lasted, side.processor_seconds() - before


def small_datagrams(side, seconds, size=64):
    """The highest rate that arrives with a loss below the bound; a rate that fails is tried once more."""
    low, high = map(math.log, RATES)
    best = {"packets/s": 0.0}
    for _ in range(STEPS):
        middle = (low + high) / 2
        for _ in range(2):
            sent, received, lasted, spent = trial(side, size, math.exp(middle), seconds)
            # A sender that can't keep up with the rate that was asked for has found no bound of the tunnel.
            passed = sent > 0 and 1 - received / sent < LOSS
            if passed:
                if received / lasted > best["packets/s"]:
                    best = {"packets/s": received / lasted, "CPU us/packet": spent / received * 1e6}
                break
        low, high = (middle, high) if passed else (low, middle)
    assert best["packets/s"], f"not even {RATES[0]} datagrams a second came through without loss"
    return best
