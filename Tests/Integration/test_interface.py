"""What others do to a tunnel's interface: status says so, and one that is gone is made anew."""

import re
import unittest
from random import Random

from lab import SLACK, Lab, WireGuardGo, conf, genkey, ping, pubkey, run, wait_for


class Interface(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("if")
        self.addCleanup(self.lab.close)
        self.a, self.b = self.lab.pair()
        self.a.ip("route", "add", "default", "via", "10.99.0.2")
        self.b.ip("addr", "add", "198.51.100.1/32", "dev", "lo")
        self.daemon = self.lab.tunneld(self.a)
        self.before = self.a.snapshot()

    def up(self, allowed, **interface):
        private = genkey()
        self.peer = WireGuardGo(self.lab, self.b)
        self.peer.peer(pubkey(private), "10.20.0.1/32,fd20::1/128")
        self.peer.address("10.20.0.2/24", "fd20::2/64")
        self.daemon.import_text("home", conf(private, ["10.20.0.1/24", "fd20::1/64"], [
            {"PublicKey": self.peer.public, "AllowedIPs": allowed, "Endpoint": "10.99.0.2:51820"}], **interface))
        self.daemon.ctl("up", "home")
        self.name = self.daemon.status("home")["interface"]
        self.watch = self.daemon.popen("watch", "home", "--json", log="watch")
        wait_for("watch", lambda: self.watch.log_path.read_text(), 10)

    def network(self):
        """Addresses, routes, rules and MTU, whatever the interface's number."""
        texts = [self.a.ip("-o", "addr", "show", "dev", self.name).stdout, self.a.ip("rule").stdout,
                 self.a.ip("-6", "rule").stdout, self.a.ip("route", "show", "table", "all").stdout,
                 self.a.ip("-6", "route", "show", "table", "all").stdout, self.a.ip("link", "show", self.name).stdout]
        return sorted(re.sub(r"^\d+: ", "", line) for text in texts for line in text.splitlines())

    def delete(self):
        before = self.daemon.status("home")
        self.a.ip("link", "del", self.name)
        return wait_for("the tunnel to be back", lambda: (s := self.daemon.status("home"))["status"] == "connected"
                        and s["providerProcess"] not in (None, before["providerProcess"]) and s, 5 * SLACK)

    def test_an_interface_that_is_deleted_is_told_and_made_anew(self):
        self.up("10.20.0.2/32, fd20::2/128, 10.66.0.0/16", MTU=1380)
        run("wg", "set", self.name, "peer", pubkey(genkey()), "allowed-ips", "10.77.0.0/16")
        peers = run("wg", "show", self.name, "allowed-ips").stdout
        network, before = self.network(), self.daemon.status("home")
        after = self.delete()
        self.assertEqual(self.network(), network)
        self.assertEqual((after["session"], after["interface"], after["listenPort"], after["mtu"]),
                         (before["session"], self.name, before["listenPort"], 1380))
        # The counters begin anew, and say so.
        self.assertGreater(after["counters"]["since"], before["counters"]["since"])
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        self.assertEqual(ping(self.a, "fd20::2"), 3)
        self.assertEqual(run("wg", "show", self.name, "allowed-ips").stdout, peers)
        told = self.watch.log_path.read_text()
        self.assertIn("reasserting", told)
        self.assertIn(f"The interface {self.name} was deleted from outside.", told)
        # And it still goes with the tunnel.
        self.daemon.ctl("down", "home")
        self.assertEqual(self.a.snapshot(), self.before)

    def test_a_full_tunnel_too_and_nothing_leaks_meanwhile(self):
        self.up("0.0.0.0/0, ::/0")
        network = self.network()
        self.assertEqual(ping(self.a, "198.51.100.1"), 3)
        self.delete()
        self.assertEqual(self.network(), network)
        self.assertEqual(ping(self.a, "198.51.100.1"), 3)
        self.delete()
        self.assertEqual(self.network(), network)
        self.daemon.ctl("down", "home")
        self.assertEqual(self.a.snapshot(), self.before)

    def test_deleted_while_no_tunneld_runs(self):
        self.up("10.20.0.2/32")
        network = self.network()
        self.daemon.kill()
        # Its provider ends with its device, and so this session does.
        self.a.ip("link", "del", self.name)
        self.daemon.start()
        wait_for("the end or the return", lambda: self.daemon.status("home")["status"] in ("connected", "disconnected"),
                 5 * SLACK)
        self.daemon.ctl("up", "home")
        self.assertEqual(self.network(), network)

    def test_a_new_tunneld_notices_it_as_well(self):
        self.up("10.20.0.2/32")
        network = self.network()
        self.daemon.kill()
        self.daemon.start()
        self.delete()
        self.assertEqual(self.network(), network)
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)

    def test_what_others_take_from_it_is_put_back(self):
        self.up("10.20.0.2/32, fd20::2/128, 10.66.0.0/16", MTU=1380)
        whole = self.daemon.status("home")
        self.assertEqual(whole["addresses"], ["10.20.0.1/24", "fd20::1/64"])
        self.assertCountEqual(whole["routes"], ["10.66.0.0/16", "10.20.0.2/32", "fd20::2/128"])
        self.assertEqual((whole["mtu"], whole["notes"]), (1380, []))
        network = self.network()
        self.a.ip("link", "set", self.name, "mtu", "1300")
        status = self.daemon.status("home")
        self.assertEqual((status["mtu"], status["notes"]),
                         (1300, ["The MTU was 1380, and was changed to 1300 from outside."]))
        self.a.ip("route", "del", "10.66.0.0/16")
        wait_for("the route and the MTU", lambda: self.network() == network, SLACK)
        # By the next tunneld, too.
        self.daemon.kill()
        self.a.ip("addr", "del", "10.20.0.1/24", "dev", self.name)
        self.daemon.start()
        wait_for("the address", lambda: self.network() == network, SLACK)
        status = self.daemon.status("home")
        for key in "addresses", "routes", "mtu", "notes", "lostRoutes":
            self.assertEqual(status[key], whole[key])
        self.daemon.ctl("down", "home")
        self.assertEqual(self.a.snapshot(), self.before)

    def test_what_leads_into_it_by_its_address_is_back_with_that_route(self):
        self.up("10.20.0.2/32, fd20::2/128, 10.66.0.0/16")
        for removal in ("del", "10.20.0.0/24", "dev", self.name), ("flush", "dev", self.name):
            self.a.ip("route", *removal)
            wait_for("the way into the tunnel", lambda: self.daemon.status("home")["lostRoutes"] == []
                     and f"dev {self.name}" in self.a.ip("route", "get", "10.20.0.2").stdout, SLACK)
            self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        self.daemon.ctl("down", "home")
        self.assertEqual(self.a.snapshot(), self.before)

    def test_what_somebody_else_has_put_in_the_place_is_told(self):
        self.up("10.20.0.2/32, 10.66.0.0/16")
        self.a.ip("route", "replace", "10.66.0.0/16", "dev", "eth0", "proto", "static")
        status = self.daemon.wait_status("home", "reasserting", SLACK)
        self.assertIn("The route to 10.66.0.0/16 can't be put back.", status["reason"])
        self.assertIn("interface eth0, made by the administrator (protocol static)", status["reason"])
        self.assertEqual((status["lostRoutes"], status["notes"]),
                         (["10.66.0.0/16"], ["The route to 10.66.0.0/16 was removed from outside."]))
        check = self.daemon.ctl("status", "home", "--check", check=False)
        self.assertEqual((check.returncode, check.stderr),
                         (3, "tunnelctl: home is reasserting.\n"))
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        self.a.ip("route", "del", "10.66.0.0/16")
        status = self.daemon.wait_status("home", "connected", 12 * SLACK)
        self.assertEqual(status["lostRoutes"], [])

    def test_live_changes_end_where_a_fresh_start_does(self):
        self.up("10.20.0.2/32, fd20::2/128, 10.66.0.0/16", MTU=1380)
        random, key = Random(7), "provider.configuration."
        choices = {"addresses": ["", "10.20.0.1/24", "10.20.0.9/24, 10.20.0.1/24", "10.30.0.1/32, fd20::1/64"],
                   "mtu": ["1280", "1400"]}
        for _ in range(6):
            for name in random.sample(sorted(choices), 2):
                self.daemon.ctl("set", "home", f"{key}{name}={random.choice(choices[name])}")
                live, status = self.settled()
                self.assertFalse([note for note in status["notes"] if "outside" in note], status["notes"])
            self.daemon.ctl("down", "home")
            self.daemon.ctl("up", "home")
            self.assertEqual(live, self.settled()[0])

    def settled(self):
        """What the newest configuration has come to."""
        generation = self.daemon.json("show", "home")["generation"]
        status = wait_for("the new generation to be in force",
                          lambda: (s := self.daemon.status("home"))["generation"] == generation and s, 5 * SLACK)
        return self.network(), status

    def test_an_interface_that_is_switched_off_is_switched_on_again(self):
        self.up("10.20.0.2/32, fd20::2/128")
        network = self.network()
        self.a.ip("link", "set", self.name, "down")
        wait_for("the addresses and routes", lambda: self.network() == network, SLACK)
        self.daemon.wait_status("home", "connected", 2 * SLACK)
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        self.assertEqual(ping(self.a, "fd20::2"), 3)


if __name__ == "__main__":
    unittest.main()
