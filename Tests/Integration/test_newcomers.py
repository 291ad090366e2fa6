"""What somebody meets who doesn't know tunneld yet: each state is told as what it is, with what to do."""

import os
import re
import signal
import time
import unittest

from lab import SLACK, WG_SOCKETS, Lab, conf, genkey, ping, pubkey, run, wait_for


class Newcomers(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("new")
        self.addCleanup(self.lab.close)

    def test_a_name_that_is_not_resolved_yet_is_told_as_that(self):
        a, b = self.lab.pair()
        b.drop_udp(53)
        a.resolv_conf.write_text("nameserver 10.99.0.2\noptions timeout:3 attempts:3\n")
        daemon = self.lab.tunneld(a)
        daemon.import_text("home", conf(genkey(), ["10.20.0.1/24"], [
            {"PublicKey": pubkey(genkey()), "AllowedIPs": "10.20.0.0/24", "Endpoint": "vpn.example.org:51820"}]))
        result = daemon.ctl("up", "home", "--timeout", "6", check=False)
        self.assertEqual(result.returncode, 3)
        told = result.stdout + result.stderr
        self.assertRegex(told, r"The name in vpn\.example\.org:51820 (isn't resolved yet|doesn't resolve)")
        self.assertNotIn("public key", told)
        self.assertNotIn("Waiting for an answer", told)
        status = daemon.status("home")
        self.assertEqual(status["failure"]["kind"], "name")
        self.assertEqual([peer["state"] for peer in status["peers"]], ["handshaking"])

    def test_the_doctor_looks_at_the_default_route(self):
        a, _ = self.lab.pair()
        daemon = self.lab.tunneld(a)

        def path_mtu():
            findings = daemon.json("doctor", check=False)["findings"]
            return next(finding for finding in findings if finding["check"] == "path-mtu")

        self.assertEqual(path_mtu()["level"], "warning")
        self.assertIn("the default route was looked at: there is none.", path_mtu()["message"])
        # What stands for the internet elsewhere may well be this machine's own.
        a.ip("addr", "add", "192.0.2.1/32", "dev", "lo")
        self.assertIn("there is none.", path_mtu()["message"])
        a.ip("link", "set", "eth0", "mtu", "1400")
        a.ip("route", "add", "default", "via", "10.99.0.2")
        self.assertEqual(path_mtu()["level"], "ok")
        self.assertIn("it goes by eth0, which carries 1400 bytes, 1340 in a tunnel.", path_mtu()["message"])

    def test_a_configuration_without_peers_says_how_to_add_one(self):
        a, _ = self.lab.pair()
        daemon = self.lab.tunneld(a)
        daemon.import_text("gate way", conf(genkey(), ["10.20.0.1/24"], []))
        hint = "It has no peers yet, so nobody can connect and nothing is sent. `tunnelctl edit 'gate way' --conf` adds one"
        result = daemon.ctl("up", "gate way")
        self.assertIn(hint, result.stdout)
        status = daemon.status("gate way")
        self.assertEqual(status["status"], "connected")
        self.assertTrue(any(hint in note for note in status["notes"]), status["notes"])
        run("wg", "set", status["interface"], "peer", pubkey(genkey()), "allowed-ips", "10.20.0.2/32")
        self.assertFalse(any(hint in note for note in daemon.status("gate way")["notes"]))

    def test_a_server_address_that_nobody_calls_is_told(self):
        a, _ = self.lab.pair()
        daemon = self.lab.tunneld(a)
        daemon.import_text("home", conf(genkey(), ["10.20.0.1/24"], [
            {"PublicKey": pubkey(genkey()), "AllowedIPs": "10.20.0.0/24", "Endpoint": "10.99.0.2:51820"}]))
        told = daemon.ctl("set", "home", "serverAddress=10.99.0.9").stdout
        self.assertIn("serverAddress is only shown: WireGuard calls the endpoints of its peers", told)
        command = re.search(r"`tunnelctl set home '(provider\.[^']+)'`", told).group(1)
        self.assertNotIn("warning", daemon.ctl("set", "home", command).stdout)
        self.assertIn("10.99.0.9:51820", daemon.ctl("show", "home").stdout)

    def test_an_interface_that_is_renamed_is_gone_on_with(self):
        a, _, daemon, _, peer = self.lab.home()
        before_up = a.snapshot()
        daemon.ctl("up", "home")
        before = daemon.status("home")
        network = [a.ip("-o", "addr", "show", "dev", before["interface"]).stdout, a.ip("route").stdout]
        name = f"tr{os.getpid() % 100000}"
        a.ip("link", "set", before["interface"], "down")
        a.ip("link", "set", before["interface"], "name", name)
        a.ip("link", "set", name, "up")
        note = f"The interface {before['interface']} was renamed to {name} from outside."
        after = wait_for("the new name", lambda: note in (s := daemon.status("home"))["notes"] and s, 2 * SLACK)
        self.assertEqual((after["interface"], after["session"], after["providerProcess"]),
                         (name, before["session"], before["providerProcess"]))
        daemon.wait_status("home", "connected", 2 * SLACK)
        wait_for("addresses and routes", lambda: [text.replace(name, before["interface"]) for text in (
            a.ip("-o", "addr", "show", "dev", name).stdout, a.ip("route").stdout)] == network, 2 * SLACK)
        self.assertEqual(ping(a, "10.20.0.2"), 3)
        self.assertIn(pubkey(self.private_of(name)), run("wg", "show", name, "public-key").stdout)
        self.assertFalse((WG_SOCKETS / f"{before['interface']}.sock").exists())
        # The next tunneld knows the new name, and one that comes while none runs is found as well.
        daemon.kill()
        other = name + "b"
        a.ip("link", "set", name, "down")
        a.ip("link", "set", name, "name", other)
        a.ip("link", "set", other, "up")
        daemon.start()
        wait_for("the other name", lambda: daemon.status("home")["interface"] == other, 2 * SLACK)
        daemon.wait_status("home", "connected", 2 * SLACK)
        wait_for("the ping", lambda: ping(a, "10.20.0.2") == 3, 2 * SLACK)
        wait_for("the socket of that name", (WG_SOCKETS / f"{other}.sock").exists, 2 * SLACK)
        self.assertFalse((WG_SOCKETS / f"{name}.sock").exists())
        daemon.ctl("down", "home")
        self.assertEqual(a.snapshot(), before_up)
        self.assertFalse((WG_SOCKETS / f"{other}.sock").exists())

    def private_of(self, interface):
        return run("wg", "show", interface, "private-key").stdout.strip()

    def test_wg_set_of_a_mark_that_stays_as_it_is_is_refused_clearly(self):
        _, _, daemon, _, _ = self.lab.home()
        daemon.ctl("up", "home")
        name = daemon.status("home")["interface"]
        mark = run("wg", "show", name, "fwmark").stdout.strip()
        self.assertRegex(mark, "^0x")
        for wanted in ("0", "7"):
            result = run("wg", "set", name, "fwmark", wanted, check=False)
            self.assertNotEqual(result.returncode, 0, wanted)
            self.assertIn("Operation not supported", result.stderr)
        run("wg", "set", name, "fwmark", mark)
        # A file that doesn't speak of the mark leaves it alone.
        path = self.lab.folder / "set.conf"
        path.write_text(run("wg", "showconf", name).stdout)
        text = "\n".join(line for line in path.read_text().splitlines() if not line.startswith("FwMark"))
        path.write_text(text + "\n")
        run("wg", "syncconf", name, path)
        run("wg", "setconf", name, path)
        self.assertEqual(run("wg", "show", name, "fwmark").stdout.strip(), mark)
        path.unlink()

    def test_a_provider_that_is_stopped_is_told_soon(self):
        _, _, daemon, _, _ = self.lab.home()
        daemon.ctl("up", "home")
        process = daemon.status("home")["providerProcess"]
        os.kill(process, signal.SIGSTOP)
        try:
            began = time.monotonic()
            status = daemon.status("home")
            self.assertLess(time.monotonic() - began, 2 * SLACK)
            self.assertEqual(status["status"], "reasserting")
            self.assertIn("doesn't answer", status["reason"])
        finally:
            try:
                os.kill(process, signal.SIGCONT)
            except ProcessLookupError:
                pass  # It was replaced already.
        daemon.wait_status("home", "connected", 4 * SLACK)

    def test_a_tunneld_that_finds_its_provider_hanging_starts_soon_all_the_same(self):
        _, _, daemon, _, _ = self.lab.home()
        daemon.ctl("up", "home")
        process = daemon.status("home")["providerProcess"]
        daemon.kill()
        os.kill(process, signal.SIGSTOP)
        began = time.monotonic()
        daemon.start()
        wait_for("an answer", lambda: daemon.ctl("status", "home", check=False).returncode == 0, 4 * SLACK)
        self.assertLess(time.monotonic() - began, 4 * SLACK)
        self.assertNotEqual(daemon.wait_status("home", "connected", 2 * SLACK)["providerProcess"], process)

    def test_what_cannot_be_a_configuration_is_one_error(self):
        a, _ = self.lab.pair()
        daemon = self.lab.tunneld(a)
        path = self.lab.folder / "noise.conf"
        path.write_bytes(os.urandom(100_000))
        result = daemon.ctl("import", path, check=False)
        self.assertEqual((result.returncode, len(result.stderr.splitlines())), (1, 2), result.stderr)
        self.assertIn("the file isn't text", result.stderr)
        result = daemon.ctl("import", "", check=False)
        self.assertEqual(result.returncode, 2)
        self.assertIn("FILE|FOLDER is empty.", result.stderr)

    def test_a_key_in_a_hook_is_warned_of_and_not_shown(self):
        a, _ = self.lab.pair()
        daemon = self.lab.tunneld(a)
        secret = genkey()
        hook = f"wg set %i private-key <(echo {secret})"
        told = daemon.import_text("home", conf(genkey(), ["10.20.0.1/24"], [], PostUp=hook)).stdout
        self.assertIn("holds what looks like a key, which isn't moved to the keychain", told)
        for command in (["show", "home"], ["show", "home", "--json"], ["export", "home"], ["export", "home", "--json"]):
            result = daemon.ctl(*command)
            self.assertNotIn(secret, told + result.stdout + result.stderr, command)
        self.assertIn(hook, daemon.ctl("export", "home", "--with-secrets").stdout)


if __name__ == "__main__":
    unittest.main()
