"""Endpoints with a zone: a link-local address beyond an interface."""

import os
import signal
import unittest

from lab import SLACK, Lab, WireGuardGo, conf, genkey, ping, pubkey, wait_for

FAR = "fe80::2"


class Zones(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("zone")
        self.addCleanup(self.lab.close)
        self.a, self.b = self.lab.pair()
        self.b.ip("addr", "add", f"{FAR}/64", "dev", "eth0", "nodad")
        self.daemon = self.lab.tunneld(self.a)
        self.private = genkey()
        self.peer = WireGuardGo(self.lab, self.b)
        self.peer.peer(pubkey(self.private), "10.20.0.1/32")
        self.peer.address("10.20.0.2/24")

    def join(self, name):
        """Another way to the peer."""
        self.lab.veth(self.a, self.b, network4="10.98.0.0/24", network6=None, names=(name, "eth1"))
        self.b.ip("addr", "add", f"{FAR}/64", "dev", "eth1", "nodad")

    def number(self, interface):
        return self.a.ip_json("link", "show", interface)[0]["ifindex"]

    def start(self, zone):
        self.daemon.import_text("home", conf(self.private, ["10.20.0.1/24"], [
            {"PublicKey": self.peer.public, "AllowedIPs": "10.20.0.2/32", "Endpoint": f"[{FAR}%{zone}]:51820"}]))
        self.daemon.ctl("up", "home", "--no-wait")

    def wait_failure(self, zone):
        status = wait_for("the reason", lambda: (s := self.daemon.status("home"))["failure"] and s, 2 * SLACK)
        self.assertEqual(status["status"], "connecting")
        self.assertEqual(status["failure"]["kind"], "unreachable")
        self.assertEqual(status["reason"], f"There is no interface {zone}.")
        self.assertEqual(status["failure"]["endpoint"], f"[{FAR}%{zone}]:51820")

    def check(self, zone="eth0"):
        status = self.daemon.wait_status("home", "connected", 10 * SLACK)
        self.assertIsNone(status["failure"])
        self.assertEqual(status["peers"][0]["endpoint"], f"[{FAR}%{zone}]:51820")
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        shown = self.a.exec("wg", "show", status["interface"], "endpoints").stdout
        self.assertEqual(shown.split()[1], f"[{FAR}%{zone}]:51820")

    def test_by_name(self):
        self.start("eth0")
        self.check()

    def test_by_number(self):
        self.start(self.number("eth0"))
        self.check()

    def test_a_number_that_does_not_exist(self):
        self.start(4000)
        self.wait_failure(4000)

    def test_wg_set_takes_a_name_and_another_provider_goes_on(self):
        self.start("nope")
        self.wait_failure("nope")
        status = self.daemon.status("home")
        self.a.exec("wg", "set", status["interface"], "peer", self.peer.public, "endpoint", f"[{FAR}%eth0]:51820")
        self.check()
        os.kill(status["providerProcess"], signal.SIGKILL)
        wait_for("another provider", lambda: self.daemon.status("home")["providerProcess"] not in (
            None, status["providerProcess"]), 2 * SLACK)
        self.check()

    def test_an_interface_that_does_not_exist_is_named_and_waited_for(self):
        self.start("late0")
        self.wait_failure("late0")
        self.join("late0")
        self.check("late0")

    def test_an_interface_that_comes_back_with_another_number_is_found_again(self):
        self.join("gone0")
        self.start("gone0")
        self.check("gone0")
        before = self.number("gone0")
        self.a.ip("link", "del", "gone0")
        self.join("gone0")
        self.assertNotEqual(self.number("gone0"), before)
        wait_for("traffic again", lambda: ping(self.a, "10.20.0.2", count=1, wait=1) == 1, 12 * SLACK)
        self.check("gone0")


if __name__ == "__main__":
    unittest.main()
