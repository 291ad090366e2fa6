"""The tunnel's MTU: from the path to the endpoint, following it, unless one is stated."""

import time
import unittest

from lab import SLACK, Lab, WireGuardGo, conf, genkey, ping, pubkey, wait_for
from two_paths import FAR6, Transfer, TwoPaths


class PathMTU(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("pmtu")
        self.addCleanup(self.lab.close)

    def pair(self, mtu=1500, stated=None, six=False, addresses=("10.20.0.1/24", "fd20::1/64")):
        self.a, self.b = self.lab.pair(mtu=mtu, **({} if mtu >= 1280 else {"network6": None}))
        self.daemon, private = self.lab.tunneld(self.a), genkey()
        self.peer = WireGuardGo(self.lab, self.b)
        self.peer.peer(pubkey(private), "10.20.0.1/32,fd20::1/128")
        self.peer.address("10.20.0.2/24", "fd20::2/64")
        endpoint = "[fd99::2]:51820" if six else "10.99.0.2:51820"
        self.daemon.import_text("home", conf(private, addresses, [
            {"PublicKey": self.peer.public, "AllowedIPs": "10.20.0.2/32, fd20::2/128", "Endpoint": endpoint}],
            **({} if stated is None else {"MTU": stated})))

    def up(self):
        self.daemon.ctl("up", "home")
        self.name = self.daemon.status("home")["interface"]

    def link_mtu(self):
        return self.a.ip_json("link", "show", self.name)[0]["mtu"]

    def becomes(self, mtu):
        wait_for(f"an MTU of {mtu}, not {self.link_mtu()}", lambda: self.link_mtu() == mtu, 2 * SLACK)
        self.assertEqual(self.daemon.status("home")["mtu"], mtu)

    def underlay(self, mtu):
        for namespace in (self.a, self.b):
            namespace.ip("link", "set", "eth0", "mtu", mtu)

    def addresses(self):
        return {i["local"] for i in self.a.ip_json("addr", "show", self.name)[0]["addr_info"]}

    def test_it_follows_the_link(self):
        """C059: from 1500 to 1400 and 1280 while connected; below 1280 there is no IPv6 inside, which is said (C060)."""
        self.pair()
        self.up()
        before = self.daemon.status("home")
        self.becomes(1440)
        for outer, inner in ((1400, 1340), (1280, 1220), (1500, 1440)):
            self.underlay(outer)
            self.becomes(inner)
            notes = " ".join(self.daemon.status("home")["notes"])
            # Below 1280 there is no IPv6, which is said, and comes back with the size.
            self.assertEqual("IPv6 needs an MTU of 1280 and the tunnel's is 1220." in notes, inner < 1280, notes)
            self.assertEqual("fd20::1" in self.addresses(), inner >= 1280)
            self.assertEqual(ping(self.a, "10.20.0.2", count=1), 1)
        self.assertEqual(ping(self.a, "fd20::2", count=1), 1)
        after = self.daemon.status("home")
        self.assertEqual((after["providerProcess"], after["session"]), (before["providerProcess"], before["session"]))

    def test_it_is_20_less_over_ipv6(self):
        self.pair(six=True)
        self.up()
        self.becomes(1420)
        self.underlay(1400)
        self.becomes(1320)

    def test_one_that_is_stated_stays(self):
        """C059: it is on the link, whatever becomes of the path."""
        self.pair(stated=1380)
        self.up()
        self.becomes(1380)
        for outer in (1400, 1280, 1500):
            self.underlay(outer)
            time.sleep(0.7)
            self.becomes(1380)

    def test_it_follows_a_route(self):
        self.pair()
        self.up()
        self.a.ip("route", "add", "10.99.0.2/32", "dev", "eth0", "mtu", "1350")
        self.becomes(1290)
        self.a.ip("route", "del", "10.99.0.2/32", "dev", "eth0")
        self.becomes(1440)

    def test_paths_of_every_size(self):
        """C060: 576, 1280, 1300, 9000, 65535."""
        for outer, inner in ((576, 516), (1280, 1220), (1300, 1240), (9000, 8940), (65535, 65472)):
            with self.subTest(outer=outer):
                self.pair(mtu=outer)
                self.up()
                self.becomes(inner)
                self.assertEqual(ping(self.a, "10.20.0.2", count=1), 1)
                self.daemon.ctl("down", "home")

    def test_stated_ones_of_every_size(self):
        """C060: 100, 68, 0 and 70000 are errors that say what an MTU may be, in a file and in a change."""
        for stated in (576, 9000, 65535):
            with self.subTest(stated=stated):
                six = ["fd20::1/64"] if stated >= 1280 else []
                self.pair(stated=stated, addresses=["10.20.0.1/24", *six])
                self.up()
                # A larger one than an outer datagram holds is capped, which is said.
                self.becomes(min(stated, 65472))
                notes = " ".join(self.daemon.status("home")["notes"])
                self.assertEqual("MTU 65472 instead of 65535" in notes, stated == 65535, notes)
                self.assertEqual(ping(self.a, "10.20.0.2", count=1), 1)
                self.daemon.ctl("down", "home")
        for stated in (0, 68, 100, 70000):
            with self.subTest(stated=stated):
                with self.assertRaisesRegex(AssertionError, f'MTU: "{stated}" isn.t from 576 to 65535'):
                    self.pair(stated=stated)
        self.pair()
        self.up()
        for stated in (0, 68, 100, 70000, -1):
            with self.subTest(changed=stated):
                result = self.daemon.ctl("set", "home", f"provider.configuration.mtu={stated}", check=False)
                self.assertNotEqual(result.returncode, 0)
                self.assertRegex(result.stderr, "mtu.*576.*65535|576.*65535.*mtu")
                self.becomes(1440)

    def test_what_a_router_said_is_forgotten_in_time(self):
        """C059: the MTU rises again when the kernel no longer believes an old "too big", though nothing happens then."""
        for endpoint, inner, wide in (("10.97.0.2:51820", 1240, 1440), (f"[{FAR6}]:51820", 1220, 1420)):
            with self.subTest(endpoint=endpoint):
                rig = TwoPaths(self.lab, endpoint=endpoint)
                self.a, self.daemon = rig.a, rig.daemon
                for family in ("ipv4", "ipv6"):
                    rig.a.sysctl(f"net.{family}.route.mtu_expires", 5)
                ends = ((rig.r, "eth9"), (rig.b, "eth0"))
                for namespace, link in ends:
                    namespace.ip("link", "set", link, "mtu", "1300")
                self.name = rig.up()["interface"]
                Transfer(rig.a, rig.b, 2 << 20).check(self)
                self.becomes(inner)
                for namespace, link in ends:
                    namespace.ip("link", "set", link, "mtu", "1500")
                wait_for(f"an MTU of {wide}", lambda: self.link_mtu() == wide, 6 + 2 * SLACK)
                rig.daemon.ctl("down", "home")

    def test_a_router_that_says_too_big_is_heeded(self):
        for endpoint, inner in (("10.97.0.2:51820", 1240), (f"[{FAR6}]:51820", 1220)):
            with self.subTest(endpoint=endpoint):
                rig = TwoPaths(self.lab, endpoint=endpoint)
                self.a, self.daemon = rig.a, rig.daemon
                for namespace, link in ((rig.r, "eth9"), (rig.b, "eth0")):
                    namespace.ip("link", "set", link, "mtu", "1300")
                self.name = rig.up()["interface"]
                self.assertGreater(self.link_mtu(), 1400)
                transfer = Transfer(rig.a, rig.b, 5 << 20)
                self.becomes(inner)
                transfer.check(self)
                rig.daemon.ctl("down", "home")

    def test_more_than_the_path_carries_goes_in_fragments_where_it_is_stated(self):
        """C058: groups of datagrams are refused as too long, and sent singly then."""
        self.pair(mtu=1280, stated=1420)
        self.up()
        began = time.monotonic()
        Transfer(self.a, self.b, 10 << 20).check(self)
        print(f"10 MiB in {time.monotonic() - began:.1f} s")
        self.assertLess(time.monotonic() - began, 4 * SLACK)
        self.becomes(1420)


if __name__ == "__main__":
    unittest.main()
