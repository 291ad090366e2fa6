"""The leak tap, and those who try to get past a block.

A probe carries a word and a number, so that one can be told in a capture and by a counter of nftables, whatever sent it.
"""

import json
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

from lab import run, wait_for

WORD = b"LEAK"


class LeakTap:
    """Everything that arrives at a link, on the far side of what is to be tight: counted by the kernel, and captured.

    `probes()` are the numbers of the probes that arrived, by kind; `strangers()` all other frames that the block should
    have kept: what isn't of the tunnel (UDP to `ports`) nor what every link needs.
    """

    def __init__(self, namespace, link="eth0", ports=(51820,)):
        self.namespace, self.ports = namespace, set(ports)
        self.found, self.odd, self.passed = {}, [], 0
        self.lock = threading.Lock()
        namespace.exec("nft", "-f", "-", input=f"""
            add table netdev tap{link}
            delete table netdev tap{link}
            table netdev tap{link} {{
                counter leaks {{ }}
                chain in {{
                    type filter hook ingress device "{link}" priority 0
                    @th,64,32 0x{WORD.hex()} counter name leaks
                }}
            }}""")
        self.table = f"tap{link}"

        def listen():
            s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))  # ETH_P_ALL
            s.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
            s.bind((link, 3))
            s.settimeout(0.1)
            return s
        self.socket = namespace.inside(listen)
        self.running = True
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        while self.running:
            try:
                frame, address = self.socket.recvfrom(65536)
            except TimeoutError:
                continue
            except OSError:
                return
            if address[2] == 4:  # PACKET_OUTGOING
                continue
            with self.lock:
                self.take(frame)

    def take(self, frame):
        self.passed += 1
        at = frame.find(WORD)
        if at >= 0 and len(frame) >= at + 12:
            kind, number = struct.unpack("!4sI", frame[at + 4:at + 12])
            self.found.setdefault(kind.decode(errors="replace").strip(), set()).add(number)
        elif not self.is_permitted(frame):
            self.odd.append(frame)

    def is_permitted(self, frame):
        kind, = struct.unpack("!H", frame[12:14])
        if kind == 0x0806:
            return True
        if kind == 0x0800:
            rest = frame[14 + (frame[14] & 15) * 4:]
            if frame[23] == 17:
                source, destination = struct.unpack("!HH", rest[:4])
                return destination in self.ports or (source, destination) == (68, 67)
            return False
        if kind == 0x86dd:
            next_header, hops, rest = frame[20], frame[21], frame[54:]
            if next_header == 0 and rest[0] == 58:
                return hops == 1 and rest[8] in (130, 131, 132, 143)
            if next_header == 58:
                return rest[0] in (133, 135, 136) and hops == 255
            if next_header == 17:
                source, destination = struct.unpack("!HH", rest[:4])
                return destination in self.ports or (source, destination) == (546, 547)
        return False

    def counted(self):
        text = self.namespace.exec("nft", "-j", "list", "counter", "netdev", self.table, "leaks").stdout
        return json.loads(text)["nftables"][-1]["counter"]["packets"]

    def probes(self):
        time.sleep(0.2)  # What was sent may still be on its way to the reader.
        with self.lock:
            return {kind: len(numbers) for kind, numbers in self.found.items()}

    def strangers(self):
        with self.lock:
            return [frame.hex() for frame in self.odd]

    def clear(self):
        time.sleep(0.2)
        with self.lock:
            self.found, self.odd = {}, []
        self.namespace.exec("nft", "reset", "counters", "table", "netdev", self.table)

    def close(self):
        self.running = False
        self.thread.join()
        self.socket.close()


