"""The block on links of every kind that this kernel has, on one that appears under it, and on 300 of them."""

import time
import unittest

from lab import SLACK, ping, wait_for
from leak import Probes
from test_block import BlockCase

# All kinds that go through the IP stack need nothing of the link to be kept from leaving.
STACK = ["user", "root", "tcp", "bind", "mark", "raw"]


class Kinds(BlockCase):
    """C083: binding a socket to a link, whatever it is, makes no difference.

    VLANs, ipvlan, bonds and PPPoE are tried on Debian's kernel, which has them (`guest_block_links.py`).
    """
    patience, rate, seconds = 20, 200, 1

    def setUp(self):
        super().setUp()
        self.d = self.lab.namespace("d")
        self.lab.veth(self.a, self.d, None, None, names=("port0", "eth0"))
        self.d.ip("addr", "add", "10.97.0.2/24", "dev", "eth0")
        self.d.ip("addr", "add", "fd97::2/64", "dev", "eth0", "nodad")
        self.other = self.tap(namespace=self.d)

    def give(self, link, v4="10.97.0.1/24", v6="fd97::1/64"):
        self.a.ip("addr", "add", v4, "dev", link)
        self.a.ip("addr", "add", v6, "dev", link, "nodad")
        self.a.ip("link", "set", link, "up")

    def probe(self, link, kinds=None, source=None, **to):
        target = {"v4": "10.97.0.2", "v6": "fd97::2", **to}
        return Probes(source or self.a, self.other, kinds=kinds, link=link, rate=self.rate, **target)

    def check(self, *ways):
        """Each way leaks without the block, which shows that the tap counts it, and not with it."""
        for link, options in ways:
            with self.probe(link, **options) as probes:
                wait_for(f"probes of every kind by {link}", lambda: set(self.other.probes()) >= set(probes.kinds) - {"tcp"},
                         self.patience)
            self.other.clear()
        self.begin()
        wait_for("the block", self.is_blocked, self.patience)
        chains = self.ruleset()
        for link in [link for link in ("port0", *(link for link, _ in ways)) if link != "eth0"]:
            self.assertIn(f'device "{link}"', chains)
        self.other.clear()
        for link, options in ways:
            with self.probe(link, **options) as probes:
                time.sleep(self.seconds)
                self.d.exec("ping", "-c", "1", "-W", "1", "10.97.0.1", check=False)
            self.check_tight(self.other, probes)
        self.assertTrue(self.works())
        self.daemon.ctl("down", "home")
        with self.probe(ways[0][0], kinds=["user"]):
            wait_for("probes again", lambda: "user" in self.other.probes(), self.patience)

    def begin(self):
        self.daemon.ctl("up", "home")

    def works(self):
        return ping(self.a, "10.20.0.2") == 3

    def test_a_bridge_and_what_it_bridges(self):
        e = self.lab.namespace("e")
        self.lab.veth(self.a, e, None, None, names=("port1", "eth0"))
        e.ip("addr", "add", "10.97.0.3/24", "dev", "eth0")
        e.ip("addr", "add", "fd97::3/64", "dev", "eth0", "nodad")
        self.a.ip("link", "add", "br0", "type", "bridge")
        for port in ("port0", "port1"):
            self.a.ip("link", "set", port, "master", "br0")
        self.give("br0")
        self.check(("br0", {}), ("port0", {"kinds": ["pack"]}),
                   ("eth0", {"source": e, "kinds": ["user", "pack"]}))

    def test_a_macvlan_and_the_link_below(self):
        self.a.ip("link", "add", "mac0", "link", "port0", "type", "macvlan", "mode", "bridge")
        self.give("mac0")
        self.check(("mac0", {}), ("port0", {"kinds": ["pack"]}))

    def test_a_macvtap(self):
        self.a.ip("link", "add", "tap0", "link", "port0", "type", "macvtap", "mode", "bridge")
        self.give("tap0")
        self.check(("tap0", {}))

    def test_a_vxlan_and_what_carries_it(self):
        self.a.ip("addr", "add", "10.97.0.1/24", "dev", "port0")
        self.a.ip("link", "add", "vx0", "type", "vxlan", "id", "7", "remote", "10.97.0.2", "dstport", "4789", "dev", "port0")
        self.give("vx0", "10.95.0.1/24", "fd95::1/64")
        address = self.d.ip_json("link", "show", "eth0")[0]["address"]
        for neighbour in ("10.95.0.2", "fd95::2"):
            self.a.ip("neigh", "add", neighbour, "lladdr", address, "dev", "vx0")
        self.check(("vx0", {"v4": "10.95.0.2", "v6": "fd95::2"}))


class Newcomers(BlockCase):
    def test_a_link_that_appears_under_probes(self):
        """Not even in the moment in which it has no chain of its own does anything of the IP stack get out."""
        self.daemon.ctl("up", "home")
        d = self.lab.namespace("d")
        for round in range(3):
            d.ip("link", "add", "far0", "type", "veth", "peer", "name", "eth0")
            d.ip("addr", "add", "10.97.0.2/24", "dev", "eth0")
            d.ip("addr", "add", "fd97::2/64", "dev", "eth0", "nodad")
            d.ip("link", "set", "eth0", "up")
            other = self.tap(namespace=d)
            with Probes(self.a, other, kinds=STACK, link="new0", v4="10.97.0.2", v6="fd97::2", rate=500) as probes:
                d.ip("link", "set", "far0", "netns", self.a.name, "name", "new0")
                self.a.ip("link", "set", "new0", "up")
                self.a.ip("addr", "add", "10.97.0.1/24", "dev", "new0")
                self.a.ip("addr", "add", "fd97::1/64", "dev", "new0", "nodad")
                time.sleep(1)
                d.exec("ping", "-c", "1", "-W", "1", "10.97.0.1", check=False)
            self.check_tight(other, probes)
            self.a.ip("link", "del", "new0")
            wait_for("the chain to be gone", lambda: 'device "new0"' not in self.ruleset(), 5 * SLACK)
        self.assertEqual(self.block()["restored"], 0)

    def test_three_hundred_links(self):
        """All have their chains, those that come later too; nothing is built anew for that."""
        names = [f"n{number}" for number in range(300)]
        self.batch(*(f"link add {one} type veth peer name {two}" for one, two in zip(names[::2], names[1::2])))
        began = time.monotonic()
        self.daemon.ctl("up", "home")
        print(f"up with {len(names)} links after {time.monotonic() - began:.1f} s")
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        self.has_chains(names)
        began = time.monotonic()
        self.batch(*(f"link del {one}" for one in names[:100:2]))
        self.has_chains(names[100:])
        self.batch(*(f"link add {one} type veth peer name {two}" for one, two in zip(names[:100:2], names[1:100:2])))
        self.has_chains(names)
        print(f"100 links fewer and more after {time.monotonic() - began:.1f} s")
        tap = self.tap()
        with self.probes(tap) as probes:
            time.sleep(1)
            self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        self.check_tight(tap, probes)
        self.assertEqual(self.block()["restored"], 0)
        self.daemon.ctl("down", "home")
        self.assertFalse(self.is_blocked())

    def batch(self, *lines):
        self.a.ip("-batch", "-", input="\n".join(lines) + "\n")

    def has_chains(self, names):
        wanted = {f'device "{name}"' for name in names}

        def found():
            text = self.ruleset()
            present = {line for line in wanted if line in text}
            return present == wanted and text.count('device "n') == len(wanted)
        wait_for(f"chains on {len(names)} links", found, 10 * SLACK)


if __name__ == "__main__":
    unittest.main()
