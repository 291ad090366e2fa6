"""The laptop moves: other routes, other addresses, other links, and none for a while."""

import time
import unittest

from lab import SLACK, Lab, ping, wait_for
from two_paths import FAR6, Echo, Statuses, Transfer, TwoPaths


class Roaming(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("roam")
        self.addCleanup(self.lab.close)

    def rig(self, **options):
        rig = TwoPaths(self.lab, **options)
        self.before = rig.up()
        return rig

    def check_same_provider(self, rig):
        after = rig.daemon.wait_status("home", "connected", 5 * SLACK)
        self.assertEqual((after["session"], after["providerProcess"], after["interface"]),
                         (self.before["session"], self.before["providerProcess"], self.before["interface"]))

    def moved(self, rig, what, *changes):
        """Makes the changes; traffic is back within 3 seconds, by the same provider."""
        with Echo(rig.a, rig.b) as echo:
            for change in changes:
                change()
            moment = time.monotonic()
            gap = echo.back_after(moment)
            print(f"{what}: back after {gap * 1000:.0f} ms")
            self.assertLess(gap, 3 * SLACK)
            echo.tcp_works(self)
        self.check_same_provider(rig)

    def test_the_default_route_moves(self):
        """C070"""
        rig = self.rig()
        self.moved(rig, "another metric", lambda: rig.lead("eth1", 50))
        self.moved(rig, "deletion", lambda: rig.leave("eth1"), lambda: rig.leave("eth1"))
        self.assertEqual(rig.daemon.status("home")["peers"][0]["endpoint"], "10.97.0.2:51820")

    def test_the_address_goes(self):
        """C070"""
        rig = self.rig()
        self.moved(rig, "the address went", lambda: rig.a.ip("addr", "del", "10.99.0.1/24", "dev", "eth0"))
        shown = rig.b.exec("wg", "show", rig.peer.name, "endpoints").stdout.split()[1]
        self.assertTrue(shown.startswith("10.98.0.1:"), shown)

    def test_the_link_goes_down_and_another_takes_over(self):
        """C070"""
        rig = self.rig()
        self.moved(rig, "the link went down", lambda: rig.a.ip("link", "set", "eth0", "down"))

    def test_the_peer_learns_the_new_address_though_nothing_is_sent(self):
        """C070: what the peer sends by itself finds its way too."""
        rig = self.rig()
        called_at = lambda: rig.b.exec("wg", "show", rig.peer.name, "endpoints").stdout.split()[1]
        self.assertTrue(called_at().startswith("10.99.0.1:"), called_at())
        rig.leave("eth0")
        wait_for("the new address", lambda: called_at().startswith("10.98.0.1:"), 3 * SLACK)
        self.assertEqual(ping(rig.b, "10.20.0.1", count=1), 1)
        self.check_same_provider(rig)

    def lost_and_back(self, rig, seconds, lose, regain, bound=2):
        statuses = Statuses(rig.daemon)
        with Echo(rig.a, rig.b) as echo:
            lose()
            lost = time.monotonic()
            if seconds >= 5:
                status = rig.daemon.wait_status("home", "reasserting", 3 * SLACK)
                self.assertEqual(status["reason"], "This machine has no way to the peers.")
            time.sleep(max(0, lost + seconds - time.monotonic()))
            regain()
            moment = time.monotonic()
            gap = echo.back_after(moment)
            print(f"{seconds} s without a way: back after {gap * 1000:.0f} ms")
            self.assertLess(gap, bound * SLACK)
            self.check_same_provider(rig)
            self.assertEqual(statuses.all(), ["connected", "reasserting", "connected"])
            echo.tcp_works(self, timeout=30 + 2 * seconds)

    def test_a_cable_is_pulled(self):
        for seconds in (1, 10):
            with self.subTest(seconds=seconds):
                rig = self.rig()
                rig.leave("eth1")
                self.lost_and_back(rig, seconds, lambda: rig.r.ip("link", "set", "eth0", "down"),
                                   lambda: rig.r.ip("link", "set", "eth0", "up"))
                rig.daemon.ctl("down", "home")

    def test_the_link_is_switched_off_and_on(self):
        # The peer is in the link's own network, so that its route comes back with it (C073).
        a, b, daemon, private, peer = self.lab.home()
        daemon.ctl("up", "home")
        self.before = daemon.status("home")

        class Rig:
            pass

        rig = Rig()
        rig.a, rig.b, rig.daemon = a, b, daemon
        for seconds in (1, 10):
            with self.subTest(seconds=seconds):
                self.lost_and_back(rig, seconds, lambda: a.ip("link", "set", "eth0", "down"),
                                   lambda: a.ip("link", "set", "eth0", "up"))

    def test_a_temporary_address_expires(self):
        """C072"""
        rig = TwoPaths(self.lab, endpoint=f"[{FAR6}]:51820")
        rig.a.sysctl("net.ipv6.conf.eth0.use_tempaddr", 2)
        rig.a.ip("addr", "add", "fd99::5/64", "dev", "eth0", "mngtmpaddr", "valid_lft", "20", "preferred_lft", "20", "nodad")
        temporary = wait_for("a temporary address", lambda: [
            i["local"] for i in rig.a.ip_json("-6", "addr", "show", "eth0")[0]["addr_info"] if i.get("temporary")], 10)[0]
        self.before = rig.up()
        peers = lambda: rig.b.exec("wg", "show", rig.peer.name, "endpoints").stdout
        wait_for("the temporary address as the source", lambda: temporary in peers(), 5 * SLACK)
        with Echo(rig.a, rig.b) as echo:
            wait_for("its end", lambda: temporary not in rig.a.ip("-6", "addr", "show", "eth0").stdout, 40)
            # From now on nothing leaves with it.
            rig.r.exec("nft", "add", "table", "inet", "t")
            rig.r.exec("nft", "add", "chain", "inet", "t", "f", "{ type filter hook prerouting priority 0; }")
            rig.r.exec("nft", "add", "rule", "inet", "t", "f", "ip6", "saddr", temporary, "counter")
            gap = echo.back_after(time.monotonic())
            print(f"the address expired: back after {gap * 1000:.0f} ms")
            self.assertLess(gap, 3 * SLACK)
            echo.tcp_works(self)
            self.assertIn("packets 0", rig.r.exec("nft", "list", "table", "inet", "t").stdout)
        self.assertNotIn(temporary, peers())
        self.check_same_provider(rig)

    def test_a_change_elsewhere_probes_nobody(self):
        rig = self.rig()
        handshake = rig.daemon.status("home")["peers"][0]["latestHandshake"]
        time.sleep(1)
        rig.a.ip("link", "add", "veth7", "type", "veth", "peer", "name", "veth8")
        rig.a.ip("addr", "add", "172.30.0.1/24", "dev", "veth7")
        rig.a.ip("link", "set", "veth7", "up")
        rig.daemon.wait_for_text("home: connected")
        time.sleep(1)
        self.assertEqual(rig.daemon.status("home")["peers"][0]["latestHandshake"], handshake)

    def test_a_transfer_goes_on_through_5_moves(self):
        transfer_through_moves(self, moves=5, size=50 << 20)


def transfer_through_moves(test, moves, size):
    """The laptop moves between two networks while it sends; every other time there is none in between."""
    rig = TwoPaths(test.lab)
    before = rig.up()
    rig.leave("eth1")
    transfer = Transfer(rig.a, rig.b, size)
    old, new = "eth0", "eth1"
    began = time.monotonic()
    for move in range(moves):
        transfer.wait_received(size * (move + 1) // (moves + 2))
        if move % 2 == 0:
            # The old network goes first: its link, and with it address of IPv6 and routes.
            rig.a.ip("link", "set", old, "down")
            rig.lead4(new)
        else:
            rig.lead4(new)
            rig.a.ip("link", "set", old, "down")
        rig.a.ip("link", "set", old, "up")
        old, new = new, old
    transfer.check(test)
    print(f"{size >> 20} MiB through {moves} moves in {time.monotonic() - began:.1f} s")
    after = rig.daemon.wait_status("home", "connected", 5 * SLACK)
    test.assertEqual((after["session"], after["providerProcess"]), (before["session"], before["providerProcess"]))
    test.assertEqual(ping(rig.a, "10.20.0.2"), 3)


if __name__ == "__main__":
    unittest.main()
