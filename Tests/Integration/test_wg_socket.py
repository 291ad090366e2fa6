"""The standard `wg` tool works on our tunnels."""

import os
import socket
import subprocess
import unittest

from lab import Lab, WireGuardGo, conf, genkey, genpsk, ping, pubkey, run, wait_for


class WgTool(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("wg")
        self.addCleanup(self.lab.close)
        self.a, self.b = self.lab.pair()
        self.daemon = self.lab.tunneld(self.a)
        self.private = genkey()
        self.peer = WireGuardGo(self.lab, self.b)
        self.peer.peer(pubkey(self.private), "10.20.0.1/32")
        self.peer.address("10.20.0.2/24", "10.21.0.2/24")
        self.daemon.import_text("home", conf(self.private, ["10.20.0.1/24"], [
            {"PublicKey": self.peer.public, "AllowedIPs": "10.20.0.2/32", "Endpoint": "10.99.0.2:51820"}], port=51821))
        self.daemon.ctl("up", "home")
        self.name = self.daemon.status("home")["interface"]

    def show(self, what):
        return run("wg", "show", self.name, what).stdout.strip()

    def test_show_reads_the_truth(self):
        self.assertEqual(self.show("public-key"), pubkey(self.private))
        self.assertEqual(self.show("private-key"), self.private)
        self.assertEqual(self.show("listen-port"), "51821")
        self.assertEqual(self.show("peers"), self.peer.public)
        self.assertEqual(self.show("endpoints"), f"{self.peer.public}\t10.99.0.2:51820")
        self.assertEqual(self.show("allowed-ips"), f"{self.peer.public}\t10.20.0.2/32")
        self.assertGreater(int(self.show("latest-handshakes").split()[1]), 1_600_000_000)
        before = int(self.show("transfer").split()[2])
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        self.assertGreaterEqual(int(self.show("transfer").split()[2]) - before, 3 * 128)
        self.assertIn("interface: " + self.name, run("wg", "show", self.name).stdout)

    def test_the_socket_is_roots_alone_and_gone_after_down(self):
        path = f"/var/run/wireguard/{self.name}.sock"
        self.assertEqual(os.stat(path).st_uid, 0)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        result = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", "wg", "show", self.name, "private-key"],
                                capture_output=True, text=True)
        self.assertNotIn(self.private, result.stdout)
        self.daemon.ctl("down", "home")
        self.assertFalse(os.path.exists(path))

    def test_the_keys_are_told_to_root_alone_whoever_may_connect(self):
        psk = self.peer.secret_file(genpsk())
        run("wg", "set", self.name, "peer", self.peer.public, "preshared-key", psk)
        psk.unlink()
        path = f"/var/run/wireguard/{self.name}.sock"
        os.chmod(path, 0o666)

        def get(user):
            """The answer to `get=1`, as a user without capabilities."""
            program = ("import socket, sys; s = socket.socket(socket.AF_UNIX); s.settimeout(10)\n"
                       "try:\n    s.connect(sys.argv[1]); s.sendall(b'get=1\\n\\n'); text = ''\n"
                       "    while not text.endswith('\\n\\n') and (part := s.recv(65536)): text += part.decode()\n"
                       "    print(text)\nexcept OSError as error: print(repr(error))")
            return subprocess.run(
                ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "/usr/bin/python3", "-c", program,
                 path], capture_output=True, text=True, timeout=30).stdout

        root, nobody = get(0), get(65534)
        for line in ("private_key=", "preshared_key="):
            self.assertIn("\n" + line, "\n" + root)
            self.assertNotIn(line, nobody)
        # It is refused or answered without them, and not lost on the way.
        self.assertTrue("public_key=" in nobody or "errno=" in nobody or "Error" in nobody, nobody)
        print("another user gets: " + nobody.strip().splitlines()[0])
        os.chmod(path, 0o600)

    def test_set_changes_peers_at_run_time(self):
        other = pubkey(genkey())
        run("wg", "set", self.name, "peer", other, "allowed-ips", "10.20.0.7/32,fd20::7/128", "persistent-keepalive", 25)
        self.assertIn(f"{other}\t10.20.0.7/32 fd20::7/128", self.show("allowed-ips"))
        self.assertIn(f"{other}\t25", self.show("persistent-keepalive"))
        run("wg", "set", self.name, "peer", other, "remove")
        self.assertNotIn(other, self.show("peers"))
        # A change by `wg set` is for the session: the configuration doesn't know of it.
        self.assertNotIn(other, self.daemon.ctl("export", "home").stdout)

    def test_an_allowed_ip_moves_to_the_peer_that_got_it_last(self):
        other = pubkey(genkey())
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        run("wg", "set", self.name, "peer", other, "allowed-ips", "10.20.0.2/32")
        self.assertIn(f"{self.peer.public}\t(none)", self.show("allowed-ips"))
        self.assertEqual(ping(self.a, "10.20.0.2", count=1, wait=1), 0)
        run("wg", "set", self.name, "peer", self.peer.public, "allowed-ips", "10.20.0.2/32")
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)

    def test_the_preshared_key_and_the_port_change_live(self):
        psk = genpsk()
        path = self.peer.secret_file(psk)
        self.peer.set("peer", pubkey(self.private), "preshared-key", path)
        run("wg", "set", self.name, "peer", self.peer.public, "preshared-key", path)
        path.unlink()
        run("wg", "set", self.name, "listen-port", "51999")
        self.assertEqual(self.show("listen-port"), "51999")
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        wait_for("the peer to learn the new port", lambda: "10.99.0.1:51999" in run(
            "wg", "show", self.peer.name, "endpoints").stdout, 10)
        self.assertEqual(self.daemon.status("home")["listenPort"], 51999)

    def test_showconf_and_syncconf_agree(self):
        text = run("wg", "showconf", self.name).stdout
        self.assertIn(f"PublicKey = {self.peer.public}", text)
        path = self.peer.secret_file(text)
        run("wg", "syncconf", self.name, path)
        path.unlink()
        self.assertEqual(run("wg", "showconf", self.name).stdout, text)
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)

    def test_broken_requests_are_answered_with_an_errno_and_change_nothing(self):
        before = run("wg", "showconf", self.name).stdout
        for request in (b"set=1\nprivate_key=zz\n\n", b"set=1\nlisten_port=99999\n\n", b"set=1\npublic_key=00\n\n",
                        b"nonsense\n\n", b"set=1\nendpoint=1.2.3.4:5\n\n", b"set=1\nunknown=1\n\n",
                        b"set=1\npublic_key=" + b"11" * 32 + b"\nallowed_ip=10.0.0.0/99\n\n"):
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(10)
                connection.connect(f"/var/run/wireguard/{self.name}.sock")
                connection.sendall(request)
                answer = connection.recv(4096).decode()
                self.assertRegex(answer, r"errno=-?[1-9]\d*\n", request)
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(30)
            connection.connect(f"/var/run/wireguard/{self.name}.sock")
            try:
                for _ in range(1000):
                    connection.sendall(b"a" * 65536)
            except OSError:
                pass
        self.assertEqual(run("wg", "showconf", self.name).stdout, before)
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)

    def test_a_name_taken_by_a_live_process_is_done_without_and_told(self):
        self.daemon.ctl("down", "home")
        path = f"/var/run/wireguard/{self.name}.sock"
        with socket.socket(socket.AF_UNIX) as squatter:
            squatter.bind(path)
            squatter.listen()
            try:
                self.daemon.ctl("up", "home")
                status = self.daemon.status("home")
                self.assertTrue(status["interface"] != self.name or any("wg" in note for note in status["notes"]), status)
                self.assertEqual(ping(self.a, "10.20.0.2"), 3)
                self.daemon.ctl("down", "home")
                self.assertTrue(os.path.exists(path), "somebody else's socket was removed")
            finally:
                os.unlink(path)


if __name__ == "__main__":
    unittest.main()