# Runs in the namespace, as whoever it shall be: sends probes of one kind until it is told to end, then says how many.
SENDER = r'''
import signal, socket, struct, sys, time
kind, rate, link, v4, v6, mac = sys.argv[1], float(sys.argv[2]), sys.argv[3], sys.argv[4], sys.argv[5], sys.argv[6]
port, ports = int(sys.argv[7]), [9, 53, 853, 443]
MARK = 0x08000000
running, sent, refused = True, 0, 0

def stop(*_):
    global running
    running = False
signal.signal(signal.SIGTERM, stop)

def probe(number):
    return b"LEAK" + kind.encode().ljust(4) + struct.pack("!I", number)

def sum16(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff

def ip4(payload, destination, source="10.99.0.1", protocol=17):
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 0, 0, 64, protocol, 0,
                       socket.inet_aton(source), socket.inet_aton(destination))
    return head[:10] + struct.pack("!H", sum16(head)) + head[12:] + payload

def datagram(payload, to):
    return struct.pack("!HHHH", 40000, to, 8 + len(payload), 0) + payload

def ip6(payload, destination, source="fd99::1", protocol=17, hops=64):
    return struct.pack("!IHBB", 6 << 28, len(payload), protocol, hops) + socket.inet_pton(10, source) + socket.inet_pton(
        10, destination) + payload

sockets = {}
def udp(family, mark=False, bound=False):
    key = (family, mark, bound)
    if key not in sockets:
        s = socket.socket(family, socket.SOCK_DGRAM)
        if mark: s.setsockopt(socket.SOL_SOCKET, 36, MARK)
        if bound: s.setsockopt(socket.SOL_SOCKET, 25, link.encode())
        sockets[key] = s
    return sockets[key]

def raw(family, protocol):
    key = ("raw", family, protocol)
    if key not in sockets:
        s = socket.socket(family, socket.SOCK_RAW, protocol)
        s.setsockopt(socket.SOL_SOCKET, 36, MARK)
        s.setsockopt(socket.SOL_SOCKET, 25, link.encode())
        sockets[key] = s
    return sockets[key]

def packet(bypass, mark=True):
    key = ("packet", bypass)
    if key not in sockets:
        s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        s.setsockopt(socket.SOL_SOCKET, 36, MARK | 0x04000000)
        if bypass: s.setsockopt(263, 20, 1)  # PACKET_QDISC_BYPASS
        sockets[key] = s
    return sockets[key]

def frame(number, way):
    """Frames that go round the IP stack, some of them in disguise."""
    ours, theirs = b"\x02\0\0\0\0\x01", bytes.fromhex(mac.replace(":", ""))
    p = probe(number)
    ethernet4, ethernet6 = theirs + ours + b"\x08\0", theirs + ours + b"\x86\xdd"
    to = (link, 0x0800)
    if way == 0: return packet(False), ethernet4 + ip4(datagram(p, 9), v4), to
    if way == 1: return packet(True), ethernet4 + ip4(datagram(p, port), v4), to
    if way == 2: return packet(False), ethernet6 + ip6(datagram(p, 9), v6), (link, 0x86dd)
    # Says ARP, and is IP.
    if way == 3: return packet(False), ethernet4 + ip4(datagram(p, 9), v4), (link, 0x0806)
    # Says 802.1X, and is IP.
    if way == 4: return packet(False), ethernet4 + ip4(datagram(p, 9), v4), (link, 0x888e)
    # Tagged for VLAN 0, which most take as untagged.
    if way == 5: return packet(False), theirs + ours + b"\x81\0\0\0\x08\0" + ip4(datagram(p, 9), v4), (link, 0x0806)
    # DHCP's port, round the world.
    if way == 6:
        return packet(False), ethernet4 + ip4(struct.pack("!HHHH", 68, 67, 8 + len(p), 0) + p, "198.51.100.9"), to
    # A neighbour solicitation to far away.
    body = bytes([135, 0, 0, 0, 0, 0, 0, 0]) + p
    return packet(False), ethernet6 + ip6(body, "2001:db8::9", protocol=58, hops=255), (link, 0x86dd)

def send(number):
    p = probe(number)
    turn = number % 8
    if kind in ("user", "root"):
        family, host = ((socket.AF_INET, v4), (socket.AF_INET6, v6))[number % 2]
        udp(family).sendto(p, (host, ports[number // 2 % 4]))
    elif kind == "tcp":
        s = socket.socket(socket.AF_INET if number % 2 else socket.AF_INET6)
        s.setblocking(False)
        s.connect_ex((v4 if number % 2 else v6, ports[number // 2 % 4]))
        s.close()
    elif kind == "mark":
        # Where our own outer packets go, with their mark.
        family, host = ((socket.AF_INET, v4), (socket.AF_INET6, v6))[number % 2]
        udp(family, mark=True).sendto(p, (host, (port, 53)[number // 2 % 2]))
    elif kind == "bind":
        family, host = ((socket.AF_INET, v4), (socket.AF_INET6, v6))[number % 2]
        udp(family, bound=True).sendto(p, (host, ports[number // 2 % 4]))
    elif kind == "raw":
        if turn % 4 == 0: raw(socket.AF_INET, 17).sendto(datagram(p, port), (v4, 0))
        elif turn % 4 == 1: raw(socket.AF_INET, 255).sendto(ip4(datagram(p, 9), v4), (v4, 0))
        elif turn % 4 == 2: raw(socket.AF_INET6, 17).sendto(datagram(p, port), (v6, 0))
        else: raw(socket.AF_INET, 1).sendto(b"\x08\0\0\0\0\0\0\0" + p, (v4, 0))
    elif kind == "pack":
        s, data, to = frame(number, turn)
        s.sendto(data, to)
    elif kind == "fwd":
        family, host = ((socket.AF_INET, v4), (socket.AF_INET6, v6))[number % 2]
        udp(family).sendto(p, (host, (port, 9)[number // 2 % 2]))

print("ready", flush=True)
begin, number = time.monotonic(), 0
while running:
    due = int((time.monotonic() - begin) * rate)
    while number < due and running:
        try:
            send(number)
            sent += 1
        except OSError as error:
            refused += 1
        number += 1
    time.sleep(0.005)
print(sent, refused, flush=True)
'''

