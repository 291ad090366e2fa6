"""Endpoints with names: looked up again when it helps, all of their addresses tried."""

import time
import unittest

from lab import SLACK, Lab, WireGuardGo, conf, genkey, ping, pubkey, wait_for


class EndpointNames(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("name")
        self.addCleanup(self.lab.close)
        self.a, self.b = self.lab.pair()
        self.b.ip("addr", "add", "10.99.0.53/24", "dev", "eth0")
        self.a.resolv_conf.write_text("nameserver 10.99.0.53\n")
        self.daemon, self.private = self.lab.tunneld(self.a), genkey()
        self.peer = WireGuardGo(self.lab, self.b)
        self.peer.peer(pubkey(self.private), "10.20.0.1/32")
        self.peer.address("10.20.0.2/24")
        self.daemon.import_text("home", conf(self.private, ["10.20.0.1/24"], [
            {"PublicKey": self.peer.public, "AllowedIPs": "10.20.0.2/32", "Endpoint": "gateway.test:51820"}]))

    def serve_names(self, *addresses):
        return self.b.popen(
            "dnsmasq", "-k", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--bind-interfaces",
            "--listen-address=10.99.0.53", "--except-interface=lo", "--pid-file=",
            *(f"--host-record=gateway.test,{address}" for address in addresses))

    def test_a_resolver_that_comes_late(self):
        # C054; nobody tells of it, so that it is found by trying.
        began = time.monotonic()
        self.daemon.ctl("up", "home", "--no-wait")
        status = wait_for("the link", lambda: (s := self.daemon.status("home"))["interface"] and s, SLACK)
        self.assertEqual(status["status"], "connecting")
        self.assertTrue(self.a.ip_json("link", "show", status["interface"]))
        time.sleep(max(0, began + 20 - time.monotonic()))
        self.assertEqual(self.daemon.status("home")["failure"]["kind"], "name")
        self.serve_names("10.99.0.2")
        moment = time.monotonic()
        self.daemon.wait_status("home", "connected", 5 * SLACK)
        print(f"connected {time.monotonic() - moment:.1f} s after the resolver came")

    def test_a_network_that_comes_late(self):
        self.serve_names("10.99.0.2")
        self.a.ip("link", "set", "eth0", "down")
        self.daemon.ctl("up", "home", "--no-wait")
        time.sleep(8)
        self.assertEqual(self.daemon.status("home")["status"], "connecting")
        self.a.ip("link", "set", "eth0", "up")
        moment = time.monotonic()
        self.daemon.wait_status("home", "connected", 5 * SLACK)
        print(f"connected {time.monotonic() - moment:.1f} s after the network came")

    def test_a_peer_that_moves(self):
        # C055: the record flips, and the old address is dead without a word.
        names = self.serve_names("10.99.0.2")
        self.daemon.ctl("up", "home")
        before = self.daemon.status("home")
        self.b.ip("addr", "add", "10.99.0.3/24", "dev", "eth0")
        pinger = self.a.popen("ping", "-n", "-i", "0.5", "10.20.0.2", log="ping")
        names.kill()
        names.wait()
        self.serve_names("10.99.0.3")
        self.b.exec("nft", "add table inet off; add chain inet off in { type filter hook input priority 0; }; "
                    "add rule inet off in ip daddr 10.99.0.2 udp dport 51820 drop")
        moment = time.monotonic()
        wait_for("the new address", lambda: (s := self.daemon.status("home"))["status"] == "connected"
                 and s["peers"][0]["endpoint"] == "10.99.0.3:51820", 30 * SLACK)
        print(f"gone after the peer in {time.monotonic() - moment:.1f} s")
        pinger.kill()
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        after = self.daemon.status("home")
        self.assertEqual((after["providerProcess"], after["session"]), (before["providerProcess"], before["session"]))

    def test_all_addresses_of_both_families_are_tried(self):
        # The first two lead nowhere: one at once, one without a word.
        self.serve_names("fd98::2", "10.99.0.77", "10.99.0.2")
        self.daemon.ctl("up", "home", "--timeout", "60")
        self.assertEqual(self.daemon.status("home")["peers"][0]["endpoint"], "10.99.0.2:51820")
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)

    def test_the_address_that_a_name_stands_for_is_kept_out_of_the_tunnel(self):
        # Only once the name is known it shows that the tunnel's own route would catch the outer packets.
        self.serve_names("10.99.0.2")
        self.daemon.import_text("full", conf(self.private, ["10.20.0.1/24"], [
            {"PublicKey": self.peer.public, "AllowedIPs": "10.20.0.2/32, 10.99.0.0/28", "Endpoint": "gateway.test:51820"}]))
        self.daemon.ctl("up", "full", "--timeout", "30")
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        self.assertEqual(self.daemon.status("full")["lostRoutes"], [])


if __name__ == "__main__":
    unittest.main()
