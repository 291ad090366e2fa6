"""Excluded routes, enforceRoutes, includeAllNetworks and excludeLocalNetworks, as far as routes decide."""

import socket
import unittest
from pathlib import Path

from lab import SLACK, Lab, WireGuardGo, conf, genkey, ping, pubkey, wait_for


class RoutingPolicy(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("rp")
        self.addCleanup(self.lab.close)
        self.a, self.b = self.lab.pair()
        self.n = self.lab.namespace("n")
        self.lab.veth(self.a, self.n, "10.98.0.0/24", "fd98::/64", names=("eth1", "eth0"))
        self.a.ip("route", "add", "default", "via", "10.99.0.2")
        self.a.ip("-6", "route", "add", "default", "via", "fd99::2")
        for address in "198.51.100.1/32", "203.0.113.1/32", "203.0.113.200/32":
            self.b.ip("addr", "add", address, "dev", "lo")
        for address in "2001:db8::1/128", "2001:db8:1::1/128":
            self.b.ip("addr", "add", address, "dev", "lo", "nodad")
        self.daemon = self.lab.tunneld(self.a)

    def tunnel(self, number=1, allowed="0.0.0.0/0, ::/0", addresses=2, **settings):
        private = genkey()
        peer = WireGuardGo(self.lab, self.b, port=51820 + number)
        peer.peer(pubkey(private), f"10.2{number}.0.1/32,fd2{number}::1/128")
        peer.address(f"10.2{number}.0.2/24", f"fd2{number}::2/64")
        name = f"t{number}"
        own = [f"10.2{number}.0.1/24", f"fd2{number}::1/64"][:addresses]
        self.daemon.import_text(name, conf(private, own, [
            {"PublicKey": peer.public, "AllowedIPs": allowed, "Endpoint": f"10.99.0.2:{51820 + number}"}]))
        if settings:
            self.set(number, **settings)
        self.daemon.ctl("up", name)
        return peer

    def set(self, number=1, **settings):
        self.daemon.ctl("set", f"t{number}", *(f"{key.replace('_', '.')}={value}" for key, value in settings.items()))

    def settled(self, number=1):
        generation = self.daemon.json("show", f"t{number}")["generation"]
        wait_for("the new generation to be in force", lambda: self.daemon.status(f"t{number}")["generation"] == generation,
                 2 * SLACK)

    def through(self, peer, address, source=None):
        """Whether what is sent there goes through the peer; it must be answered."""
        def received():
            return int(self.b.exec("cat", f"/sys/class/net/{peer.name}/statistics/rx_packets").stdout)
        before = received()
        self.assertEqual(ping(self.a, address), 3, address)
        return received() - before >= 3

    def way(self, address):
        text = self.a.ip("route", "get", address, check=False)
        return "unreachable" if text.returncode else text.stdout.split(" dev ")[1].split()[0]

    def test_excluded_routes_go_outside_of_all_tunnels(self):
        before = self.a.snapshot()
        one = self.tunnel(1, provider_configuration_excludedRoutes="203.0.113.0/24, 2001:db8:1::/48")
        alone = self.a.snapshot()
        two = self.tunnel(2)
        for peer in two, one:
            self.assertTrue(self.through(peer, "198.51.100.1"))
            self.assertTrue(self.through(peer, "2001:db8::1"))
            for address in "203.0.113.1", "2001:db8:1::1":
                self.assertFalse(self.through(peer, address))
            if peer is two:
                self.daemon.ctl("down", "t2")
                self.assertEqual(self.a.snapshot(), alone)
        # No way outside is none through the tunnel either.
        self.a.ip("route", "del", "default")
        self.assertEqual(self.way("203.0.113.1"), "unreachable")
        self.a.ip("route", "add", "default", "via", "10.99.0.2")
        # Live, and with no gap for what stays in the tunnel.
        probe = self.a.popen("ping", "-n", "-i", "0.02", "-c", "150", "198.51.100.1", log="probe")
        for excluded in "", "203.0.113.200/32", "203.0.113.0/24":
            self.set(1, provider_configuration_excludedRoutes=excluded)
            self.settled()
            self.assertEqual(self.way("203.0.113.1") != "eth0", excluded != "203.0.113.0/24")
            self.assertEqual(self.way("203.0.113.200") != "eth0", excluded == "")
        probe.wait(timeout=60)
        self.assertIn("150 received", probe.log_path.read_text())
        self.daemon.ctl("down", "t1")
        self.assertEqual(self.a.snapshot(), before)

    def test_all_of_a_family_is_excluded_and_taken_in_again_while_it_runs(self):
        self.tunnel(provider_configuration_excludedRoutes='["2001:db8::/32","203.0.113.0/24"]')
        interface = self.daemon.status("t1")["interface"]
        for excluded, ways in (('["::/0","203.0.113.0/24"]', (interface, "eth0", "eth0")),
                               ('["0.0.0.0/0","2001:db8::/32"]', ("eth0", "eth0", "eth0")),
                               ('["0.0.0.0/0","::/0","10.21.0.2/32"]', ("eth0", "eth0", "eth0")),
                               ('["203.0.113.0/24"]', (interface, "eth0", interface))):
            self.set(provider_configuration_excludedRoutes=excluded)
            self.settled()
            self.assertEqual((self.way("198.51.100.1"), self.way("203.0.113.1"), self.way("2001:db8::1")), ways, excluded)

    def test_a_prefix_with_something_excluded_in_it(self):
        peer = self.tunnel(allowed="203.0.113.0/24, 2001:db8::/32",
                           provider_configuration_excludedRoutes="203.0.113.128/25, 2001:db8:1::/48")
        self.assertTrue(self.through(peer, "203.0.113.1"))
        self.assertTrue(self.through(peer, "2001:db8::1"))
        self.assertFalse(self.through(peer, "203.0.113.200"))
        self.assertFalse(self.through(peer, "2001:db8:1::1"))

    def test_routes_that_others_push_win_only_where_nothing_is_enforced(self):
        """C086."""
        before = self.a.snapshot()
        peer = self.tunnel()
        for prefix in "0.0.0.0/1", "128.0.0.0/1", "203.0.113.1/32":
            self.a.ip("route", "add", prefix, "via", "10.99.0.2", "dev", "eth0")
        status = self.daemon.status("t1")
        self.assertEqual(status["lostRoutes"], ["0.0.0.0/0"])
        self.assertIn("Traffic to 0.0.0.0/0 doesn't go through the tunnel", " ".join(status["notes"]))
        self.assertFalse(self.through(peer, "198.51.100.1"))
        for key in "enforceRoutes", "includeAllNetworks":
            self.set(**{key: "true"})
            self.settled()
            for address in "198.51.100.1", "203.0.113.1", "203.0.113.200", "2001:db8::1":
                self.assertTrue(self.through(peer, address))
            status = self.daemon.status("t1")
            self.assertEqual(status["lostRoutes"], [])
            self.assertFalse([note for note in status["notes"] if "enforceRoutes" in note])
            self.set(**{key: "false"})
            self.settled()
            self.assertFalse(self.through(peer, "198.51.100.1"))
        for prefix in "0.0.0.0/1", "128.0.0.0/1", "203.0.113.1/32":
            self.a.ip("route", "del", prefix, "via", "10.99.0.2", "dev", "eth0")
        self.daemon.ctl("down", "t1")
        self.assertEqual(self.a.snapshot(), before)

    def test_a_route_that_somebody_adds_by_its_gateway_alone_stays_on_its_link(self):
        for number, settings in enumerate(({}, {"enforceRoutes": "true"}, {"includeAllNetworks": "true"}), start=1):
            self.tunnel(number, **settings)
            self.a.ip("route", "replace", "default", "via", "10.99.0.2")
            self.a.ip("route", "add", "192.0.2.0/24", "via", "10.99.0.2")
            self.a.ip("-6", "route", "add", "2001:db8:2::/48", "via", "fd99::2")
            self.daemon.ctl("down", f"t{number}")
            self.assertIn("default via 10.99.0.2 dev eth0", self.a.ip("route").stdout, settings)
            self.assertEqual((self.way("192.0.2.1"), self.way("2001:db8:2::1")), ("eth0", "eth0"), settings)
            self.a.ip("route", "del", "192.0.2.0/24")
            self.a.ip("-6", "route", "del", "2001:db8:2::/48")

    def test_a_split_tunnels_routes_are_enforced_too(self):
        peer = self.tunnel(allowed="203.0.113.0/24", enforceRoutes="true")
        self.a.ip("route", "add", "203.0.113.1/32", "via", "10.99.0.2")
        self.assertTrue(self.through(peer, "203.0.113.1"))
        self.assertFalse(self.through(peer, "198.51.100.1"))

    def test_a_family_that_the_tunnel_lacks_is_unreachable(self):
        self.tunnel(allowed="0.0.0.0/0", addresses=1, includeAllNetworks="true")
        self.assertEqual(self.way("2001:db8::1"), "unreachable")
        self.assertEqual(self.way("198.51.100.1"), self.daemon.status("t1")["interface"])
        self.set(includeAllNetworks="false")
        self.settled()
        self.assertEqual(self.way("2001:db8::1"), "eth0")

    def test_the_reverse_path_filter_lets_neighbours_ask(self):
        for link in "all", "default", "eth0", "eth1":
            self.a.sysctl(f"net.ipv4.conf.{link}.rp_filter", 1)
        everything = {"includeAllNetworks": "true"}
        # The block keeps neighbours out where local networks aren't left out of it; ARP and its like it never does.
        for flags, answered in (({"enforceRoutes": "true"}, 3), (everything, 0),
                                (everything | {"excludeLocalNetworks": "true"}, 3)):
            peer = self.tunnel(**flags)
            for namespace in self.a, self.b, self.n:
                namespace.ip("neigh", "flush", "all")
                namespace.ip("-6", "neigh", "flush", "all")
            # The gateway must find this machine to hand it the peer's packets; and a neighbour, to be answered.
            self.assertTrue(self.through(peer, "198.51.100.1"))
            self.assertTrue(self.through(peer, "2001:db8::1"))
            for namespace, addresses in (self.b, ("10.99.0.1", "fd99::1")), (self.n, ("10.98.0.1", "fd98::1")):
                for address in addresses:
                    namespace.ip("neigh", "flush", "all")
                    self.assertEqual(ping(namespace, address), answered, (flags, address))
            self.daemon.ctl("down", "t1")
            self.daemon.ctl("remove", "t1")
            peer.stop()

    def multicast(self):
        """Whether a group on the local link is reached."""
        def receiver():
            listening = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            listening.bind(("", 5353))
            membership = socket.inet_aton("239.1.2.3") + socket.inet_aton("10.99.0.2")
            listening.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership)
            listening.settimeout(1)
            return listening

        def send():
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending:
                sending.sendto(b"hello", ("239.1.2.3", 5353))

        listening = self.b.inside(receiver)
        with listening:
            try:
                self.a.inside(send)
                return listening.recvfrom(100)[1][0] == "10.99.0.1"
            except OSError:
                return False

    def test_local_networks_are_left_out_and_followed(self):
        """C050: with the option and without, both ways; a second network is added while connected."""
        peer = self.tunnel(includeAllNetworks="true", excludeLocalNetworks="true")
        interface = self.daemon.status("t1")["interface"]
        self.assertTrue(self.through(peer, "198.51.100.1"))
        for address in "10.98.0.2", "fd98::2":
            self.assertEqual(self.way(address), "eth1")
            self.assertEqual(ping(self.a, address), 3)
        for address in "10.98.0.1", "fd98::1":
            self.assertEqual(ping(self.n, address), 3)
        self.assertTrue(self.multicast())
        # A network of public addresses isn't local, whoever hands it out.
        self.a.ip("addr", "add", "203.0.113.77/24", "dev", "eth1")
        self.a.ip("addr", "add", "10.97.0.1/24", "dev", "eth1")
        self.n.ip("addr", "add", "10.97.0.2/24", "dev", "eth0")
        wait_for("the new network", lambda: self.way("10.97.0.2") == "eth1", SLACK)
        self.assertEqual(ping(self.a, "10.97.0.2"), 3)
        self.assertEqual(ping(self.n, "10.97.0.1"), 3)
        self.assertTrue(self.through(peer, "203.0.113.1"))
        self.a.ip("addr", "del", "10.97.0.1/24", "dev", "eth1")
        wait_for("the network to go", lambda: "10.97.0.0/24" not in self.a.ip("rule").stdout, SLACK)
        self.assertEqual(self.way("10.97.0.2"), interface)
        self.set(excludeLocalNetworks="false")
        self.settled()
        for address in "10.98.0.2", "fd98::2":
            self.assertEqual(self.way(address), interface)
        self.assertFalse(self.multicast())


if __name__ == "__main__":
    unittest.main()
