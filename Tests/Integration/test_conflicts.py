"""What else lays claim to a tunnel's prefixes: routes of others, the network at hand, another peer, and the way back."""

import socket
import threading
import time
import unittest

from lab import SLACK, Lab, WireGuardGo, conf, genkey, ping, pubkey, run, wait_for


class Conflicts(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("con")
        self.addCleanup(self.lab.close)
        self.a, self.b = self.lab.pair()
        self.a.ip("route", "add", "default", "via", "10.99.0.2")
        self.b.ip("addr", "add", "198.51.100.1/32", "dev", "lo")
        self.daemon = self.lab.tunneld(self.a)

    def tunnel(self, name, allowed, number=0):
        private = genkey()
        peer = WireGuardGo(self.lab, self.b, port=51820 + number)
        peer.peer(pubkey(private), f"10.2{number}.0.1/32")
        peer.address(f"10.2{number}.0.2/24")
        self.daemon.import_text(name, conf(private, [f"10.2{number}.0.1/24"], [
            {"PublicKey": peer.public, "AllowedIPs": allowed, "Endpoint": f"10.99.0.2:{51820 + number}"}]))
        return peer

    def refused(self, name):
        """What a start is refused with, when nothing of it may be left."""
        before = self.a.snapshot()
        result = self.daemon.ctl("up", name, check=False)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.daemon.wait_status(name, "disconnected", SLACK)
        self.assertEqual(self.a.snapshot(), before)
        return result.stderr

    def test_a_route_of_another_owner(self):
        """C048: all or nothing, and whose it is."""
        self.tunnel("home", "10.20.0.0/24, 172.16.0.0/16, 172.17.0.0/16")
        for protocol, named in (("static", "the administrator (protocol static)"), ("dhcp", "DHCP"), ("bird", "bird"),
                                ("77", "routing protocol 77")):
            with self.subTest(protocol=protocol):
                route = ["172.17.0.0/16", "dev", "eth0", "proto", protocol]
                self.a.ip("route", "add", *route)
                error = self.refused("home")
                self.assertIn("172.17.0.0/16", error)
                self.assertIn(f"interface eth0, made by {named}", error)
                self.a.ip("route", "del", *route)
        self.daemon.ctl("up", "home")
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)

    def test_a_prefix_of_another_tunnel(self):
        """C048: the second tunnel with a prefix is refused, the first goes on."""
        self.tunnel("one", "10.20.0.0/24, 172.17.0.0/16")
        self.tunnel("two", "10.21.0.0/24, 172.17.0.0/16", 1)
        self.daemon.ctl("up", "one")
        error = self.refused("two")
        self.assertIn("172.17.0.0/16", error)
        self.assertIn(f"interface {self.daemon.status('one')['interface']}, another tunnel of tunneld", error)
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        self.daemon.ctl("down", "one")
        self.daemon.ctl("up", "two")

    def test_two_peers_with_the_same_prefix(self):
        """C047: a save fails that gives a prefix to two peers, and names both; nested prefixes are fine."""
        private, keys = genkey(), [pubkey(genkey()) for _ in range(2)]
        for prefix in "10.30.0.0/24", "0.0.0.0/0":
            with self.subTest(prefix=prefix):
                peers = [{"PublicKey": key, "AllowedIPs": prefix, "Endpoint": "10.99.0.2:51820"} for key in keys]
                with self.assertRaises(AssertionError) as caught:
                    self.daemon.import_text("two", conf(private, ["10.30.0.1/32"], peers))
                self.assertIn(f"{prefix} stands at two peers, those of lines", str(caught.exception))
                self.assertEqual(self.daemon.ctl("show", "two", check=False).returncode, 4)
        one, two = (WireGuardGo(self.lab, self.b, port=51820 + number) for number in range(2))
        for peer, address in ((one, "10.30.0.2/32"), (two, "10.30.0.130/32")):
            peer.peer(pubkey(private), "10.30.0.1/32")
            peer.address(address)
            self.b.ip("route", "add", "10.30.0.1/32", "dev", peer.name, check=False)
        self.daemon.import_text("two", conf(private, ["10.30.0.1/32"], [
            {"PublicKey": one.public, "AllowedIPs": "10.30.0.0/24", "Endpoint": "10.99.0.2:51820"},
            {"PublicKey": two.public, "AllowedIPs": "10.30.0.128/25", "Endpoint": "10.99.0.2:51821"}]))
        stored = self.daemon.json("show", "two")["provider"]["configuration"]["peers"]
        self.assertEqual([peer["allowedIPs"] for peer in stored], [["10.30.0.0/24"], ["10.30.0.128/25"]])
        same = run(*self.a.enter, self.daemon.programs / "tunnelctl", "set", "two",
                   "provider.configuration.peers.1.allowedIPs=10.30.0.0/24", check=False, env=self.daemon.environment)
        self.assertNotEqual(same.returncode, 0)
        self.daemon.ctl("up", "two")
        shown = {peer["publicKey"]: peer["allowedIPs"] for peer in self.daemon.status("two")["peers"]}
        self.assertEqual(shown, {one.public: ["10.30.0.0/24"], two.public: ["10.30.0.128/25"]})

        def received(peer):
            return int(self.b.exec("cat", f"/sys/class/net/{peer.name}/statistics/rx_packets").stdout)
        before = received(one), received(two)
        ping(self.a, "10.30.0.130", count=2)
        self.assertEqual(received(one), before[0])
        self.assertGreaterEqual(received(two), before[1] + 2)

    def exchange(self, port, reply_port):
        """A datagram from the neighbour's port, as a DHCP server's is, and the answer to it."""
        def server():
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.bind(("100.64.5.2", port))
            s.settimeout(5)
            return s

        def client():
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.bind(("100.64.5.1", reply_port))
            s.settimeout(5)
            return s
        there, here = self.n.inside(server), self.a.inside(client)
        with there, here:
            here.sendto(b"request", ("100.64.5.2", port))
            data, sender = there.recvfrom(100)
            self.assertEqual((data, sender), (b"request", ("100.64.5.1", reply_port)))
            there.sendto(b"ack", sender)
            self.assertEqual(here.recvfrom(100)[0], b"ack")

    def connects(self):
        """TCP from the neighbour to this machine."""
        def listener():
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind(("100.64.5.1", 2222))
            s.listen()
            return s

        def caller():
            s = socket.create_connection(("100.64.5.1", 2222), timeout=5)
            s.settimeout(5)
            return s
        with self.a.inside(listener) as listening, self.n.inside(caller) as call:
            taken, _ = listening.accept()
            with taken:
                call.sendall(b"ssh")
                self.assertEqual(taken.recv(10), b"ssh")

    def test_the_network_at_hand_lies_in_the_tunnels_range(self):
        """C049: a neighbour in the shared range reaches this machine, its addresses can be renewed, and that is told."""
        self.n = self.lab.namespace("n")
        self.lab.veth(self.a, self.n, "100.64.5.0/24", None, names=("eth1", "eth0"))
        self.b.ip("addr", "add", "100.100.0.1/32", "dev", "lo")
        for strict in 0, 1:
            for link in "all", "eth0", "eth1":
                self.a.sysctl(f"net.ipv4.conf.{link}.rp_filter", strict)
            for name, allowed in (("range", "100.64.0.0/10"), ("all", "0.0.0.0/0, 100.64.0.0/10")):
                with self.subTest(name=name, rp_filter=strict):
                    peer = self.tunnel(f"{name}{strict}", allowed)
                    started = self.daemon.ctl("up", f"{name}{strict}")
                    self.connects()
                    self.exchange(67, 68)
                    self.assertEqual(ping(self.n, "100.64.5.1"), 3)
                    # All else of the range is the tunnel's.
                    self.assertEqual(ping(self.a, "100.100.0.1"), 3)
                    note = "100.64.0.0/10 overlaps 100.64.5.0/24, the network of interface eth1."
                    self.assertIn(note, self.daemon.status(f"{name}{strict}")["notes"])
                    self.assertIn(note, started.stdout + started.stderr)
                    self.daemon.ctl("down", f"{name}{strict}")
                    peer.stop()

    def test_the_way_of_outer_packets_is_taken_away_again_and_again(self):
        """C040: the rule that keeps outer packets out of the tunnel, faster than it can be put back, and one that leads
        them in."""
        peer = self.tunnel("full", "0.0.0.0/0")
        self.daemon.ctl("up", "full")
        interface = self.daemon.status("full")["interface"]
        rules = [line.split(":", 1)[0] for line in self.a.ip("rule").stdout.splitlines() if "fwmark" in line]
        self.assertEqual(len(rules), 1)
        table = next(line.split("lookup ")[1].split()[0] for line in self.a.ip("rule").stdout.splitlines()
                     if line.startswith(rules[0]))
        outer = []
        stop = threading.Event()

        def tap():
            s = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))  # ETH_P_ALL
            s.bind((interface, 3))
            s.settimeout(0.1)
            return s

        def watch(s):
            while not stop.is_set():
                try:
                    packet, _ = s.recvfrom(65536)
                except (TimeoutError, OSError):
                    continue
                head = (packet[0] & 15) * 4
                if packet[0] >> 4 == 4 and packet[9] == 17 and packet[16:20] == socket.inet_aton("10.99.0.2") and (
                        int.from_bytes(packet[head + 2:head + 4]) == 51820):
                    outer.append(packet)

        deleter = self.a.popen("sh", "-c", f"while :; do ip rule del pref {rules[0]} 2>/dev/null; done")
        with self.a.inside(tap) as tapped:
            watcher = threading.Thread(target=watch, args=(tapped,))
            watcher.start()
            status = wait_for("the reason", lambda: (s := self.daemon.status("full"))["status"] == "reasserting"
                              and "again and again" in (s["reason"] or "") and s, 60)
            self.assertIn(f"the routing rule {rules[0]}", status["reason"])
            self.assertEqual(self.daemon.ctl("status", "full", "--check", check=False).returncode, 3)
            run("ip", "netns", "exec", self.a.name, "ping", "-n", "-q", "-c", "100", "-i", "0.01", "-W", "1",
                "198.51.100.1", check=False)
            self.assertEqual(outer, [])
            deleter.kill()
            deleter.wait()
            stop.set()
            watcher.join()
        self.daemon.wait_status("full", "connected", 90)

        # Somebody leads all of it in, marked or not: nothing grows, and it is told.
        def sent():
            return self.daemon.status("full")["counters"]["sentPackets"]
        self.a.ip("rule", "add", "pref", "50", "lookup", table)
        status = wait_for("the reason", lambda: (s := self.daemon.status("full"))["status"] == "reasserting"
                          and "leads into a tunnel" in (s["reason"] or "") and s, 2 * SLACK)
        self.assertIn(interface, status["reason"])
        before, begin = sent(), time.monotonic()
        ping(self.a, "198.51.100.1", count=20, interval=0.05, wait=1)
        took = time.monotonic() - begin
        # The pings and what the provider says to them; in a circle there would be thousands each second.
        self.assertLess(sent() - before, 40 + 20 * took)
        self.a.ip("rule", "del", "pref", "50")
        self.daemon.wait_status("full", "connected", 10 * SLACK)
        self.assertEqual(ping(self.a, "198.51.100.1"), 3)
        peer.stop()


if __name__ == "__main__":
    unittest.main()
