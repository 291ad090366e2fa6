"""With the kernel's own WireGuard as the peer. Runs inside the virtual machine (Tests/VirtualMachine/run)."""

import itertools
import subprocess
import time
import unittest

from lab import Lab, conf, genkey, genpsk, ping, pubkey, run, wait_for

for module in ("wireguard", "tun", "veth", "nf_tables"):
    run("modprobe", module)

# Software emulation is slow: waits that a person would find long are fine here.
PATIENCE = 60


class KernelWireGuard:
    """A device of the kernel's WireGuard in a namespace."""

    serial = itertools.count()

    def __init__(self, lab, namespace, port=51820, private=None):
        self.lab, self.namespace, self.port = lab, namespace, port
        self.name = f"wgk{next(self.serial)}"
        self.private = private or genkey()
        self.public = pubkey(self.private)
        namespace.ip("link", "add", self.name, "type", "wireguard")
        key = lab.folder / "kernel.key"
        key.write_text(self.private)
        self.set("listen-port", port, "private-key", key)
        key.unlink()
        namespace.ip("link", "set", self.name, "mtu", 1420, "up")

    def set(self, *arguments):
        self.namespace.exec("wg", "set", self.name, *arguments)

    def peer(self, public, allowed, endpoint=None, psk=None):
        extra = []
        path = self.lab.folder / "kernel.psk"
        if psk:
            path.write_text(psk)
            extra += ["preshared-key", path]
        if endpoint:
            extra += ["endpoint", endpoint]
        self.set("peer", public, *extra, "allowed-ips", allowed)
        path.unlink(missing_ok=True)

    def address(self, *addresses):
        for address in addresses:
            self.namespace.ip("addr", "add", address, "dev", self.name, *(["nodad"] if ":" in address else []))


class Joined:
    """A test case with tunneld on the one side and the kernel on the other."""

    def setUp(self):
        self.lab = Lab("kern")
        self.addCleanup(self.lab.close)
        self.a, self.b = self.lab.pair()
        self.daemon = self.lab.tunneld(self.a)
        self.private = genkey()

    def join(self, outer, psk=None, initiate=True):
        peer = KernelWireGuard(self.lab, self.b)
        here, there = ("10.99.0.1", "10.99.0.2") if outer == 4 else ("[fd99::1]", "[fd99::2]")
        peer.peer(pubkey(self.private), "10.20.0.1/32,fd20::1/128",
                  endpoint=None if initiate else f"{here}:51821", psk=psk)
        peer.address("10.20.0.2/24", "fd20::2/64")
        section = {"PublicKey": peer.public, "AllowedIPs": "10.20.0.2/32, fd20::2/128"}
        if initiate:
            section["Endpoint"] = f"{there}:51820"
        if psk:
            section["PresharedKey"] = psk
        self.daemon.import_text("home", conf(self.private, ["10.20.0.1/24", "fd20::1/64"], [section], port=51821))
        self.daemon.ctl("up", "home", "--timeout", str(PATIENCE), timeout=2 * PATIENCE)
        return peer


class WithTheKernel(Joined, unittest.TestCase):
    def both_families(self):
        for address in ("10.20.0.2", "fd20::2"):
            self.assertEqual(ping(self.a, address, count=5, wait=10), 5)
        for address in ("10.20.0.1", "fd20::1"):
            self.assertEqual(ping(self.b, address, count=5, wait=10), 5)

    def test_initiator_over_ipv4_with_preshared_key(self):
        self.join(4, psk=genpsk())
        self.assertEqual(self.daemon.status("home")["status"], "connected")
        self.both_families()

    def test_initiator_over_ipv6(self):
        self.join(6)
        self.both_families()

    def test_responder_over_ipv4_with_preshared_key(self):
        self.join(4, psk=genpsk(), initiate=False)
        self.assertGreater(ping(self.b, "10.20.0.1", count=5, wait=10), 0)
        self.both_families()

    def test_traffic_both_ways_and_the_kernels_counters_agree(self):
        peer = self.join(4)
        server = self.b.popen("iperf3", "-s")
        wait_for("iperf3", lambda: ":5201" in self.b.exec("ss", "-ltn").stdout, PATIENCE)
        for options in ([], ["-R"], ["-6"]):
            address = "fd20::2" if "-6" in options else "10.20.0.2"
            self.a.exec("iperf3", "-c", address, "-n", "5M", *options, timeout=240)
        server.kill()
        received, sent = map(int, self.b.exec("wg", "show", peer.name, "transfer").stdout.split()[1:3])
        status = self.daemon.status("home")["peers"][0]
        # Outer payload, handshakes and keepalives included: both count the same bytes.
        self.assertLess(abs(status["sentBytes"] - received), 0.02 * received)
        self.assertLess(abs(status["receivedBytes"] - sent), 0.02 * sent)

    def test_a_rekey_loses_no_ping(self):
        self.join(4)
        pinger = self.a.popen("ping", "-n", "-i", "1", "-W", "10", "-c", "150", "10.20.0.2", log="ping")
        first = self.daemon.status("home")["peers"][0]["latestHandshake"]
        pinger.wait(timeout=300)
        self.assertIn("150 received", pinger.log_path.read_text())
        self.assertNotEqual(self.daemon.status("home")["peers"][0]["latestHandshake"], first)

    def test_down_takes_everything_back(self):
        before = self.a.snapshot()
        self.join(4)
        self.daemon.ctl("down", "home")
        self.assertEqual(self.a.snapshot(), before)


if __name__ == "__main__":
    unittest.main()
