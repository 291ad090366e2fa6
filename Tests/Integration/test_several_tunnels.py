"""Three tunnels at once, full and split, started and stopped in every order: each takes back exactly its own (C046)."""

import itertools
import unittest

from lab import Lab, WireGuardGo, conf, genkey, ping, pubkey

NAMES = ("one", "two", "three")
FULL, HALVES, SPLIT = "full", "halves", "split"
ALLOWED = {FULL: "0.0.0.0/0, ::/0", HALVES: "0.0.0.0/1, 128.0.0.0/1, ::/1, 8000::/1"}
ORDERS = list(itertools.permutations(range(3)))
PAIRS = list(itertools.product(ORDERS, ORDERS))


class Several(unittest.TestCase):
    kinds = (FULL, FULL, FULL)

    def setUp(self):
        self.lab = Lab("sev")
        self.addCleanup(self.lab.close)
        self.a, self.b = self.lab.pair()
        self.a.ip("route", "add", "default", "via", "10.99.0.2")
        self.a.ip("-6", "route", "add", "default", "via", "fd99::2")
        self.b.ip("addr", "add", "198.51.100.1/32", "dev", "lo")
        self.daemon = self.lab.tunneld(self.a)
        self.peers = [self.tunnel(number, name) for number, name in enumerate(NAMES)]

    def tunnel(self, number, name):
        private = genkey()
        peer = WireGuardGo(self.lab, self.b, port=51820 + number)
        peer.peer(pubkey(private), f"10.2{number}.0.1/32,fd2{number}::1/128")
        peer.address(f"10.2{number}.0.2/24", f"fd2{number}::2/64")
        allowed = ALLOWED.get(self.kinds[number], f"10.2{number}.0.0/24, fd2{number}::/64")
        self.daemon.import_text(name, conf(private, [f"10.2{number}.0.1/24", f"fd2{number}::1/64"], [
            {"PublicKey": peer.public, "AllowedIPs": allowed, "Endpoint": f"10.99.0.2:{51820 + number}"}]))
        return peer

    def rules(self):
        return set(self.a.ip("rule").stdout.splitlines()) | set(self.a.ip("-6", "rule").stdout.splitlines())

    def received(self, number):
        path = f"/sys/class/net/{self.peers[number].name}/statistics/rx_packets"
        return int(self.b.exec("cat", path).stdout)

    def check(self, running):
        """Each passes its own traffic, and one of them what has no other way: halves are longer than any default."""
        for number in running:
            self.assertEqual(ping(self.a, f"10.2{number}.0.2", count=1), 1, NAMES[number])
            self.assertEqual(ping(self.a, f"fd2{number}::2", count=1), 1, NAMES[number])
        full = [number for kind in (FULL, HALVES) for number in running if self.kinds[number] == kind]
        before = [self.received(number) for number in range(3)]
        self.assertEqual(ping(self.a, "198.51.100.1", count=2), 2)
        grown = [self.received(number) - before[number] >= 2 for number in range(3)]
        self.assertEqual([number for number in range(3) if grown[number]], full[-1:])

    def started_and_stopped(self, ups, downs):
        snapshot, added, running = self.a.snapshot(), {}, []
        for number in ups:
            before = self.rules()
            self.daemon.ctl("up", NAMES[number])
            added[number] = self.rules() - before
            self.assertEqual(before - self.rules(), set())
            running.append(number)
        self.check(running)
        for number in downs:
            before = self.rules()
            self.daemon.ctl("down", NAMES[number])
            after = self.rules()
            self.assertEqual((before - after, after - before), (added[number], set()))
            running.remove(number)
            self.check(running)
        self.assertEqual(self.a.snapshot(), snapshot)

    def orders(self):
        return PAIRS[::7]

    def test_in_every_order(self):
        for ups, downs in self.orders():
            with self.subTest(ups=ups, downs=downs):
                self.started_and_stopped(ups, downs)


class FullAndSplit(Several):
    kinds = (FULL, SPLIT, FULL)

    def orders(self):
        return PAIRS[3::12]


class Split(Several):
    kinds = (SPLIT, SPLIT, SPLIT)

    def orders(self):
        return PAIRS[5::12]


class DefaultAndHalves(Several):
    kinds = (FULL, HALVES, FULL)

    def orders(self):
        return PAIRS[1::9]


if __name__ == "__main__":
    unittest.main()
