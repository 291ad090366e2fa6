"""The block on the links of Debian's kernel that others lack. Runs inside the virtual machine (Tests/VirtualMachine/run)."""

import ctypes
import fcntl
import os
import socket
import struct
import unittest

import test_block_links
from lab import Lab, conf, genkey, run

for module in ("tun", "veth", "nf_tables", "8021q", "ipvlan", "bonding", "pppoe"):
    run("modprobe", module)


class OnePort:
    """A configuration that never connects, since nothing is to be seen but the block, and a link `port0` to `d`."""
    # Software emulation is slow: few probes of each kind, and patience.
    patience, rate, seconds = 90, 20, 5
    ruleset, is_blocked, tap, check_tight, block, give, probe, check = (
        getattr(test_block_links.Kinds, name) for name in (
            "ruleset", "is_blocked", "tap", "check_tight", "block", "give", "probe", "check"))

    def setUp(self):
        self.lab = Lab("gl")
        self.addCleanup(self.lab.close)
        self.a, self.d = self.lab.namespace("a"), self.lab.namespace("d")
        self.b = self.d
        self.lab.veth(self.a, self.d, None, None, names=("port0", "eth0"))
        self.daemon = self.lab.tunneld(self.a)
        self.daemon.import_text("home", conf(genkey(), ["10.20.0.1/24", "fd20::1/64"], [
            {"PublicKey": genkey(), "AllowedIPs": "0.0.0.0/0, ::/0", "Endpoint": "192.0.2.1:51820"}]))
        self.daemon.ctl("set", "home", "includeAllNetworks=true")
        self.other = self.tap(namespace=self.d)

    def answer(self, link):
        self.d.ip("addr", "add", "10.97.0.2/24", "dev", link)
        self.d.ip("addr", "add", "fd97::2/64", "dev", link, "nodad")
        self.d.ip("link", "set", link, "up")

    def begin(self):
        self.daemon.ctl("up", "home", "--no-wait")

    def works(self):
        return True


class Kinds(OnePort, unittest.TestCase):
    def test_a_vlan_and_the_link_below(self):
        for namespace, link in ((self.a, "port0"), (self.d, "eth0")):
            namespace.ip("link", "add", "link", link, "name", "tagged", "type", "vlan", "id", "5")
        self.answer("tagged")
        self.give("tagged")
        self.check(("tagged", {}), ("port0", {"kinds": ["pack"]}))

    def test_an_ipvlan(self):
        self.a.ip("link", "add", "ipv0", "link", "port0", "type", "ipvlan", "mode", "l2")
        self.answer("eth0")
        self.give("ipv0")
        self.check(("ipv0", {}), ("port0", {"kinds": ["pack"]}))

    def test_a_bond_and_its_member(self):
        self.a.ip("link", "add", "bond0", "type", "bond", "mode", "active-backup", "miimon", "50")
        self.a.ip("link", "set", "port0", "down")
        self.a.ip("link", "set", "port0", "master", "bond0")
        self.a.ip("link", "set", "port0", "up")
        self.answer("eth0")
        self.give("bond0")
        self.check(("bond0", {}), ("port0", {"kinds": ["pack"]}))

    def test_a_ppp_link_over_ethernet(self):
        address = {namespace: namespace.ip_json("link", "show", link)[0]["address"]
                   for namespace, link in ((self.a, "port0"), (self.d, "eth0"))}
        for namespace, link, other in ((self.a, "port0", self.d), (self.d, "eth0", self.a)):
            for descriptor in namespace.inside(lambda: self.pppoe(link, address[other])):
                self.addCleanup(os.close, descriptor)
        self.d.ip("addr", "add", "10.97.0.2/24", "dev", "ppp0")
        self.d.ip("link", "set", "ppp0", "up")
        self.a.ip("addr", "add", "10.97.0.1/24", "dev", "ppp0")
        self.a.ip("link", "set", "ppp0", "up")
        self.a.ip("route", "add", "fd97::2/128", "dev", "ppp0")
        self.a.ip("addr", "add", "fd97::1/128", "dev", "ppp0", "nodad")
        # Frames of Ethernet have no place on it.
        self.check(("ppp0", {"kinds": ["user", "root", "bind", "mark", "raw"]}))

    def pppoe(self, link, remote):
        """A session as its two ends have it once they have found each other (linux/if_pppox.h, ppp-ioctl.h)."""
        session = os.dup(socket.socket(24, socket.SOCK_STREAM, 0).detach())
        place = struct.pack("=HIH6s16s", 24, 0, socket.htons(7), bytes.fromhex(remote.replace(":", "")), link.encode())
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.connect(session, place, len(place)) != 0:
            raise OSError(ctypes.get_errno(), "connect(PPPoE)")
        channel, = struct.unpack("i", fcntl.ioctl(session, 0x80047437, b"\0" * 4))
        node = self.lab.folder / "ppp"
        if not node.exists():
            os.mknod(node, 0o600 | 0o020000, os.makedev(108, 0))
        one, unit = os.open(node, os.O_RDWR), os.open(node, os.O_RDWR)
        fcntl.ioctl(one, 0x40047438, struct.pack("i", channel))
        number, = struct.unpack("i", fcntl.ioctl(unit, 0xc004743e, struct.pack("i", -1)))
        fcntl.ioctl(one, 0x4004743a, struct.pack("i", number))
        return session, one, unit


if __name__ == "__main__":
    unittest.main()
