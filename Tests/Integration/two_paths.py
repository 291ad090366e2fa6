"""The two-path rig: a laptop with two links to a router, behind which the peer is."""

import hashlib
import json
import socket
import struct
import threading
import time

from lab import WireGuardGo, conf, genkey, pubkey, wait_for

# The outer networks: the laptop's two (host 1, the router is host 2), and the peer's (the router is host 1, it is host 2).
NETWORKS = {"eth0": ("10.99.0", "fd99:"), "eth1": ("10.98.0", "fd98:")}
FAR4, FAR6 = "10.97.0.2", "fd97::2"


class TwoPaths:
    """(laptop, router, peer's namespace), tunneld on the laptop with `home` imported and not up."""

    def __init__(self, lab, endpoint=f"{FAR4}:51820", options=None, interface=None):
        self.lab = lab
        self.a, self.r, self.b = (lab.namespace(name) for name in ("a", "r", "b"))
        for name, (four, six) in NETWORKS.items():
            lab.veth(self.a, self.r, network4=f"{four}.0/24", network6=f"{six}:/64", names=(name, name))
        lab.veth(self.r, self.b, network4="10.97.0.0/24", network6="fd97::/64", names=("eth9", "eth0"))
        for key in ("net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"):
            self.r.sysctl(key, 1)
        self.b.ip("route", "add", "default", "via", "10.97.0.1")
        self.b.ip("-6", "route", "add", "default", "via", "fd97::1")
        self.lead("eth0", 100)
        self.lead("eth1", 200)
        self.daemon, self.private, self.peer = lab.tunneld(self.a), genkey(), WireGuardGo(lab, self.b)
        self.peer.peer(pubkey(self.private), "10.20.0.1/32,fd20::1/128")
        self.peer.address("10.20.0.2/24")
        self.daemon.import_text("home", conf(self.private, ["10.20.0.1/24"], [
            {"PublicKey": self.peer.public, "AllowedIPs": "10.20.0.2/32", "Endpoint": endpoint, **(options or {})}],
            **(interface or {})))

    def lead(self, link, metric):
        """Makes a default route by a link, of both families."""
        four, six = NETWORKS[link]
        self.a.ip("route", "add", "default", "via", f"{four}.2", "dev", link, "metric", metric)
        self.a.ip("-6", "route", "add", "default", "via", f"{six}:2", "dev", link, "metric", metric)

    def lead4(self, link):
        """The same by a link that has just come, for IPv4."""
        self.a.ip("route", "replace", "default", "via", f"{NETWORKS[link][0]}.2", "dev", link)

    def leave(self, link):
        self.a.ip("route", "del", "default", "dev", link, check=False)
        self.a.ip("-6", "route", "del", "default", "dev", link, check=False)

    def up(self):
        self.daemon.ctl("up", "home")
        return self.daemon.status("home")


class Statuses:
    """The statuses that `watch` tells of a tunnel, without repetitions."""

    def __init__(self, daemon, name="home"):
        self.process = daemon.popen("watch", name, "--json", log="watch")
        wait_for("watch", lambda: self.lines(), 30)

    def lines(self):
        found = []
        for line in self.process.log_path.read_text().splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                pass  # Not whole yet.
        return found

    def all(self):
        statuses = [line["status"] for line in self.lines() if line.get("status")]
        return [status for i, status in enumerate(statuses) if i == 0 or status != statuses[i - 1]]


class Echo:
    """Numbered datagrams through the tunnel and back, 50 a second; and one TCP connection that is there all the time."""

    def __init__(self, a, b, near="10.20.0.1", far="10.20.0.2"):
        def server():
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.bind((far, 7000))
            return s

        def listener():
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind((far, 7001))
            s.listen()
            return s

        def client():
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.bind((near, 7002))
            s.settimeout(0.2)
            return s

        self.server, self.listener, self.client = b.inside(server), b.inside(listener), a.inside(client)
        self.server.settimeout(0.2)
        self.far, self.running, self.heard = far, True, []
        self.tcp = a.inside(lambda: socket.create_connection((far, 7001), timeout=30))
        self.tcp_far, _ = self.listener.accept()
        self.threads = [threading.Thread(target=f) for f in (self.send, self.receive, self.answer)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        wait_for("an echo", lambda: self.heard, 30)
        return self

    def __exit__(self, *_):
        self.running = False
        for thread in self.threads:
            thread.join()
        for s in (self.server, self.listener, self.client, self.tcp, self.tcp_far):
            s.close()

    def send(self):
        number = 0
        while self.running:
            try:
                self.client.sendto(struct.pack("!Qd", number, time.monotonic()), (self.far, 7000))
            except OSError:
                pass  # The interface has no way, for a moment.
            number += 1
            time.sleep(0.02)

    def answer(self):
        while self.running:
            try:
                data, source = self.server.recvfrom(64)
                self.server.sendto(data, source)
            except OSError:
                pass

    def receive(self):
        while self.running:
            try:
                data, _ = self.client.recvfrom(64)
            except OSError:
                continue
            # Only what was sent after it counts as heard then.
            self.heard.append((struct.unpack("!Qd", data)[1], time.monotonic()))

    def back_after(self, moment, timeout=60):
        """Seconds from a moment to the first answer to what was sent after it."""
        found = wait_for("an echo", lambda: [heard for sent, heard in self.heard[-500:] if sent >= moment], timeout)
        return found[0] - moment

    def silent_for(self, seconds):
        return not self.heard or time.monotonic() - self.heard[-1][1] >= seconds

    def tcp_works(self, test, timeout=60):
        self.tcp.settimeout(timeout)
        self.tcp_far.settimeout(timeout)
        self.tcp.sendall(b"still here")
        test.assertEqual(self.tcp_far.recv(100), b"still here")
        self.tcp_far.sendall(b"so am I")
        test.assertEqual(self.tcp.recv(100), b"so am I")


class Transfer:
    """Bytes from the laptop to the peer through the tunnel, with their hash at both ends."""

    def __init__(self, a, b, size, far="10.20.0.2"):
        def listener():
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind((far, 7100))
            s.listen()
            return s

        self.size, self.sent, self.received = size, 0, 0
        self.hashes = [hashlib.sha256(), hashlib.sha256()]
        self.listener = b.inside(listener)
        self.near = a.inside(lambda: socket.create_connection((far, 7100), timeout=30))
        self.far, _ = self.listener.accept()
        self.error = None
        self.threads = [threading.Thread(target=f) for f in (self.send, self.receive)]
        for thread in self.threads:
            thread.start()

    def send(self):
        self.near.settimeout(120)
        block = bytes(range(256)) * 1024
        try:
            while self.sent < self.size:
                part = struct.pack("!Q", self.sent) + block[:min(len(block), self.size - self.sent) - 8]
                self.near.sendall(part)
                self.hashes[0].update(part)
                self.sent += len(part)
            self.near.shutdown(socket.SHUT_WR)
        except OSError as error:
            self.error = error

    def receive(self):
        self.far.settimeout(120)
        try:
            while data := self.far.recv(1 << 16):
                self.hashes[1].update(data)
                self.received += len(data)
        except OSError as error:
            self.error = error

    def wait_received(self, count, timeout=120):
        wait_for(f"{count} bytes of {self.size}", lambda: self.error or self.received >= count, timeout)

    def check(self, test):
        for thread in self.threads:
            thread.join(timeout=240)
        for s in (self.near, self.far, self.listener):
            s.close()
        test.assertIsNone(self.error)
        test.assertEqual((self.sent, self.received), (self.size, self.size))
        test.assertEqual(self.hashes[0].hexdigest(), self.hashes[1].hexdigest())


