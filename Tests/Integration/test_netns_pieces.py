"""The pieces of the kernel's own WireGuard selftest (netns.sh) that make sense for a device in user space."""

import hashlib
import base64
import json
import os
import socket
import threading
import time
import unittest
from pathlib import Path

from lab import SLACK, Lab, WireGuardGo, conf, genkey, ping, pubkey, run, wait_for


def valid_mac1(public, random):
    """A handshake initiation of random content whose mac1 is right (whitepaper, section 5.4.4)."""
    key = hashlib.blake2s(b"mac1----" + base64.b64decode(public)).digest()
    body = b"\1\0\0\0" + random(112)
    return body + hashlib.blake2s(body, key=key, digest_size=16).digest() + bytes(16)


class Flood:
    """Initiations with a valid mac1, from another address than the honest peer's.

    - rate: of a second, in bursts of so many
    """

    def __init__(self, namespace, source, target, public, rate=5000, burst=1):
        def make():
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.bind((source, 0))
            s.setblocking(False)
            return s
        self.socket, self.target, self.rate, self.burst = namespace.inside(make), target, rate, burst
        # Made beforehand: on a busy machine their hashes would be what limits the rate.
        self.messages = [valid_mac1(public, os.urandom) for _ in range(512)]
        self.running, self.sent, self.cookies = True, 0, 0
        self.thread = threading.Thread(target=self.work)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.running = False
        self.thread.join()
        self.socket.close()

    def work(self):
        start = time.monotonic()
        while self.running:
            due = int((time.monotonic() - start) * self.rate) // self.burst * self.burst
            while self.sent < due:
                self.sent += 1
                try:
                    self.socket.sendto(self.messages[self.sent % len(self.messages)], self.target)
                except OSError:
                    pass
            try:
                while True:
                    self.cookies += self.socket.recv(2048)[0] == 3
            except OSError:
                pass
            time.sleep(0.001)


