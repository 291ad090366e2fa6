"""What a person is told when a peer doesn't answer, by class; and that it connects by itself once mended."""

import time
import unittest

from lab import SLACK, Lab, WireGuardGo, conf, genkey, genpsk, ping, pubkey, run, wait_for

# One back-off gap at its longest (60 s) and a handshake.
MENDED = 70


class Failures(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("fail")
        self.addCleanup(self.lab.close)
        self.a, self.b = self.lab.pair()
        self.daemon = self.lab.tunneld(self.a)
        self.private = genkey()

    def up(self, endpoint, public, psk=None, **more):
        section = {"PublicKey": public, "AllowedIPs": "10.20.0.2/32", "Endpoint": endpoint, **more}
        if psk:
            section["PresharedKey"] = psk
        self.daemon.import_text("home", conf(self.private, ["10.20.0.1/24"], [section]))
        started = time.monotonic()
        result = self.daemon.ctl("up", "home", "--timeout", "4", check=False)
        self.assertEqual(result.returncode, 3, result.stdout + result.stderr)
        self.assertLess(time.monotonic() - started, 5 * SLACK)
        return result

    def failure(self, kind, timeout=5 * SLACK):
        def told():
            status = self.daemon.status("home")
            self.assertEqual(status["status"], "connecting")
            failure = status["failure"]
            return failure and failure["kind"] == kind and failure
        failure = wait_for(f"the failure to be told as {kind}", told, timeout)
        self.assertTrue(failure["message"])
        self.assertTrue(failure["remedy"])
        return failure

    def connects(self):
        self.daemon.wait_status("home", "connected", MENDED)
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)

    def peer(self, psk=None):
        peer = WireGuardGo(self.lab, self.b)
        peer.peer(pubkey(self.private), "10.20.0.1/32", psk=psk)
        peer.address("10.20.0.2/24")
        return peer

    def test_wrong_public_key_is_silence(self):
        peer = self.peer()
        result = self.up("10.99.0.2:51820", pubkey(genkey()))
        self.assertIn("10.99.0.2:51820", result.stdout + result.stderr)
        self.assertIn("key", self.failure("silent")["remedy"])
        # Mended where it can be: the right key is imported over it, and the running tunnel takes it.
        self.daemon.import_text("home", conf(self.private, ["10.20.0.1/24"], [
            {"PublicKey": peer.public, "AllowedIPs": "10.20.0.2/32", "Endpoint": "10.99.0.2:51820"}]), "--replace")
        self.connects()

    def test_key_unknown_to_the_peer_is_silence(self):
        peer = WireGuardGo(self.lab, self.b)
        peer.address("10.20.0.2/24")
        self.up("10.99.0.2:51820", peer.public)
        self.failure("silent")
        peer.peer(pubkey(self.private), "10.20.0.1/32")
        self.connects()

    def test_wrong_preshared_key_is_an_answer_that_does_not_open(self):
        peer = self.peer(psk=genpsk())
        psk = genpsk()
        self.up("10.99.0.2:51820", peer.public, psk=psk)
        self.assertIn("pre-shared key", self.failure("answeredNotAuthentic")["remedy"])
        peer.peer(pubkey(self.private), "10.20.0.1/32", psk=psk)
        self.connects()

    def test_closed_port_is_refused(self):
        key = genkey()
        self.up("10.99.0.2:51820", pubkey(key))
        self.failure("refused")
        peer = WireGuardGo(self.lab, self.b, private=key)
        peer.peer(pubkey(self.private), "10.20.0.1/32")
        peer.address("10.20.0.2/24")
        self.connects()

    def test_filtered_port_is_silence(self):
        peer = self.peer()
        self.b.drop_udp(51820)
        self.up("10.99.0.2:51820", peer.public)
        self.failure("silent")
        self.b.pass_udp()
        self.connects()

    def test_unreachable_endpoint(self):
        peer = self.peer()
        self.b.ip("addr", "add", "10.98.0.2/32", "dev", "lo")
        self.up("10.98.0.2:51820", peer.public)
        self.failure("unreachable")
        started = time.monotonic()
        self.a.ip("route", "add", "10.98.0.0/24", "via", "10.99.0.2")
        self.connects()
        # The network changed, so it tries at once.
        self.assertLess(time.monotonic() - started, 5 * SLACK)

    def test_name_that_does_not_resolve_yet(self):
        import pathlib
        folder = pathlib.Path(f"/etc/netns/{self.a.name}")
        folder.mkdir(parents=True)
        self.lab.cleanups.append(lambda: run("rm", "-r", folder))
        (folder / "resolv.conf").write_text("nameserver 10.99.0.2\n")
        # The folder is bound into the namespace of a program when that program starts.
        self.daemon.terminate()
        self.daemon.start()
        peer = self.peer()
        self.up("gateway.test:51820", peer.public)
        self.assertIn("gateway.test", self.failure("name")["message"])
        self.b.popen("dnsmasq", "-k", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--bind-interfaces",
                     "--listen-address=10.99.0.2", "--except-interface=lo", "--pid-file=",
                     "--address=/gateway.test/10.99.0.2")
        self.connects()


if __name__ == "__main__":
    unittest.main()
