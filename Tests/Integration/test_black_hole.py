"""A router that drops what is too long for its next link, and fragments, and never says so."""

import time
import unittest

from lab import SLACK, Lab, ping, wait_for
from two_paths import FAR6, Transfer, TwoPaths

HOLE = """table inet hole {
  chain silent { type filter hook output priority 0; icmp type destination-unreachable icmp code frag-needed drop; icmpv6 type packet-too-big drop; }
  chain fragments { type filter hook forward priority -500; ip frag-off & 0x3fff != 0 drop; exthdr frag exists drop; }
}
"""


class BlackHole(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("hole")
        self.addCleanup(self.lab.close)

    def rig(self, mtu, **options):
        self.path = TwoPaths(self.lab, **options)
        self.path.r.exec("nft", "-f", "-", input=HOLE)
        self.narrow(mtu)
        self.name = self.path.up()["interface"]
        wait_for("connected", lambda: self.status()["status"] == "connected", 5 * SLACK)

    def narrow(self, mtu):
        for namespace, link in ((self.path.r, "eth9"), (self.path.b, "eth0")):
            namespace.ip("link", "set", link, "mtu", mtu)

    def status(self):
        return self.path.daemon.status("home")

    def link_mtu(self):
        return self.path.a.ip_json("link", "show", self.name)[0]["mtu"]

    def notes(self):
        return " ".join(self.status()["notes"])

    def transfers(self, megabytes=10):
        began = time.monotonic()
        Transfer(self.path.a, self.path.b, megabytes << 20).check(self)
        took = time.monotonic() - began
        print(f"{megabytes} MiB in {took:.1f} s, MTU {self.link_mtu()}")
        self.assertLess(took, 20 * SLACK)

    def test_ten_megabytes_complete_and_the_mtu_drops(self):
        """C062: whatever the path carries is found, told with its reason, and tried again on another network."""
        for endpoint, outer, inner in (
            ("10.97.0.2:51820", 1280, 1220), ("10.97.0.2:51820", 1400, 1340), (f"[{FAR6}]:51820", 1300, 1200),
        ):
            with self.subTest(endpoint=endpoint, outer=outer):
                self.rig(outer, endpoint=endpoint)
                before = self.status()
                self.assertGreater(before["mtu"], 1400)
                self.transfers()
                wait_for(f"MTU {inner}, not {self.link_mtu()}", lambda: self.link_mtu() == inner, SLACK)
                after = self.status()
                self.assertEqual(after["mtu"], inner)
                host = endpoint.rpartition(":")[0].strip("[]")
                self.assertRegex(self.notes(), rf"The path to {host} loses packets of 1[34]\d\d bytes without a word")
                self.assertRegex(self.notes(), rf"the MTU is at most {inner} therefore. Longer ones are tried again at 20")
                self.assertEqual((after["providerProcess"], after["session"]), (before["providerProcess"], before["session"]))
                # Now it is known: nothing has to be found out again.
                began = time.monotonic()
                self.transfers()
                self.assertLess(time.monotonic() - began, 2 * SLACK)
                # By the other link and a path that carries all.
                self.narrow(1500)
                self.path.leave("eth0")
                wide = 1440 if "." in endpoint else 1420
                wait_for(f"MTU {wide}", lambda: self.link_mtu() == wide, 2 * SLACK)
                self.assertNotIn("without a word", self.notes())
                self.transfers(2)
                self.path.daemon.ctl("down", "home")

    def test_a_stated_mtu_stays_and_is_said_to_be_too_large(self):
        """C062: the senders inside are told what fits."""
        self.rig(1280, interface={"MTU": 1420})
        self.transfers()
        self.assertEqual((self.link_mtu(), self.status()["mtu"]), (1420, 1420))
        self.assertRegex(self.notes(), r"The MTU stays 1420, as the configuration states it: state 1220, or leave it out\.")

    def test_a_host_that_goes_silent_is_no_black_hole(self):
        """C062: what loses short packets too says nothing of the path."""
        self.rig(1500)
        before = self.link_mtu()
        transfer = Transfer(self.path.a, self.path.b, 40 << 20)
        transfer.wait_received(1 << 20)
        self.path.b.exec("nft", "-f", "-", input="table inet t {\n chain i {\n type filter hook input priority 0; tcp dport 7100 drop;\n }\n}\n")
        time.sleep(6)
        self.assertEqual(ping(self.path.a, "10.20.0.2", count=1), 1)
        self.assertEqual(self.link_mtu(), before)
        self.assertNotIn("without a word", self.notes())
        self.path.b.exec("nft", "delete", "table", "inet", "t")
        transfer.check(self)
        self.assertEqual(self.link_mtu(), before)

    def test_losses_by_chance_are_no_black_hole(self):
        """C062: every twentieth packet is lost, of whatever length."""
        self.rig(1500)
        before = self.link_mtu()
        self.path.r.exec("nft", "-f", "-", input="table inet t {\n chain f {\n type filter hook forward priority 0;\n"
                         "numgen random mod 20 == 0 drop;\n }\n}\n")
        Transfer(self.path.a, self.path.b, 8 << 20).check(self)
        self.assertEqual(self.link_mtu(), before)
        self.assertNotIn("without a word", self.notes())


if __name__ == "__main__":
    unittest.main()