class Pieces(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("net")
        self.addCleanup(self.lab.close)

    def join(self, a=None, b=None, mtu=None, there="10.99.0.2:51820", keepalive=None):
        if a is None:
            a, b = self.lab.pair()
        self.a, self.b = a, b
        self.daemon = self.lab.tunneld(a)
        self.private = genkey()
        self.peer = WireGuardGo(self.lab, b, mtu=mtu or 1420)
        self.peer.peer(pubkey(self.private), "10.20.0.1/32,fd20::1/128")
        self.peer.address("10.20.0.2/24", "fd20::2/64")
        section = {"PublicKey": self.peer.public, "AllowedIPs": "10.20.0.2/32, fd20::2/128", "Endpoint": there}
        if keepalive:
            section["PersistentKeepalive"] = keepalive
        self.daemon.import_text("home", conf(self.private, ["10.20.0.1/24", "fd20::1/64"], [section], port=51821,
                                             **({"MTU": mtu} if mtu else {})))
        self.daemon.ctl("up", "home")
        self.name = self.daemon.status("home")["interface"]

    def iperf(self, *options):
        server = self.b.popen("iperf3", "-s", "-1", "-B", "10.20.0.2" if "fd20::2" not in options else "fd20::2")
        wait_for("iperf3", lambda: ":5201" in self.b.exec("ss", "-ltn").stdout, 5)
        result = self.a.exec("iperf3", *options, timeout=90)
        server.wait(timeout=30)
        return result

    def test_both_families_both_directions_tcp_and_udp(self):
        self.join()
        for address in ("10.20.0.2", "fd20::2"):
            self.assertEqual(ping(self.a, address, count=10, interval=0.05), 10)
            for options in ([], ["-R"], ["-u", "-b", "50M"], ["-u", "-b", "50M", "-R"]):
                end = json.loads(self.iperf("-J", "-c", address, "-t", "2", *options).stdout)["end"]
                if "-u" in options:
                    self.assertGreater(end["sum"]["packets"], 1000, options)
                    self.assertLess(end["sum"]["lost_percent"], 5, options)
                else:
                    self.assertGreater(end["sum_received"]["bytes"], 1_000_000, options)

    def test_large_mtu(self):
        self.join(mtu=8920)
        self.assertIn("mtu 8920", self.a.ip("link", "show", self.name).stdout)
        for address, told in (("10.20.0.2", "Frag needed and DF set"), ("fd20::2", "Packet too big")):
            self.assertEqual(ping(self.a, address, count=3), 3)

            def long(mode, count):
                return self.a.exec("ping", "-n", "-c", count, "-i", "0.3", "-M", mode, "-s", "8800", "-W", "2", address,
                                   check=False).stdout
            # What passes the link whole is told to whoever asks for that (C058); all else goes in fragments, outside, or for
            # IPv6 those of its sender once it has been told.
            self.assertRegex(long("do", 2), rf"{told}:? \(?mtu ?= ?1440\)?")
            self.assertRegex(long("dont", 4), "[34] received")
            self.iperf("-c", address, "-n", "20M")

    def test_the_peer_roams_in_mid_stream(self):
        self.join()
        # Else the second address goes with the first.
        self.b.sysctl("net.ipv4.conf.eth0.promote_secondaries", 1)
        self.b.ip("addr", "add", "10.99.0.3/24", "dev", "eth0")
        pinger = self.b.popen("ping", "-n", "-i", "0.1", "-c", "60", "10.20.0.1", log="ping")
        self.peer.set("listen-port", 51900)
        wait_for("the new port", lambda: self.endpoint() == "10.99.0.2:51900", 10)
        self.b.ip("addr", "del", "10.99.0.2/24", "dev", "eth0")
        # This wireguard-go keeps sending from an address that is gone until its socket is made anew.
        self.peer.set("listen-port", 51901)
        wait_for("the new address", lambda: self.endpoint() == "10.99.0.3:51901", 10)
        pinger.wait(timeout=60)
        self.assertGreaterEqual(int(pinger.log_path.read_text().split(" received")[0].split()[-1]), 55)

    def endpoint(self):
        return self.daemon.status("home")["peers"][0]["endpoint"]

    def test_we_roam_in_mid_stream(self):
        self.join()
        pinger = self.a.popen("ping", "-n", "-i", "0.1", "-c", "60", "10.20.0.2", log="ping")
        self.a.sysctl("net.ipv4.conf.eth0.promote_secondaries", 1)
        self.a.ip("addr", "add", "10.99.0.9/24", "dev", "eth0")
        self.a.ip("addr", "del", "10.99.0.1/24", "dev", "eth0")
        wait_for("the peer to learn our new address", lambda: "10.99.0.9" in run(
            "wg", "show", self.peer.name, "endpoints").stdout, 15)
        pinger.wait(timeout=60)
        self.assertGreaterEqual(int(pinger.log_path.read_text().split(" received")[0].split()[-1]), 40)

    def test_the_source_address_is_checked_against_the_allowed_ips(self):
        self.join()
        self.peer.address("10.20.0.9/32", "fd20::9/128")
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        received = self.daemon.status("home")["counters"]["receivedPackets"]
        for address, source in (("10.20.0.1", "10.20.0.9"), ("fd20::1", "fd20::9")):
            result = self.b.exec("ping", "-n", "-c", "3", "-i", "0.2", "-W", "1", "-I", source, address, check=False)
            self.assertIn("0 received", result.stdout)
        self.assertLessEqual(self.daemon.status("home")["counters"]["receivedPackets"] - received, 1)

    def test_no_loop_when_the_route_to_the_endpoint_goes_into_the_tunnel(self):
        self.join()
        self.a.ip("route", "add", "10.99.0.2/32", "dev", self.name)
        ping(self.a, "10.20.0.2", count=5, interval=0.2, wait=1)
        time.sleep(2)
        sent = int(self.a.exec("cat", f"/sys/class/net/{self.name}/statistics/tx_packets").stdout)
        self.assertLess(sent, 200, "outer packets went round in a circle")
        self.a.ip("route", "del", "10.99.0.2/32", "dev", self.name)
        self.daemon.wait_status("home", "connected", 70)
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)

    def test_allowed_ips_move_between_two_live_peers_and_back(self):
        self.join()
        other = WireGuardGo(self.lab, self.b, port=51830)
        other.peer(pubkey(self.private), "10.20.0.1/32", endpoint="10.99.0.1:51821")
        run("wg", "set", self.name, "peer", other.public, "endpoint", "10.99.0.2:51830", "allowed-ips", "10.20.0.3/32")
        # Both take whatever comes for this address; they count what came.
        self.b.ip("addr", "add", "10.77.0.1/32", "dev", "lo")
        self.a.ip("route", "add", "10.77.0.1/32", "dev", self.name)

        def received(peer):
            return int(self.b.exec("cat", f"/sys/class/net/{peer.name}/statistics/rx_packets").stdout)

        def goes_to(holder, bystander):
            run("wg", "set", self.name, "peer", holder.public, "allowed-ips", f"{own[holder]},10.77.0.1/32")
            # The answer must leave by the same peer, or our check of its source refuses it.
            self.b.ip("route", "replace", "10.20.0.1/32", "dev", holder.name)
            before = received(holder), received(bystander)
            self.assertEqual(ping(self.a, "10.77.0.1"), 3)
            self.assertGreaterEqual(received(holder) - before[0], 3)
            self.assertEqual(received(bystander), before[1])
            allowed = dict(line.split("\t") for line in run("wg", "show", self.name, "allowed-ips").stdout.splitlines())
            self.assertIn("10.77.0.1/32", allowed[holder.public])
            self.assertNotIn("10.77.0.1/32", allowed[bystander.public])
            # And what comes from that address through the other one is refused.
            self.b.ip("route", "replace", "10.20.0.1/32", "dev", bystander.name)
            self.assertEqual(ping(self.a, "10.77.0.1", count=2, wait=1), 0)

        own = {self.peer: "10.20.0.2/32,fd20::2/128", other: "10.20.0.3/32"}
        for holder, bystander in ((self.peer, other), (other, self.peer), (self.peer, other)):
            goes_to(holder, bystander)
        # Both lived.
        met = [int(line.split()[1]) for line in run("wg", "show", self.name, "latest-handshakes").stdout.splitlines()]
        self.assertEqual(len(met), 2)
        self.assertGreater(min(met), 0)

    def test_a_peer_behind_nat_is_reached_through_its_keepalive(self):
        self.behind_nat(keepalive=1)
        # Longer than the mapping lives without traffic; the keepalive holds it open.
        time.sleep(8)
        self.assertEqual(ping(self.b, "10.20.0.1"), 3)

    def test_a_peer_behind_nat_without_keepalive_is_not_reached(self):
        """The positive control of the one above: the mapping does die."""
        self.behind_nat(keepalive=None)
        # The keepalive 10 s after the last packet that needs an answer is the last to hold it open.
        time.sleep(18)
        self.assertEqual(ping(self.b, "10.20.0.1", count=2, wait=1), 0)
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        self.assertEqual(ping(self.b, "10.20.0.1"), 3)

    def behind_nat(self, keepalive):
        a, nat, b = (self.lab.namespace(name) for name in ("c", "n", "s"))
        self.lab.veth(a, nat, "192.168.77.0/24", None)
        self.lab.veth(b, nat, "10.99.0.0/24", None, names=("eth0", "eth1"))
        a.ip("route", "add", "default", "via", "192.168.77.2")
        nat.sysctl("net.ipv4.ip_forward", 1)
        nat.exec("nft", "add", "table", "ip", "n")
        nat.exec("nft", "add", "chain", "ip", "n", "p", "{ type nat hook postrouting priority 100; }")
        nat.exec("nft", "add", "rule", "ip", "n", "p", "oif", "eth1", "masquerade")
        nat.sysctl("net.netfilter.nf_conntrack_udp_timeout", 3)
        nat.sysctl("net.netfilter.nf_conntrack_udp_timeout_stream", 3)
        self.join(a, b, there="10.99.0.1:51820", keepalive=keepalive)
        self.assertEqual(ping(a, "10.20.0.2"), 3)

    def test_cookies_under_load_let_honest_peers_in(self):
        a, b = self.lab.pair()
        a.ip("addr", "add", "10.99.0.77/24", "dev", "eth0")
        b.ip("addr", "add", "10.99.0.66/24", "dev", "eth0")
        self.join(a, b)
        memory = self.resident()
        with Flood(b, "10.99.0.66", ("10.99.0.1", 51821), pubkey(self.private)) as flood:
            time.sleep(2)
            # A fresh peer must get in through the flood: the honest one starts anew.
            self.peer.set("peer", pubkey(self.private), "remove")
            self.peer.peer(pubkey(self.private), "10.20.0.1/32,fd20::1/128", endpoint="10.99.0.1:51821")
            started = time.monotonic()
            wait_for("an answer under load", lambda: ping(b, "10.20.0.1", count=1, wait=1), 10 * SLACK)
            print(f"answered {time.monotonic() - started:.1f} s into the flood")
            self.assertEqual(self.daemon.status("home")["status"], "connected")
        self.assertGreater(flood.cookies, 0, "no cookie was sent under load")
        self.assertLess(self.resident() - memory, 10 * 1024)

    def resident(self):
        from lab import resident_kib
        return resident_kib(self.daemon.status("home")["providerProcess"])

    def test_we_get_in_at_a_loaded_peer_with_its_cookie(self):
        a, b = self.lab.pair()
        a.ip("addr", "add", "10.99.0.77/24", "dev", "eth0")
        self.join(a, b)
        self.daemon.ctl("down", "home")
        # wireguard-go is under load when 128 wait for it: so many come at once that no machine takes them in time.
        with Flood(a, "10.99.0.77", ("10.99.0.2", 51820), self.peer.public, rate=8000, burst=500) as flood:
            time.sleep(2)
            self.daemon.ctl("up", "home", "--timeout", str(10 * SLACK))
            self.assertEqual(self.daemon.status("home")["status"], "connected")
        self.assertGreater(flood.cookies, 0, "the peer was never under load")


if __name__ == "__main__":
    unittest.main()
