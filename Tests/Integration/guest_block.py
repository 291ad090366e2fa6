"""The block on Debian's own kernel. Runs inside the virtual machine (Tests/VirtualMachine/run).

Software emulation is slow: few probes of each kind, and patience.
"""

import os
import signal
import time
import unittest

import test_block
from guest_kernel_wireguard import PATIENCE, KernelWireGuard
from lab import Lab, conf, genkey, ping, pubkey, run, wait_for
from leak import Probes

for module in ("wireguard", "tun", "veth", "nf_tables", "nft_ct", "nft_socket"):
    run("modprobe", module)


class Block(test_block.BlockCase):
    rate = 4

    def setUp(self):
        self.lab = Lab("gblk")
        self.addCleanup(self.lab.close)
        self.a, self.b = self.lab.pair()
        self.c = self.lab.namespace("c")
        self.lab.veth(self.a, self.c, "10.98.0.0/24", "fd98::/64", names=("eth1", "eth0"))
        for key in ("net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"):
            self.a.sysctl(key, 1)
        # A link that is switched off and on is as before.
        self.a.sysctl("net.ipv6.conf.eth0.keep_addr_on_down", 1)
        for family, client, way in (("-4", "10.98.0.1", "10.99.0.2"), ("-6", "fd98::1", "fd99::2")):
            self.c.ip(family, "route", "add", "default", "via", client)
            self.a.ip(family, "route", "add", "default", "via", way)
        self.daemon = self.lab.tunneld(self.a)
        private = genkey()
        peer = KernelWireGuard(self.lab, self.b)
        peer.peer(pubkey(private), "10.20.0.1/32,fd20::1/128")
        peer.address("10.20.0.2/24", "fd20::2/64")
        self.daemon.import_text("home", conf(private, ["10.20.0.1/24", "fd20::1/64"], [
            {"PublicKey": peer.public, "AllowedIPs": "0.0.0.0/0, ::/0", "Endpoint": "10.99.0.2:51820"}]))
        self.daemon.ctl("set", "home", "includeAllNetworks=true", timeout=PATIENCE)

    def up(self):
        self.daemon.ctl("up", "home", "--timeout", str(PATIENCE), timeout=2 * PATIENCE)

    def carries(self):
        for address in ("10.20.0.2", "fd20::2"):
            wait_for(f"traffic to {address}", lambda: ping(self.a, address, count=1, wait=10) == 1, PATIENCE)

    def test_the_tap_counts_every_kind_of_probe(self):
        tap = self.tap()
        with self.probes(tap, rate=self.rate) as probes:
            wait_for("every kind at the tap", lambda: set(tap.probes()) >= set(probes.kinds) - {"tcp"}, 2 * PATIENCE)
        self.assertGreater(tap.counted(), 0)

    def test_nothing_gets_out_from_start_to_crash_and_all_is_as_before_after_down(self):
        before, network = self.ruleset(), sorted(self.a.snapshot())
        self.up()
        tap = self.tap()
        with self.probes(tap, rate=self.rate) as probes:
            self.carries()
            handles = test_block.Leaks.handles(self)
            for _ in range(3):
                self.daemon.kill()
                self.daemon.start()
                self.assertEqual(test_block.Leaks.handles(self), handles)
                self.carries()
            for _ in range(2):
                pid = self.daemon.status("home")["providerProcess"]
                os.kill(pid, signal.SIGKILL)
                wait_for("another provider", lambda: (s := self.daemon.status("home"))["status"] == "connected"
                         and s["providerProcess"] != pid, 2 * PATIENCE)
                self.carries()
            self.a.ip("link", "set", "eth0", "down")
            self.a.ip("link", "set", "eth0", "up")
            for family, way in (("-4", "10.99.0.2"), ("-6", "fd99::2")):
                self.a.ip(family, "route", "replace", "default", "via", way)
            wait_for("traffic", lambda: ping(self.a, "10.20.0.2", count=1, wait=5), PATIENCE)
        self.check_tight(tap, probes)
        self.daemon.ctl("down", "home", timeout=PATIENCE)
        # The kernel lists what a link that was switched off had in another order.
        self.assertEqual((self.ruleset(), sorted(self.a.snapshot())), (before, network))

    def test_a_link_that_appears_and_rules_that_others_flush(self):
        self.up()
        d = self.lab.namespace("d")
        self.lab.veth(self.a, d, "10.97.0.0/24", "fd97::/64", names=("new0", "eth0"))
        other = self.tap(namespace=d)
        wait_for("a chain on the new link", lambda: 'device "new0"' in self.ruleset(), PATIENCE)
        listing = self.ruleset()
        self.a.exec("nft", "flush", "ruleset")
        wait_for("the rules", lambda: self.ruleset() == listing, PATIENCE)
        other.clear()
        with Probes(self.a, other, link="new0", v4="10.97.0.2", v6="fd97::2", rate=self.rate) as probes:
            time.sleep(15)
            d.exec("ping", "-c", "1", "-W", "1", "10.97.0.1", check=False)
        self.check_tight(other, probes, least=10)
        self.assertEqual(self.block()["restored"], 1)


if __name__ == "__main__":
    unittest.main()
