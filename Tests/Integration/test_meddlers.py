"""Others take away what a tunnel has of the machine's network: it comes back, and a fight is told."""

import re
import time
import unittest

from lab import SLACK, Lab, WireGuardGo, conf, genkey, ping, pubkey, wait_for

TABLE = str(0x74756e00)
RULES = "29994", "29995"


class Meddlers(unittest.TestCase):
    ROUNDS = 8

    def setUp(self):
        self.lab = Lab("me")
        self.addCleanup(self.lab.close)
        self.a, self.b = self.lab.pair()
        self.a.ip("route", "add", "default", "via", "10.99.0.2")
        self.a.ip("-6", "route", "add", "default", "via", "fd99::2")
        self.b.ip("addr", "add", "198.51.100.1/32", "dev", "lo")
        self.daemon = self.lab.tunneld(self.a)
        self.before = self.a.snapshot()
        private = genkey()
        self.peer = WireGuardGo(self.lab, self.b)
        self.peer.peer(pubkey(private), "10.20.0.1/32,fd20::1/128")
        self.peer.address("10.20.0.2/24", "fd20::2/64")
        self.daemon.import_text("home", conf(private, ["10.20.0.1/24", "fd20::1/64"], [
            {"PublicKey": self.peer.public, "AllowedIPs": "0.0.0.0/0, ::/0, 10.66.0.0/16, fd66::/64",
             "Endpoint": "10.99.0.2:51820"}]))
        self.daemon.ctl("up", "home")
        self.name = self.daemon.status("home")["interface"]
        self.whole = self.network()

    def network(self):
        lines = [line for line in self.a.snapshot() if "qlen" not in line]
        return sorted(re.sub(r"^\d+: ", "", line) for line in lines)

    def meddle(self, *commands):
        """Carries all of them out at once: what they have in common is one burst."""
        self.a.exec("ip", "-batch", "-", input="".join(f"{command}\n" for command in commands))

    def is_back(self, within):
        begin = time.monotonic()
        wait_for("everything to be back", lambda: self.network() == self.whole, within * SLACK)
        return time.monotonic() - begin

    def lines(self, text):
        return sum(text in line for line in self.daemon.process.log_path.read_text().splitlines())

    def test_what_is_deleted_is_back_each_time(self):
        """C042: singly and all at once; nothing stands there twice, and a burst is one line of the log."""
        rule, route = f"rule del pref {RULES[1]}", "route del 10.66.0.0/16"
        every = [*(f"rule del pref {number}" for number in RULES), route, f"route flush table {TABLE}"]
        for _ in range(self.ROUNDS):
            for burst in ([rule], [route], every):
                self.meddle(*burst)
                self.is_back(0.5)
        bursts = 3 * self.ROUNDS
        wait_for("the log", lambda: 1 <= self.lines("Put back what was removed from outside") <= bursts, SLACK)
        self.assertEqual(self.daemon.status("home")["notes"], [])
        self.assertEqual(ping(self.a, "198.51.100.1"), 3)
        self.daemon.ctl("down", "home")
        self.assertEqual(self.a.snapshot(), self.before)

    def test_ipv6_addresses_and_the_link_itself_are_back(self):
        """C052"""
        for burst in ([f"addr flush dev {self.name}"], [f"link set {self.name} down"], [f"-6 rule del pref {RULES[1]}"],
                      ["-6 route del fd66::/64"], [f"route flush dev {self.name}", f"-6 route flush dev {self.name}"],
                      [f"addr flush dev {self.name}", f"link set {self.name} down"]):
            self.a.exec("ip", "-force", "-batch", "-", input="".join(f"{line}\n" for line in burst), check=False)
            if "flush dev" in burst[0] and "route" in burst[0]:
                # The kernel's own routes to the addresses' networks are ours from now on.
                wait_for("the routes", lambda: self.a.ip("route", "show", "10.20.0.0/24").stdout, SLACK)
                self.assertEqual(ping(self.a, "10.20.0.2"), 3)
                continue
            self.is_back(1)
        self.assertEqual(self.daemon.status("home")["status"], "connected")
        self.assertEqual(ping(self.a, "198.51.100.1"), 3)
        self.assertEqual(ping(self.a, "fd20::2"), 3)
        self.daemon.ctl("down", "home")
        self.assertEqual(self.a.snapshot(), self.before)

    def test_what_was_deleted_while_no_tunneld_ran_is_back_with_the_next(self):
        self.daemon.kill()
        self.meddle(f"rule del pref {RULES[1]}", "route del 10.66.0.0/16", f"addr del 10.20.0.1/24 dev {self.name}")
        self.daemon.start()
        self.is_back(1)

    def test_a_fight_is_told_and_ended_and_after_quiet_all_is_back(self):
        """C052: hostility that goes on ends in a reported error."""
        attacker = self.a.popen(
            "sh", "-c", f"while :; do ip rule del pref {RULES[1]} 2>/dev/null; sleep 0.01; done", log="attacker")
        status = self.daemon.wait_status("home", "reasserting", 60 * SLACK)
        self.assertIn("Somebody takes the tunnel's network settings away again and again", status["reason"])
        self.assertIn(f"the routing rule {RULES[1]}", status["reason"])
        self.assertEqual(status["lostRoutes"], ["0.0.0.0/0"])
        self.assertEqual(self.lines("again and again"), 2)  # The error, and the status that came of it.
        self.assertEqual(self.daemon.ctl("status", "home", "--check", check=False).returncode, 3)
        # It isn't fought on.
        self.assertNotIn(f"{RULES[1]}:", self.a.ip("rule").stdout)
        attacker.kill()
        attacker.wait()
        self.daemon.wait_status("home", "connected", 12 * SLACK)
        self.is_back(1)


if __name__ == "__main__":
    unittest.main()
