"""What `wg set` changes is for the session: another provider goes on with it, another session doesn't."""

import base64
import json
import os
import signal
import unittest

from lab import SLACK, Lab, genkey, genpsk, ping, pubkey, run, wait_for
from test_survival import NumberedDatagrams


class SessionChanges(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("chg")
        self.addCleanup(self.lab.close)
        self.a, self.b, self.daemon, self.private, self.peer = self.lab.home()
        self.daemon.ctl("up", "home")
        self.name = self.daemon.status("home")["interface"]

    def set(self, *arguments):
        run("wg", "set", self.name, *arguments)

    def dump(self):
        """Each peer's keys, endpoint, allowed IPs and keepalive, and the device's own line."""
        lines = [line.split("\t") for line in run("wg", "show", self.name, "dump").stdout.splitlines()]
        return [lines[0]] + sorted([peer[0], peer[1], peer[2], sorted(peer[3].split(",")), peer[7]] for peer in lines[1:])

    def replace_provider(self, name="home"):
        before = self.daemon.status(name)["providerProcess"]
        os.kill(before, signal.SIGKILL)
        wait_for("another provider", lambda: (s := self.daemon.status(name))["status"] == "connected"
                 and s["providerProcess"] != before, 2 * SLACK)

    def change_everything(self):
        """Another key pair, port and pre-shared key on both sides, other allowed IPs, a peer more."""
        private, psk, other = genkey(), genpsk(), pubkey(genkey())
        self.peer.remove_peer(pubkey(self.private))
        self.peer.peer(pubkey(private), "10.20.0.1/32", psk=psk)
        for secret, arguments in ((private, ["private-key"]), (psk, ["peer", self.peer.public, "preshared-key"])):
            path = self.peer.secret_file(secret)
            self.set(*arguments, path)
            path.unlink()
        self.set("listen-port", "51777", "peer", self.peer.public, "persistent-keepalive", "7",
                 "allowed-ips", "10.20.0.2/32,10.77.0.0/16")
        self.set("peer", other, "endpoint", "10.99.0.77:1234", "allowed-ips", "fd20::7/128")
        self.set("peer", self.peer.public, "endpoint", "10.99.0.2:51820")
        self.daemon.wait_status("home", "connected", 10 * SLACK)
        return private, psk

    def test_another_provider_goes_on_with_what_wg_set_changed(self):
        private, psk = self.change_everything()
        before = self.dump()
        self.assertEqual(before[0][:3], [private, pubkey(private), "51777"])
        self.replace_provider()
        self.assertEqual(self.dump(), before)
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        # And the one after it.
        self.replace_provider()
        self.assertEqual(self.dump(), before)

    def test_a_removed_peer_does_not_come_back(self):
        other = pubkey(genkey())
        self.set("peer", other, "endpoint", "10.99.0.2:51820", "allowed-ips", "10.20.0.9/32")
        self.set("peer", self.peer.public, "remove")
        self.set("peer", self.peer.public, "allowed-ips", "10.20.0.2/32")
        before = self.dump()
        process = self.daemon.status("home")["providerProcess"]
        os.kill(process, signal.SIGKILL)
        wait_for("another provider", lambda: self.daemon.status("home")["providerProcess"] not in (process, None), 2 * SLACK)
        wait_for("its peers", lambda: self.dump() == before, 2 * SLACK)

    def test_a_new_tunneld_hands_them_on_too(self):
        self.change_everything()
        before = self.dump()
        self.daemon.kill()
        self.daemon.start()
        self.replace_provider()
        self.assertEqual(self.dump(), before)

    def replace_both(self):
        process = self.daemon.status("home")["providerProcess"]
        # Neither sees the other's end.
        os.kill(process, signal.SIGSTOP)
        self.daemon.kill()
        os.kill(process, signal.SIGKILL)
        self.daemon.start()
        wait_for("another provider", lambda: (s := self.daemon.status("home"))["status"] == "connected"
                 and s["providerProcess"] != process, 2 * SLACK)

    def test_they_outlive_provider_and_tunneld_together(self):
        private, psk = self.change_everything()
        before = self.dump()
        session = self.daemon.status("home")["session"]
        for _ in range(2):
            self.replace_both()
            self.assertEqual(self.dump(), before)
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        # The keys lie sealed beside the journal, and only as long as the session.
        kept = list(self.daemon.runtime.glob("journal/*.changes"))
        self.assertEqual([oct(path.stat().st_mode & 0o777) for path in kept], ["0o600"])
        for secret in (private, psk):
            for form in (base64.b64decode(secret), secret.encode(), base64.b64decode(secret).hex().encode()):
                self.assertNotIn(form, kept[0].read_bytes())
        self.assertEqual(self.daemon.status("home")["session"], session)
        self.daemon.ctl("down", "home")
        self.assertEqual(os.listdir(self.daemon.runtime / "journal"), [])
        # Its peer knows another key by now.
        self.daemon.ctl("up", "home", "--timeout", "1", check=False)
        self.assertEqual(self.dump()[0][0], self.private)

    def test_what_cannot_be_had_again_is_told(self):
        self.change_everything()
        [kept] = self.daemon.runtime.glob("journal/*.changes")
        content = bytearray(kept.read_bytes())
        content[-1] ^= 1
        kept.write_bytes(content)
        process = self.daemon.status("home")["providerProcess"]
        os.kill(process, signal.SIGSTOP)
        self.daemon.kill()
        os.kill(process, signal.SIGKILL)
        self.daemon.start()
        status = wait_for("another provider", lambda: (s := self.daemon.status("home"))["providerProcess"]
                          not in (None, process) and s["interface"] and s, 2 * SLACK)
        # Nobody can ask the device while it is being made anew.
        wait_for("the device", lambda: run("wg", "show", self.name, "private-key", check=False).stdout.strip()
                 == self.private, 2 * SLACK)
        self.assertIn("What was changed with wg is lost; the configuration is in force.",
                      self.daemon.status("home")["notes"], status)

    def test_what_is_stored_and_written_knows_nothing_of_them(self):
        private, psk = self.change_everything()
        for folder in (self.daemon.state, self.daemon.runtime):
            for path in folder.rglob("*"):
                if path.is_file():
                    content = path.read_bytes()
                    for secret in (private, psk):
                        self.assertNotIn(secret.encode(), content, path)
        self.daemon.ctl("down", "home")
        # The peer knows the other key now, so it never answers.
        self.daemon.popen("up", "home", log="up")
        self.daemon.wait_status("home", "connecting", 10 * SLACK)
        wait_for("the provider", lambda: self.daemon.status("home")["publicKey"], 10 * SLACK)
        self.name = self.daemon.status("home")["interface"]
        dump = self.dump()
        self.assertEqual(dump[0][:2], [self.private, pubkey(self.private)])
        self.assertNotEqual(dump[0][2], "51777")
        self.assertEqual([[peer[0], peer[1], peer[3], peer[4]] for peer in dump[1:]],
                         [[self.peer.public, "(none)", ["10.20.0.2/32"], "off"]])

    def test_routes_stay_as_the_configuration_has_them(self):
        before = self.a.ip_json("route")
        self.set("peer", self.peer.public, "allowed-ips", "10.20.0.2/32,10.77.0.0/16")
        self.assertEqual(self.a.ip_json("route"), before)
        self.replace_provider()
        self.assertEqual(self.a.ip_json("route"), before)

    def test_a_configuration_saved_meanwhile_and_the_changes_both_hold(self):
        other = pubkey(genkey())
        self.set("peer", other, "allowed-ips", "10.20.0.9/32")
        self.daemon.ctl("rename", "home", "house")
        self.replace_provider("house")
        self.assertIn(other, run("wg", "show", self.name, "peers").stdout)

    def test_a_change_that_cannot_be_applied_leaves_what_runs_and_is_told(self):
        before = self.daemon.status("home")
        self.a.exec("ip", "route", "add", "10.55.0.0/16", "via", "10.99.0.2")
        saved = self.daemon.ctl("set", "home", "provider.configuration.peers[0].allowedIPs=10.20.0.3/32,10.55.0.0/16")
        self.assertIn("is stored and not in force", saved.stdout)
        self.assertIn("Cannot add the route 10.55.0.0/16", saved.stdout)
        after = self.daemon.status("home")
        self.assertTrue(after["newerConfigurationWaiting"])
        for key in "generation", "routes", "addresses":
            self.assertEqual(after[key], before[key])
        self.assertEqual(after["peers"][0]["allowedIPs"], before["peers"][0]["allowedIPs"])
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        # Once it can be had, it is taken, and the note goes.
        self.a.exec("ip", "route", "del", "10.55.0.0/16")
        saved = self.daemon.ctl("set", "home", "provider.configuration.peers[0].allowedIPs=10.20.0.2/32,10.55.0.0/16")
        self.assertNotIn("not in force", saved.stdout)
        after = wait_for("the change to be in force", lambda: (
            lambda status: not status["newerConfigurationWaiting"] and status)(self.daemon.status("home")), 10)
        self.assertIn("10.55.0.0/16", after["routes"])
        self.assertFalse([note for note in after["notes"] if "in force" in note])

    def test_a_peer_that_comes_and_goes_costs_the_others_nothing(self):
        """C146: adding, changing and removing one peer leaves the others' keys, endpoints and counters."""
        peers = json.loads(self.daemon.ctl("show", "home", "--json").stdout)["provider"]["configuration"]["peers"]
        before = self.daemon.status("home")["peers"][0]
        other = {"publicKey": pubkey(genkey()), "allowedIPs": ["10.20.0.77/32"], "endpoint": "10.99.0.77:1234"}
        changed = dict(other, allowedIPs=["10.20.0.78/32", "10.78.0.0/16"], persistentKeepalive=25)
        with NumberedDatagrams([(self.a, "10.20.0.1"), (self.b, "10.20.0.2")]) as traffic:
            for _ in range(3):
                for wanted in (peers + [other], peers + [changed], peers):
                    saved = self.daemon.ctl("set", "home", f"provider.configuration.peers={json.dumps(wanted)}")
                    generation = int(saved.stdout.split("generation ")[1].split()[0])
                    wait_for("the change to be in force", lambda: self.daemon.status("home")["generation"] == generation,
                             10)
                    routes = self.daemon.status("home")["routes"]
                    self.assertEqual("10.78.0.0/16" in routes, wanted[-1] is changed)
        traffic.check(self)
        after = self.daemon.status("home")["peers"][0]
        for key in "publicKey", "endpoint", "latestHandshake":
            self.assertEqual(after[key], before[key], key)
        self.assertGreater(after["receivedBytes"], before["receivedBytes"] + 100_000)


if __name__ == "__main__":
    unittest.main()
