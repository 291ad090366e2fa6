"""Tunnels nested in one another by configuration: an ordered chain, and nothing of it outside."""

import json
import socket
import threading
import unittest

from lab import SLACK, Lab, WireGuardGo, conf, genkey, ping, pubkey, wait_for

NAMES = ("outer", "middle", "inner")
# Each server has a port of its own; those of the nested ones can be reached without the tunnels around them, too.
SERVERS = ("10.99.0.2", "198.51.100.2", "203.0.113.2")


class PortTap:
    """The ports that datagrams from the other side are for, as they arrive at a link."""

    def __init__(self, namespace, link="eth0"):
        self.ports, self.running = set(), True

        def listen():
            s = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))  # ETH_P_ALL
            s.bind((link, 3))
            s.settimeout(0.1)
            return s
        self.socket = namespace.inside(listen)
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        while self.running:
            try:
                packet, address = self.socket.recvfrom(65536)
            except TimeoutError:
                continue
            if address[2] != 4 and packet[0] >> 4 == 4 and packet[9] == 17:  # PACKET_OUTGOING
                head = (packet[0] & 15) * 4
                self.ports.add(int.from_bytes(packet[head + 2:head + 4]))

    def close(self):
        self.running = False
        self.thread.join()
        self.socket.close()


class Nesting(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("nest")
        self.addCleanup(self.lab.close)
        self.a, self.b = self.lab.pair()
        self.a.ip("route", "add", "default", "via", "10.99.0.2")
        for address in SERVERS[1:]:
            self.b.ip("addr", "add", f"{address}/32", "dev", "lo")
        self.b.ip("addr", "add", "192.0.2.80/32", "dev", "lo")
        self.daemon = self.lab.tunneld(self.a)
        self.peers = {}
        self.tap = PortTap(self.b)
        self.addCleanup(self.tap.close)

    def tunnel(self, number, allowed, **settings):
        private = genkey()
        name = NAMES[number]
        peer = self.peers[name] = WireGuardGo(self.lab, self.b, port=51820 + number)
        peer.peer(pubkey(private), f"10.2{number}.0.1/32")
        peer.address(f"10.2{number}.0.2/24")
        self.daemon.import_text(name, conf(private, [f"10.2{number}.0.1/24"], [
            {"PublicKey": peer.public, "AllowedIPs": allowed, "Endpoint": f"{SERVERS[number]}:{51820 + number}"}]))
        if settings:
            self.set(name, **settings)

    def set(self, name, **settings):
        self.daemon.ctl("set", name, *(f"{key}={value}" for key, value in settings.items()))

    def chain(self):
        """inner in middle in outer, each carrying what the next one calls."""
        self.tunnel(0, f"10.20.0.0/24, {SERVERS[1]}/32")
        self.tunnel(1, f"10.21.0.0/24, {SERVERS[2]}/32", nestedIn="outer")
        self.tunnel(2, "10.22.0.0/24", nestedIn="middle")

    def received(self, name):
        return int(self.b.exec("cat", f"/sys/class/net/{self.peers[name].name}/statistics/rx_packets").stdout)

    def waits(self, name, outer, status):
        found = wait_for(f"{name} to wait for {outer}", lambda: (s := self.daemon.status(name))["status"] == status
                         and f"waits for the tunnel {outer}" in (s["reason"] or "") and s, 2 * SLACK)
        self.assertEqual(self.daemon.ctl("status", name, "--check", check=False).returncode, 3)
        return found

    def test_three_deep(self):
        self.chain()
        before = self.a.snapshot()
        for name in NAMES:
            self.daemon.ctl("up", name)
        for number, name in enumerate(NAMES):
            self.assertEqual(ping(self.a, f"10.2{number}.0.2"), 3, name)
        # 20 + 8 + 32 bytes less with each.
        self.assertEqual([self.daemon.status(name)["mtu"] for name in NAMES], [1440, 1380, 1320])
        self.assertEqual([self.daemon.status(name)["nestedIn"] for name in NAMES], [None, "outer", "middle"])
        self.assertIn("nested in", self.daemon.ctl("status", "inner").stdout)
        self.assertEqual(self.tap.ports, {51820})
        # What fills the innermost fits all of them.
        self.a.exec("ping", "-n", "-c", "1", "-W", "5", "-M", "do", "-s", str(1320 - 28), "10.22.0.2")

        self.daemon.ctl("down", "middle")
        self.waits("inner", "middle", "reasserting")
        self.assertEqual(self.daemon.status("outer")["status"], "connected")
        self.assertEqual(ping(self.a, "10.22.0.2", count=2, wait=1), 0)
        self.daemon.ctl("up", "middle")
        self.daemon.wait_status("inner", "connected", 3 * SLACK)
        self.assertEqual(ping(self.a, "10.22.0.2"), 3)

        self.daemon.kill()
        self.daemon.start()
        for name in NAMES:
            self.daemon.wait_status(name, "connected", SLACK)
        self.assertEqual(ping(self.a, "10.22.0.2"), 3)
        log = self.daemon.process.log_path.read_text()
        self.assertNotIn("waits for the tunnel", log)
        # A smaller path shows in all of them.
        for namespace in self.a, self.b:
            namespace.ip("link", "set", "eth0", "mtu", "1460")
        wait_for("the MTUs to follow", lambda: [self.daemon.status(name)["mtu"] for name in NAMES] == [1400, 1340, 1280],
                 3 * SLACK)
        for namespace in self.a, self.b:
            namespace.ip("link", "set", "eth0", "mtu", "1500")
        self.assertEqual(self.tap.ports, {51820})
        self.daemon.ctl("down", "--all")
        self.assertEqual(self.a.snapshot(), before)

    def test_the_inner_may_be_started_first(self):
        self.chain()
        result = self.daemon.ctl("up", "inner", "--timeout", "2", check=False)
        self.assertEqual(result.returncode, 3)
        self.assertIn("waits for the tunnel middle", result.stderr)
        self.daemon.ctl("up", "middle", "--no-wait")
        self.waits("middle", "outer", "connecting")
        self.assertEqual(self.tap.ports, set())
        self.daemon.ctl("up", "outer")
        for name in NAMES[1:]:
            self.daemon.wait_status(name, "connected", 5 * SLACK)
        self.assertEqual(ping(self.a, "10.22.0.2"), 3)
        self.assertEqual(self.tap.ports, {51820})

    def refused(self, name, outer):
        generation = self.daemon.json("show", name)["generation"]
        result = self.daemon.ctl("set", name, f"nestedIn={outer}", check=False)
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertEqual(self.daemon.json("show", name)["generation"], generation)
        return result.stderr

    def test_what_makes_no_chain_is_refused(self):
        self.chain()
        self.assertIn("no configuration nobody", self.refused("inner", "nobody"))
        self.assertIn("It names itself", self.refused("inner", "inner"))
        self.assertIn("in a circle: outer in middle in outer", self.refused("outer", "middle"))
        self.assertIn("in a circle: outer in inner in middle in outer", self.refused("outer", "inner"))
        # A name becomes an identifier, so that another name changes nothing.
        identifier = self.daemon.json("show", "outer")["identifier"]
        self.assertEqual(self.daemon.json("show", "middle")["nestedIn"], identifier)
        self.daemon.ctl("rename", "outer", "office")
        self.daemon.ctl("up", "office")
        self.daemon.ctl("up", "middle")
        self.assertEqual(self.daemon.status("middle")["nestedIn"], "office")
        self.daemon.ctl("down", "--all")

        # Files that somebody else writes may come in any order, so a circle among them is found when it is to be started.
        path = self.daemon.state / "configurations" / f"{identifier}.json"
        document = json.loads(path.read_text())
        document["nestedIn"] = self.daemon.json("show", "inner")["identifier"]
        path.write_text(json.dumps(document))
        wait_for("the file to be taken", lambda: self.daemon.json("show", "office").get("nestedIn"), 2 * SLACK)
        for name in "office", "middle", "inner":
            # At once, not when the session that was begun has failed.
            result = self.daemon.ctl("up", name, "--no-wait", check=False)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn("circle", result.stderr)
        document["nestedIn"] = None
        path.write_text(json.dumps(document))
        wait_for("the file to be taken", lambda: not self.daemon.json("show", "office").get("nestedIn"), 2 * SLACK)
        self.daemon.ctl("remove", "office")
        result = self.daemon.ctl("up", "middle", check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"There is no configuration {identifier}", result.stderr)

    def test_full_tunnels_one_in_the_other(self):
        self.tunnel(0, "0.0.0.0/0")
        self.tunnel(1, "0.0.0.0/0", nestedIn="outer")
        before = self.a.snapshot()
        self.daemon.ctl("up", "outer")
        alone = self.a.snapshot()
        self.daemon.ctl("up", "middle")

        def goes_through_both():
            counts = [self.received(name) for name in NAMES[:2]]
            self.assertEqual(ping(self.a, "192.0.2.80"), 3)
            return all(self.received(name) >= count + 3 for name, count in zip(NAMES, counts))
        self.assertTrue(goes_through_both())
        self.assertEqual(self.tap.ports, {51820})
        for name in NAMES[:2]:
            # That the outer one has none but the inner one's packets is what was asked for.
            self.assertEqual(self.daemon.ctl("status", name, "--check").returncode, 0)
            self.assertEqual(self.daemon.status(name)["yieldedRoutes"], [])
        # The outer one, started later, mustn't take the default from what is nested in it.
        self.daemon.ctl("down", "outer")
        self.waits("middle", "outer", "reasserting")
        self.daemon.ctl("up", "outer")
        self.daemon.wait_status("middle", "connected", 3 * SLACK)
        wait_for("the inner one to go first", goes_through_both, SLACK)
        self.assertEqual(self.daemon.status("middle")["yieldedRoutes"], [])
        self.daemon.ctl("down", "middle")
        self.daemon.ctl("down", "outer")
        self.daemon.ctl("up", "outer")
        self.assertEqual(self.a.snapshot()[:len(alone)], self.a.snapshot())
        self.daemon.ctl("down", "outer")
        self.assertEqual(self.a.snapshot(), before)

    def test_changed_while_it_runs(self):
        self.tunnel(0, "0.0.0.0/0")
        self.tunnel(1, "10.21.0.0/24")
        for name in NAMES[:2]:
            self.daemon.ctl("up", name)
        self.assertIn(51821, self.tap.ports)
        self.set("middle", nestedIn="outer")
        wait_for("the MTU of the outer", lambda: self.daemon.status("middle")["mtu"] == 1380, 2 * SLACK)
        self.daemon.wait_status("middle", "connected", 2 * SLACK)
        self.tap.ports.clear()
        self.assertEqual(ping(self.a, "10.21.0.2"), 3)
        self.assertEqual(self.tap.ports, {51820})
        self.set("middle", nestedIn="")
        wait_for("the MTU of the link", lambda: self.daemon.status("middle")["mtu"] == 1440, 2 * SLACK)
        self.daemon.wait_status("middle", "connected", 2 * SLACK)
        self.assertEqual(ping(self.a, "10.21.0.2"), 3)
        self.assertIn(51821, self.tap.ports)
        self.daemon.ctl("down", "outer")
        self.assertEqual(ping(self.a, "10.21.0.2"), 3)

    def test_in_one_that_is_too_small_for_ipv6(self):
        self.tunnel(0, f"10.20.0.0/24, {SERVERS[1]}/32")
        self.tunnel(1, "10.21.0.0/24", nestedIn="outer")
        self.set("outer", **{"provider.configuration.mtu": 1279})
        before = self.a.snapshot()
        for name in NAMES[:2]:
            self.daemon.ctl("up", name)
        table = next(line for line in self.a.snapshot() if line.startswith("1900:")).split("lookup ")[1].split()[0]

        def ways(mtu, count):
            wait_for("the MTUs", lambda: [self.daemon.status(name)["mtu"] for name in NAMES[:2]] == [mtu, mtu - 60], 2 * SLACK)
            wait_for(f"{count} ways", lambda: sum(
                "unreachable" not in line and f"table {table}" in line
                for family in ("-4", "-6") for line in self.a.ip(family, "route", "show", "table", "all").stdout.splitlines()
            ) == count, SLACK)
            self.assertEqual(ping(self.a, "10.21.0.2"), 3)
        ways(1279, 1)
        # It follows.
        self.set("outer", **{"provider.configuration.mtu": 1340})
        ways(1340, 2)
        self.set("outer", **{"provider.configuration.mtu": 1279})
        ways(1279, 1)
        self.assertEqual(self.tap.ports, {51820})
        self.daemon.ctl("down", "--all")
        self.assertEqual(self.a.snapshot(), before)

    def test_the_way_into_the_outer_one_is_put_back(self):
        """Whoever takes it away, packets go nowhere meanwhile; the same for the rule that leads there."""
        self.tunnel(0, f"10.20.0.0/24, {SERVERS[1]}/32")
        self.tunnel(1, "10.21.0.0/24", nestedIn="outer")
        for name in NAMES[:2]:
            self.daemon.ctl("up", name)
        whole = self.a.snapshot()
        interface = self.daemon.status("outer")["interface"]
        table = next(line for line in whole if line.startswith("1900:")).split("lookup ")[1].split()[0]
        self.a.ip("route", "del", "default", "dev", interface, "table", table)
        wait_for("the way to be back", lambda: self.a.snapshot() == whole, SLACK)
        self.a.ip("rule", "del", "pref", "1900")
        wait_for("the rule to be back", lambda: self.a.snapshot() == whole, SLACK)
        self.assertEqual(ping(self.a, "10.21.0.2"), 3)

    def test_the_repair_of_another_tunneld_leaves_all_of_it(self):
        self.tunnel(0, f"10.20.0.0/24, {SERVERS[1]}/32")
        self.tunnel(1, "10.21.0.0/24", nestedIn="outer")
        for name in NAMES[:2]:
            self.daemon.ctl("up", name)
        other = self.lab.tunneld(self.a, "other")

        def repaired():
            before = self.a.snapshot()
            self.assertEqual(other.json("repair"), {"removed": [], "failed": []})
            self.assertEqual(self.a.snapshot(), before)
        repaired()
        # While the inner one waits, what keeps its packets in names no interface.
        self.daemon.ctl("down", "outer")
        self.waits("middle", "outer", "reasserting")
        repaired()
        ping(self.a, "10.21.0.2", count=1, wait=1)
        self.assertEqual(self.tap.ports, {51820})
        # Nor did anybody take something away from outside.
        for _ in range(3):
            self.daemon.ctl("up", "outer")
            self.daemon.wait_status("middle", "connected", 3 * SLACK)
            self.daemon.ctl("down", "outer")
            self.waits("middle", "outer", "reasserting")
        self.assertNotIn("Put back", self.daemon.process.log_path.read_text())

    def test_unless_it_is_asked_for_nothing_goes_through_another(self):
        """Also where the other one's routes hold the server, whichever was started first."""
        self.tunnel(0, f"10.20.0.0/24, {SERVERS[1]}/32")
        self.tunnel(1, "10.21.0.0/24")
        before = self.a.snapshot()

        def is_outside():
            self.tap.ports.clear()
            return ping(self.a, "10.21.0.2", count=2) == 2 and 51821 in self.tap.ports
        for order in NAMES[:2], NAMES[1::-1]:
            with self.subTest(order=order):
                self.daemon.ctl("up", order[0])
                alone = self.a.snapshot()
                self.daemon.ctl("up", order[1])
                wait_for("middle to be outside of outer", is_outside, 2 * SLACK)
                for name in order:
                    self.assertEqual(self.daemon.ctl("status", name, "--check").returncode, 0)
                # What programs send to the server goes through the other one all the same.
                count = self.received("outer")
                self.assertEqual(ping(self.a, SERVERS[1]), 3)
                self.assertGreaterEqual(self.received("outer"), count + 3)
                self.daemon.ctl("down", order[1])
                wait_for("all to be as before", lambda: self.a.snapshot() == alone, SLACK)
                self.daemon.ctl("down", order[0])
                self.assertEqual(self.a.snapshot(), before)

    def test_with_the_block(self):
        """The inner one blocks everything outside; its own packets pass within the outer one, and nowhere else."""
        self.tunnel(0, f"10.20.0.0/24, {SERVERS[1]}/32")
        self.tunnel(1, "0.0.0.0/0", nestedIn="outer", includeAllNetworks="true")
        for name in NAMES[:2]:
            self.daemon.ctl("up", name)
        self.assertEqual(ping(self.a, "192.0.2.80"), 3)
        self.daemon.ctl("down", "outer")
        self.waits("middle", "outer", "reasserting")
        rules = self.a.ip("rule").stdout.splitlines()
        for line in rules:
            if line.startswith("1900:"):
                self.a.ip("rule", "del", "pref", "1900")
        ping(self.a, "192.0.2.80", count=3, wait=1)
        self.daemon.ctl("up", "outer")
        self.daemon.wait_status("middle", "connected", 3 * SLACK)
        self.assertEqual(ping(self.a, "192.0.2.80"), 3)
        self.assertEqual(self.tap.ports, {51820})


if __name__ == "__main__":
    unittest.main()
