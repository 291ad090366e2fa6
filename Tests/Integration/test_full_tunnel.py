"""A full tunnel: own table, mark and rules, no loop through itself, everything taken back."""

import unittest

from lab import Lab, WireGuardGo, conf, genkey, ping, pubkey, wait_for


class FullTunnel(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("full")
        self.addCleanup(self.lab.close)
        self.a, self.b = self.lab.pair()
        for namespace, gateway4, gateway6 in ((self.a, "10.99.0.2", "fd99::2"),):
            namespace.ip("route", "add", "default", "via", gateway4)
            namespace.ip("-6", "route", "add", "default", "via", gateway6)
        # The "internet": addresses that only the gateway has.
        self.b.ip("addr", "add", "198.51.100.1/32", "dev", "lo")
        self.b.ip("addr", "add", "2001:db8::1/128", "dev", "lo", "nodad")
        self.daemon = self.lab.tunneld(self.a)

    def tunnel(self, number=1, allowed="0.0.0.0/0, ::/0", up=True, outer="10.99.0.2"):
        private = genkey()
        peer = WireGuardGo(self.lab, self.b, port=51820 + number)
        peer.peer(pubkey(private), f"10.2{number}.0.1/32,fd2{number}::1/128")
        peer.address(f"10.2{number}.0.2/24", f"fd2{number}::2/64")
        name = f"full{number}"
        self.daemon.import_text(name, conf(private, [f"10.2{number}.0.1/24", f"fd2{number}::1/64"], [
            {"PublicKey": peer.public, "AllowedIPs": allowed, "Endpoint": f"{outer}:{51820 + number}"}]))
        if up:
            self.daemon.ctl("up", name)
        return peer

    def goes_through(self, peer, address="198.51.100.1"):
        before = self.received(peer)
        self.assertEqual(ping(self.a, address), 3)
        return self.received(peer) - before >= 3

    def received(self, peer):
        from pathlib import Path
        return int(self.b.exec("cat", f"/sys/class/net/{peer.name}/statistics/rx_packets").stdout)

    def test_everything_goes_through_it_and_nothing_of_it_through_itself(self):
        before = self.a.snapshot()
        peer = self.tunnel()
        self.assertTrue(self.goes_through(peer))
        self.assertTrue(self.goes_through(peer, "2001:db8::1"))
        # The endpoint itself stays outside for our own packets: traffic flows, so there is no loop; and what the
        # underlay's neighbours see of it are outer packets only.
        self.assertEqual(self.daemon.status("full1")["status"], "connected")
        self.daemon.ctl("down", "full1")
        self.assertEqual(self.a.snapshot(), before)
        self.assertFalse(self.goes_through(peer))

    def test_the_same_over_ipv6(self):
        peer = self.tunnel(outer="[fd99::2]")
        self.assertTrue(self.goes_through(peer))
        self.assertTrue(self.goes_through(peer, "2001:db8::1"))

    def test_local_networks_stay_reachable(self):
        self.tunnel()
        self.assertEqual(ping(self.a, "10.99.0.2"), 3)
        self.assertEqual(ping(self.b, "10.99.0.1"), 3)

    def test_two_halves_of_the_address_space_are_routes_like_any_other(self):
        peer = self.tunnel(allowed="0.0.0.0/1, 128.0.0.0/1")
        self.assertTrue(self.goes_through(peer))

    def test_of_two_full_tunnels_the_last_has_the_default_and_gives_it_back(self):
        before = self.a.snapshot()
        one = self.tunnel(1)
        alone = self.a.snapshot()
        two = self.tunnel(2)
        self.assertTrue(self.goes_through(two))
        self.assertFalse(self.goes_through(one))
        self.daemon.ctl("down", "full2")
        self.assertEqual(self.a.snapshot(), alone)
        self.assertTrue(self.goes_through(one))
        self.daemon.ctl("up", "full2")
        self.daemon.ctl("down", "full1")
        self.assertTrue(self.goes_through(two))
        self.daemon.ctl("down", "full2")
        self.assertEqual(self.a.snapshot(), before)

    def test_a_host_with_a_strict_reverse_path_filter(self):
        self.a.sysctl("net.ipv4.conf.all.rp_filter", 1)
        self.a.sysctl("net.ipv4.conf.eth0.rp_filter", 1)
        before = self.a.snapshot()
        peer = self.tunnel()
        self.assertTrue(self.goes_through(peer))
        self.daemon.ctl("down", "full1")
        self.assertEqual(self.a.snapshot(), before)

    def test_a_host_without_ipv6(self):
        """C103"""
        self.a.sysctl("net.ipv6.conf.all.disable_ipv6", 1)
        self.a.sysctl("net.ipv6.conf.default.disable_ipv6", 1)
        before = self.a.snapshot()
        peer = self.tunnel()
        self.assertTrue(self.goes_through(peer))
        self.assertTrue(any("IPv6" in note for note in self.daemon.status("full1")["notes"]))
        self.daemon.ctl("down", "full1")
        self.assertEqual(self.a.snapshot(), before)

    def test_a_killed_tunneld_leaves_it_running_and_the_next_takes_it_back(self):
        before = self.a.snapshot()
        peer = self.tunnel()
        self.daemon.kill()
        self.assertTrue(self.goes_through(peer))
        self.daemon.start()
        self.daemon.ctl("down", "full1")
        self.assertEqual(self.a.snapshot(), before)

    def lost(self, *arguments, undo):
        """What status says while something is amiss; and that it is well without."""
        self.a.ip(*arguments)
        status, check = self.daemon.status("full1"), self.daemon.ctl("status", "full1", "--check", check=False)
        self.assertEqual(check.returncode, 3 if status["lostRoutes"] else 0, check.stderr)
        self.daemon.kill()
        self.daemon.start()
        self.daemon.wait_status("full1", "connected", 10)
        after = self.daemon.status("full1")
        self.assertEqual((after["lostRoutes"], after["notes"]), (status["lostRoutes"], status["notes"]))
        self.a.ip(*undo)
        self.assertEqual(self.daemon.status("full1")["notes"], [])
        return sorted(status["routes"]), status["lostRoutes"], status["notes"]

    def test_traffic_that_goes_round_it_is_told(self):
        self.tunnel()
        self.assertEqual(self.daemon.status("full1")["notes"], [])
        for family, prefix, other in (("-4", "0.0.0.0/0", "::/0"), ("-6", "::/0", "0.0.0.0/0")):
            self.assertEqual(
                self.lost(family, "rule", "add", "pref", "100", "lookup", "main",
                          undo=[family, "rule", "del", "pref", "100"]),
                ([other], [prefix], [f"Traffic to {prefix} doesn't go through the tunnel: a rule or a route from outside "
                                     "sends it to eth0."]))

    def test_of_two_none_is_told_to_be_diverted_by_the_other(self):
        self.tunnel(1)
        self.tunnel(2)
        for name in ("full1", "full2"):
            self.assertEqual(self.daemon.status(name)["lostRoutes"], [])

    def test_one_that_yields_its_default_route_says_to_which(self):
        one = self.tunnel(1)
        self.tunnel(2)
        for restarted in False, True:
            if restarted:
                self.daemon.kill()
                self.daemon.start()
                for name in "full1", "full2":
                    self.daemon.wait_status(name, "connected", 20)
            status, winner = self.daemon.status("full1"), self.daemon.status("full2")
            self.assertEqual(
                sorted((route["prefix"], route["name"], route["identifier"], route["interface"])
                       for route in status["yieldedRoutes"]),
                [(prefix, "full2", winner["identifier"], winner["interface"]) for prefix in ("0.0.0.0/0", "::/0")])
            self.assertIn("The tunnel full2 has 0.0.0.0/0, ::/0 now", " ".join(status["notes"]))
            self.assertIn("The tunnel full2 has 0.0.0.0/0, ::/0 now", self.daemon.ctl("status", "full1").stdout)
            self.assertEqual((winner["yieldedRoutes"], winner["notes"]), ([], []))
            check = self.daemon.ctl("status", "full1", "--check", check=False)
            self.assertEqual((check.returncode, self.daemon.ctl("status", "full2", "--check", check=False).returncode),
                             (3, 0))
            self.assertIn("traffic to 0.0.0.0/0 ::/0 goes through full2, not full1", check.stderr)
        self.daemon.ctl("down", "full2")
        status = self.daemon.status("full1")
        self.assertEqual((status["yieldedRoutes"], status["notes"]), ([], []))
        self.assertEqual(self.daemon.ctl("status", "full1", "--check").returncode, 0)
        self.assertTrue(self.goes_through(one))

    def test_a_split_tunnel_beside_a_full_one_yields_nothing(self):
        self.tunnel(1)
        self.tunnel(2, allowed="10.22.0.0/24")
        for name in "full1", "full2":
            self.assertEqual(self.daemon.status(name)["yieldedRoutes"], [])
            self.assertEqual(self.daemon.ctl("status", name, "--check").returncode, 0)

    def test_the_dns_line_is_put_in_force_and_kept(self):
        private = genkey()
        peer = WireGuardGo(self.lab, self.b)
        peer.peer(pubkey(private), "10.20.0.1/32")
        self.daemon.import_text("dns", conf(private, ["10.20.0.1/24"], [
            {"PublicKey": peer.public, "AllowedIPs": "10.20.0.2/32", "Endpoint": "10.99.0.2:51820"}],
            DNS="10.20.0.2, corp.test"))
        self.assertNotIn("DNS not", self.daemon.ctl("up", "dns").stdout)
        self.assertIn("10.20.0.2, search corp.test, by resolv.conf", self.daemon.ctl("status", "dns").stdout)
        dns = self.daemon.status("dns")["dns"]
        self.assertEqual((dns["servers"], dns["searchDomains"], dns["applied"]), (["10.20.0.2"], ["corp.test"], True))
        self.assertIn("DNS = 10.20.0.2, corp.test", self.daemon.ctl("export", "dns").stdout)


if __name__ == "__main__":
    unittest.main()