RAW = "+net_raw"


class Probes:
    """Senders of all kinds at once, from when it is entered to when it is left; `tried` says how much each did."""

    USERS = {"user": None, "root": 0, "tcp": None, "bind": None, "mark": RAW, "raw": RAW, "pack": RAW}

    def __init__(self, namespace, tap, kinds=None, rate=200, client=None, link="eth0", v4="10.99.0.2", v6="fd99::2",
                 port=51820):
        self.namespace, self.client, self.rate, self.link = namespace, client, rate, link
        self.mac = tap.namespace.ip_json("link", "show", "eth0")[0]["address"] if tap else "02:00:00:00:00:02"
        self.kinds = list(kinds or self.USERS) + (["fwd"] if client else [])
        self.targets, self.port = (v4, v6), port
        self.tried = {}
        self.processes = {}

    def __enter__(self):
        for kind in self.kinds:
            namespace = self.client if kind == "fwd" else self.namespace
            privilege = 0 if kind == "fwd" else self.USERS[kind]
            prefix = []
            if privilege != 0:
                prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
                if privilege:
                    prefix += [f"--inh-caps={privilege}", f"--ambient-caps={privilege}"]
            self.processes[kind] = subprocess.Popen(
                ["ip", "netns", "exec", namespace.name, *prefix, "/usr/bin/python3", "-c", SENDER, kind, str(self.rate),
                 self.link, *self.targets, self.mac, str(self.port)],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
            namespace.lab.processes.append(self.processes[kind])
        for kind, process in self.processes.items():
            assert process.stdout.readline() == "ready\n", kind
        return self

    def __exit__(self, *_):
        for process in self.processes.values():
            process.send_signal(signal.SIGTERM)
        for kind, process in self.processes.items():
            sent, refused = map(int, process.stdout.readline().split())
            process.stdout.close()
            process.wait()
            self.tried[kind] = sent + refused
