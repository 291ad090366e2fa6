"""Hosts on which something can't be changed, is switched off, or is very much."""

import sys
import threading
import time
import unittest
from pathlib import Path

from lab import SLACK, Lab, WireGuardGo, conf, genkey, ping, pubkey

READ_ONLY = ["unshare", "--mount", "sh", "-c",
             'mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && exec "$0" "$@"']
WITHOUT_IPV6_SOCKETS = [sys.executable, str(Path(__file__).with_name("without_ipv6_sockets.py"))]


class OddHosts(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("odd")
        self.addCleanup(self.lab.close)
        self.a, self.b = self.lab.pair()
        self.a.ip("route", "add", "default", "via", "10.99.0.2")
        self.a.ip("-6", "route", "add", "default", "via", "fd99::2")
        self.b.ip("addr", "add", "198.51.100.1/32", "dev", "lo")

    def tunneld(self, read_only):
        daemon = self.lab.tunneld(self.a, start=False)
        daemon.prefix = READ_ONLY if read_only else []
        return daemon.start()

    def tunnel(self, daemon, allowed="0.0.0.0/0, ::/0", addresses=("10.20.0.1/24", "fd20::1/64"), port=51820):
        private = genkey()
        peer = WireGuardGo(self.lab, self.b, port=port)
        peer.peer(pubkey(private), "10.20.0.1/32,fd20::1/128")
        peer.address("10.20.0.2/24", "fd20::2/64")
        daemon.import_text("home", conf(private, addresses, [
            {"PublicKey": peer.public, "AllowedIPs": allowed, "Endpoint": f"10.99.0.2:{port}"}]), "--replace")
        return peer

    def test_settings_of_the_kernel_that_can_not_be_written(self):
        """C044: with the outer packets told by their port, no setting need be: neither the mark's nor the filter's."""
        daemon = self.tunneld(read_only=True)
        for number, (strict, valid_mark) in enumerate(((0, 0), (0, 1), (1, 0), (1, 1))):
            with self.subTest(rp_filter=strict, src_valid_mark=valid_mark):
                for link in ("all", "eth0"):
                    self.a.sysctl(f"net.ipv4.conf.{link}.rp_filter", strict)
                self.a.sysctl("net.ipv4.conf.all.src_valid_mark", valid_mark)
                before = self.a.snapshot()
                peer = self.tunnel(daemon, port=51820 + number)
                daemon.ctl("up", "home")
                self.assertEqual(ping(self.a, "198.51.100.1"), 3)
                self.assertEqual(ping(self.a, "10.99.0.2"), 3)
                daemon.ctl("down", "home")
                self.assertEqual(self.a.snapshot(), before)
                peer.stop()

    def test_a_host_where_new_links_have_no_ipv6(self):
        """C105, C103: the tunnel's link gets IPv6 all the same."""
        self.a.sysctl("net.ipv6.conf.default.disable_ipv6", 1)
        daemon = self.tunneld(read_only=False)
        self.tunnel(daemon)
        daemon.ctl("up", "home")
        self.assertIn("fd20::1/64", daemon.status("home")["addresses"])
        self.assertEqual(ping(self.a, "fd20::2"), 3)

    def test_one_where_that_can_not_be_changed(self):
        """C105, C103: it goes on without IPv6, and says why; one that has nothing else fails with that reason."""
        self.a.sysctl("net.ipv6.conf.default.disable_ipv6", 1)
        daemon = self.tunneld(read_only=True)
        self.tunnel(daemon)
        daemon.ctl("up", "home")
        status = daemon.status("home")
        self.assertEqual(status["addresses"], ["10.20.0.1/24"])
        self.assertTrue(any("IPv6 is disabled on the interface" in note for note in status["notes"]), status["notes"])
        self.assertEqual(ping(self.a, "198.51.100.1"), 3)
        daemon.ctl("down", "home")
        self.tunnel(daemon, allowed="::/0", addresses=("fd20::1/64",), port=51821)
        refused = daemon.ctl("up", "home", check=False)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("IPv6 is disabled on the interface", refused.stderr)

    def test_one_that_refuses_ipv6_sockets(self):
        """C103"""
        daemon = self.lab.tunneld(self.a, start=False)
        daemon.prefix = WITHOUT_IPV6_SOCKETS
        daemon.start()
        before = self.a.snapshot()
        self.tunnel(daemon)
        daemon.ctl("up", "home")
        status = daemon.status("home")
        self.assertEqual(status["status"], "connected")
        self.assertIn("Outer packets use IPv4 only", " ".join(status["notes"]))
        # Inside there is IPv6 all the same.
        for address in "198.51.100.1", "fd20::2":
            self.assertEqual(ping(self.a, address), 3)
        daemon.ctl("down", "home")
        self.assertEqual(self.a.snapshot(), before)

    def test_ten_thousand_routes(self):
        """C117"""
        daemon = self.tunneld(read_only=False)
        routes = [f"100.{64 + number // 256}.{number % 256}.0/25" for number in range(10_000)]
        # A line has at most 64 KiB.
        lines = [", ".join(routes[at:at + 2000]) for at in range(0, len(routes), 2000)]
        self.tunnel(daemon, allowed="\nAllowedIPs = ".join(["10.20.0.0/24", *lines]))
        daemon.import_text("other", conf(genkey(), ["10.21.0.1/24"], [
            {"PublicKey": pubkey(genkey()), "AllowedIPs": "10.21.0.0/24", "Endpoint": "10.99.0.2:51999"}]))
        home, other = (daemon.status(name)["identifier"] for name in ("home", "other"))
        before = self.a.snapshot()
        ready = threading.Event()
        waits = []

        def ask():
            while not ready.is_set():
                asked = time.monotonic()
                daemon.call("org.tunneld.Sessions.Status", {"identifier": other})
                waits.append(time.monotonic() - asked)
                time.sleep(0.005)

        asking = threading.Thread(target=ask)
        asking.start()
        begin = time.monotonic()
        daemon.ctl("up", home)
        took = time.monotonic() - begin
        ready.set()
        asking.join()
        interface = daemon.status("home")["interface"]
        self.assertEqual(len(self.a.ip("route", "show", "dev", interface).stdout.splitlines()), 10_001)
        begin = time.monotonic()
        daemon.ctl("down", "home")
        down = time.monotonic() - begin
        late = sorted(waits)[int(len(waits) * 0.99)]
        print(f"up in {took:.2f} s, {len(waits)} answers about another within {late * 1000:.0f} ms, down in {down:.2f} s")
        self.assertLess(took, 2 * SLACK)
        self.assertLess(down, 2 * SLACK)
        self.assertLess(late, 0.05 * SLACK)
        self.assertEqual(self.a.snapshot(), before)


if __name__ == "__main__":
    unittest.main()
