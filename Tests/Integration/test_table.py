"""`Table`: where the tunnel's routes go."""

import unittest
from pathlib import Path

from lab import Lab, WireGuardGo, conf, genkey, ping, pubkey

TABLES = Path("/etc/iproute2/rt_tables.d")


class Table(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("tab")
        self.addCleanup(self.lab.close)
        self.a, self.b = self.lab.pair()
        self.daemon = self.lab.tunneld(self.a)
        self.private = genkey()
        self.peer = WireGuardGo(self.lab, self.b)
        self.peer.peer(pubkey(self.private), "10.20.0.1/32,fd20::1/128")
        self.peer.address("10.20.0.2/24", "fd20::2/64", "10.66.0.1/32", "fd66::1/128")
        self.before = self.a.snapshot()

    def up(self, table, allowed="10.66.0.0/16, fd66::/64"):
        options = {} if table is None else {"Table": table}
        self.daemon.import_text("home", conf(self.private, ["10.20.0.1/24", "fd20::1/64"], [
            {"PublicKey": self.peer.public, "AllowedIPs": f"10.20.0.2/32, fd20::2/128, {allowed}",
             "Endpoint": "10.99.0.2:51820"}], **options))
        self.daemon.ctl("up", "home")
        self.name = self.daemon.status("home")["interface"]

    def routes(self, table):
        """The destinations of a table's routes into the tunnel."""
        found = []
        for family in ("-4", "-6"):
            result = self.a.ip(family, "route", "show", "table", table, "dev", self.name, check=False)
            found += [line.split()[0] for line in result.stdout.splitlines()
                      if "proto kernel" not in line]
        return sorted(found)

    def rules(self):
        return self.a.ip("rule").stdout + self.a.ip("-6", "rule").stdout

    def down(self):
        self.daemon.ctl("down", "home")
        self.assertEqual(self.a.snapshot(), self.before)

    def reaches_by(self, table):
        """The far networks are reached once somebody's rule leads there."""
        self.assertEqual(ping(self.a, "10.66.0.1", count=1, wait=1), 0)
        for family in ("-4", "-6"):
            self.a.ip(family, "rule", "add", "priority", "900", "lookup", table)
        self.assertEqual(ping(self.a, "10.66.0.1"), 3)
        self.assertEqual(ping(self.a, "fd66::1"), 3)
        for family in ("-4", "-6"):
            self.a.ip(family, "rule", "del", "priority", "900")

    def test_auto_is_the_main_table(self):
        for table in (None, "auto"):
            self.up(table)
            self.assertEqual(self.routes("main"), ["10.66.0.0/16", "fd66::/64"])
            self.assertEqual(ping(self.a, "10.66.0.1"), 3)
            self.assertEqual(ping(self.a, "fd66::1"), 3)
            self.down()
            self.daemon.ctl("remove", "home", "--yes", check=False)
            self.daemon.ctl("remove", "home", check=False)

    def test_off_sets_no_routes_at_all(self):
        rules = self.rules()
        self.up("off", allowed="10.66.0.0/16, fd66::/64, 0.0.0.0/0, ::/0")
        self.assertEqual(self.routes("all"), self.routes("local"))
        self.assertEqual(self.rules(), rules)
        # The network of the address is the kernel's own doing.
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        self.assertEqual(self.daemon.status("home")["routes"], [])
        self.down()

    def test_a_number_gets_all_routes_and_no_rules(self):
        rules = self.rules()
        self.up("4242")
        everything = ["10.20.0.2", "10.66.0.0/16", "fd20::2", "fd66::/64"]
        self.assertEqual(self.routes("4242"), everything)
        self.assertEqual(self.routes("main"), [])
        self.assertEqual(self.rules(), rules)
        self.reaches_by("4242")
        self.down()
        self.assertEqual(self.a.ip("route", "show", "table", "4242", check=False).stdout, "")

    def test_a_default_route_in_a_numbered_table_needs_no_rules_either(self):
        rules = self.rules()
        self.up("4243", allowed="0.0.0.0/0, ::/0")
        self.assertIn("default", self.routes("4243"))
        self.assertEqual(self.rules(), rules)
        self.assertEqual(self.a.ip("route", "show", "default").stdout, "")
        self.down()

    def test_a_name_is_that_of_the_machines_tables(self):
        TABLES.mkdir(parents=True, exist_ok=True)
        names = TABLES / f"{self.lab.prefix}names.conf"
        self.lab.cleanups.append(lambda: names.unlink(missing_ok=True))
        names.write_text(f"4244 {self.lab.prefix}vpn\n")
        self.up(f"{self.lab.prefix}vpn")
        self.assertEqual(self.routes("4244"), ["10.20.0.2", "10.66.0.0/16", "fd20::2", "fd66::/64"])
        self.reaches_by("4244")
        self.down()

    def test_a_name_that_the_machine_does_not_know_is_told(self):
        self.daemon.import_text("home", conf(self.private, ["10.20.0.1/24"], [
            {"PublicKey": self.peer.public, "AllowedIPs": "10.66.0.0/16", "Endpoint": "10.99.0.2:51820"}],
            Table="nowhere"))
        result = self.daemon.ctl("up", "home", check=False)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("nowhere", result.stderr + result.stdout)
        self.assertEqual(self.a.snapshot(), self.before)


if __name__ == "__main__":
    unittest.main()
