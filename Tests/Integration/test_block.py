"""The block (kill switch): nothing leaves the machine round the tunnel, whatever happens."""

import json
import os
import re
import signal
import socket
import struct
import time
import unittest

from lab import PROGRAMS, SLACK, Lab, WireGuardGo, conf, genkey, ping, pubkey, run, wait_for
from leak import LeakTap, Probes
from two_paths import FAR4, FAR6, Transfer, TwoPaths


class BlockCase(unittest.TestCase):
    """`a` with tunneld and a configuration `home` that includes all networks, `b` with its peer and the tap, and `c`, whose
    traffic `a` forwards."""

    def setUp(self):
        self.lab = Lab("blk")
        self.addCleanup(self.lab.close)
        self.a, self.b = self.lab.pair()
        self.c = self.lab.namespace("c")
        self.lab.veth(self.a, self.c, "10.98.0.0/24", "fd98::/64", names=("eth1", "eth0"))
        for key in ("net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"):
            self.a.sysctl(key, 1)
        self.c.ip("route", "add", "default", "via", "10.98.0.1")
        self.c.ip("-6", "route", "add", "default", "via", "fd98::1")
        self.a.ip("route", "add", "default", "via", "10.99.0.2")
        self.a.ip("-6", "route", "add", "default", "via", "fd99::2")
        self.daemon = self.lab.tunneld(self.a)
        self.peers = {}
        self.configure("home", 51820, 20)
        self.b.ip("route", "add", "10.98.0.0/24", "dev", self.peers["home"].name)

    def configure(self, name, port, number, **settings):
        private = genkey()
        peer = self.peers[name] = WireGuardGo(self.lab, self.b, port=port)
        peer.peer(pubkey(private), f"10.{number}.0.1/32,fd{number}::1/128,10.98.0.0/24")
        peer.address(f"10.{number}.0.2/24", f"fd{number}::2/64")
        self.daemon.import_text(name, conf(private, [f"10.{number}.0.1/24", f"fd{number}::1/64"], [
            {"PublicKey": peer.public, "AllowedIPs": "0.0.0.0/0, ::/0", "Endpoint": f"10.99.0.2:{port}"}]))
        self.daemon.ctl("set", name, "includeAllNetworks=true", *[f"{key}={value}" for key, value in settings.items()])

    def tap(self, ports=(51820,), **options):
        tap = LeakTap(options.pop("namespace", self.b), ports=ports, **options)
        self.addCleanup(tap.close)
        return tap

    def probes(self, tap, **options):
        return Probes(self.a, tap, client=self.c, **options)

    def ruleset(self, *options):
        return self.a.exec("nft", "-s", *options, "list", "ruleset").stdout

    def is_blocked(self):
        return "table inet tunneld" in self.ruleset()

    def check_tight(self, tap, probes, least=50):
        for kind, tried in probes.tried.items():
            self.assertGreater(tried, least, f"{kind} tried too little to show anything")
        self.assertEqual((tap.probes(), tap.counted(), tap.strangers()[:4]), ({}, 0, []))
        self.assertGreater(tap.passed, 0)

    def block(self, name="home"):
        return self.daemon.status(name)["block"]


class Leaks(BlockCase):
    def test_the_tap_counts_every_kind_of_probe(self):
        tap = self.tap()
        with self.probes(tap) as probes:
            wait_for("probes of every kind at the tap", lambda: set(tap.probes()) >= set(probes.kinds) - {"tcp"}, 20)
        self.assertGreater(tap.counted(), 100)
        self.assertTrue(any(frame[46:48] == "06" for frame in tap.strangers()), "no attempt over TCP was seen")

    def test_nothing_gets_out_while_it_is_up_and_all_is_as_before_after_down(self):
        """C083: not by a socket bound to the link, raw or packet sockets, a forged mark, IPv6, nor forwarded."""
        before, network = self.ruleset(), self.a.snapshot()
        self.daemon.ctl("up", "home")
        tap = self.tap()
        with self.probes(tap) as probes:
            self.assertEqual(ping(self.a, "10.20.0.2", count=10), 10)
            self.assertEqual(ping(self.a, "fd20::2", count=3), 3)
            # What is forwarded into the tunnel passes, both ways.
            self.assertEqual(ping(self.c, "10.20.0.2"), 3)
        self.check_tight(tap, probes)
        block = self.block()
        self.assertEqual((block["inForce"], block["held"], block["holders"], block["restored"]), (True, True, ["home"], 0))
        self.assertIn("Block", self.daemon.ctl("status", "home").stdout)
        self.daemon.ctl("down", "home")
        self.assertEqual((self.ruleset(), self.a.snapshot()), (before, network))
        self.assertIsNone(self.block())
        self.assertFalse((self.daemon.runtime / "block.json").exists())
        self.assertEqual(ping(self.a, "10.99.0.2"), 3)

    def test_what_every_link_needs_goes_on(self):
        self.daemon.ctl("up", "home")
        tap = self.tap()
        for family, address in (("-4", "10.99.0.2"), ("-6", "fd99::2")):
            self.a.ip(family, "neigh", "flush", "dev", "eth0")
            self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        # The other side finds us, too.
        self.b.ip("-6", "neigh", "flush", "dev", "eth0")
        self.b.exec("ping", "-c", "1", "-W", "1", "fd99::1", check=False)
        wait_for("our address in the neighbour's cache", lambda: any(
            entry.get("lladdr") for entry in self.b.ip_json("-6", "neigh", "show", "fd99::1")), 5 * SLACK)
        server = self.b.inside(lambda: self.bound(("0.0.0.0", 67), broadcast=True))
        client = self.a.inside(lambda: self.bound(("0.0.0.0", 68), broadcast=True))
        client.setsockopt(socket.SOL_SOCKET, 25, b"eth0")
        for destination in ("255.255.255.255", "10.99.0.2"):
            client.sendto(b"discover", (destination, 67))
            self.assertEqual(server.recvfrom(100)[0], b"discover")
            server.sendto(b"offer", ("10.99.0.1", 68))
            self.assertEqual(client.recvfrom(100)[0], b"offer")
        server6 = self.b.inside(lambda: self.bound(("::", 547)))
        client6 = self.a.inside(lambda: self.bound(("::", 546)))
        client6.sendto(b"solicit", ("fd99::2", 547))
        self.assertEqual(server6.recvfrom(100)[0], b"solicit")
        server6.sendto(b"advertise", ("fd99::1", 546))
        self.assertEqual(client6.recvfrom(100)[0], b"advertise")
        self.assertEqual(tap.strangers(), [])

    def test_root_itself_reaches_the_peers_alone_with_the_mark(self):
        self.daemon.ctl("up", "home")
        self.b.ip("addr", "add", "10.99.0.3/24", "dev", "eth0")
        self.b.ip("addr", "add", "fd99::3/64", "dev", "eth0")
        tap = self.tap()
        with self.a.inside(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as four, \
                self.a.inside(lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)) as six:
            for s in four, six:
                s.setsockopt(socket.SOL_SOCKET, 36, 0x08000000)  # SO_MARK: that of outer packets
            four.sendto(b"\0", ("10.99.0.2", 51820))
            for s, address, port in ((four, "10.99.0.2", 51821), (four, "10.99.0.3", 51820), (four, "10.99.0.2", 53),
                                     (six, "fd99::2", 51820), (six, "fd99::3", 51820)):
                with self.assertRaises(PermissionError, msg=(address, port)):
                    s.sendto(b"LEAKroot\0\0\0\1", (address, port))
        self.assertEqual((tap.probes(), tap.counted()), ({}, 0))

    def bound(self, address, broadcast=False):
        s = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(s.close)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if broadcast:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        s.settimeout(5)
        s.bind(address)
        return s

    def test_from_the_first_step_of_a_start_on(self):
        """C085: it is in force before the first change."""
        tap = self.tap()
        with self.probes(tap) as probes:
            wait_for("probes at the tap", lambda: len(tap.probes()) > 5, 20)
            self.daemon.ctl("up", "home", "--no-wait")
            wait_for("the block", self.is_blocked, 5)
            tap.clear()
            self.daemon.wait_status("home", "connected", 10 * SLACK)
            self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        self.check_tight(tap, probes)

    def test_a_failed_start_keeps_it_until_somebody_says_down(self):
        taken = self.a.inside(lambda: self.bound(("0.0.0.0", 40404)))
        self.daemon.ctl("set", "home", "provider.configuration.listenPort=40404")
        tap = self.tap()
        failed = self.daemon.ctl("up", "home", check=False)
        self.assertEqual(failed.returncode, 1, failed.stdout)
        tap.clear()
        with self.probes(tap) as probes:
            time.sleep(1)
            # Neither does another attempt, nor the end of tunneld.
            self.daemon.ctl("up", "home", check=False)
            self.daemon.kill()
            time.sleep(0.5)
            self.daemon.start()
            status = self.daemon.status("home")
            # So that there is something that may pass.
            self.b.exec("ping", "-c", "1", "-W", "1", "10.99.0.1", check=False)
        self.check_tight(tap, probes)
        self.assertEqual((status["status"], status["block"]["held"]), ("disconnected", True))
        self.assertIn("tunnelctl down home", status["block"]["remedy"])
        taken.close()
        self.assertIn("The block is lifted.", self.daemon.ctl("down", "home").stdout)
        self.assertFalse(self.is_blocked())
        self.assertEqual(ping(self.a, "10.99.0.2"), 3)

    rounds = 10

    def handles(self):
        return [line for line in self.ruleset("-a").splitlines() if re.search(r"# handle \d+$", line)]

    def test_tunneld_killed_again_and_again(self):
        """C081: the rules outlive it, and the next one takes them over: no handle changes."""
        self.daemon.ctl("up", "home")
        handles = self.handles()
        self.assertGreater(len(handles), 40)
        tap = self.tap()
        with self.probes(tap) as probes:
            for round in range(self.rounds):
                self.daemon.kill()
                self.daemon.start()
                status = self.daemon.status("home")
                self.assertEqual((status["status"], status["block"]["restored"]), ("connected", 0), round)
                self.assertEqual(self.handles(), handles, round)
        self.check_tight(tap, probes)
        self.daemon.ctl("down", "home")
        self.assertFalse(self.is_blocked())

    def test_the_provider_killed_again_and_again(self):
        self.daemon.ctl("up", "home")
        tap = self.tap()
        given_up = 0
        with self.probes(tap) as probes:
            for round in range(self.rounds):
                status = self.daemon.status("home")
                if status["status"] == "disconnected":
                    # Five in a minute are too many; that nobody gets out stays.
                    self.assertTrue(status["block"]["held"], round)
                    given_up += 1
                    self.daemon.ctl("up", "home")
                    status = self.daemon.status("home")
                pid = status["providerProcess"]
                os.kill(pid, signal.SIGKILL)
                wait_for("another provider, or none", lambda: (s := self.daemon.status("home"))["status"] in (
                    "connected", "disconnected") and s["providerProcess"] != pid, 20 * SLACK)
        self.check_tight(tap, probes)
        self.assertEqual(given_up > 0, self.rounds > 5)

    def test_the_link_goes_and_comes_and_another_one_appears(self):
        self.daemon.ctl("up", "home")
        tap = self.tap()
        with self.probes(tap) as probes:
            for _ in range(3):
                self.a.ip("link", "set", "eth0", "down")
                time.sleep(0.2)
                self.a.ip("link", "set", "eth0", "up")
                self.a.ip("route", "replace", "default", "via", "10.99.0.2")
                time.sleep(0.5)
            wait_for("traffic", lambda: ping(self.a, "10.20.0.2", count=1, wait=1), 10)
        self.check_tight(tap, probes)
        d = self.lab.namespace("d")
        self.lab.veth(self.a, d, "10.97.0.0/24", "fd97::/64", names=("new0", "eth0"))
        other = self.tap(namespace=d)
        wait_for("a chain on the new link", lambda: 'device "new0"' in self.ruleset(), 5)
        other.clear()
        with Probes(self.a, other, link="new0", v4="10.97.0.2", v6="fd97::2") as probes:
            time.sleep(1)
            d.exec("ping", "-c", "1", "-W", "1", "10.97.0.1", check=False)
        self.check_tight(other, probes)
        self.a.ip("link", "del", "new0")
        wait_for("the chain to be gone", lambda: 'device "new0"' not in self.ruleset(), 5)
        self.a.ip("link", "set", "eth1", "down")
        self.a.ip("link", "set", "eth1", "name", "renamed")
        wait_for("the chain to follow the name", lambda: 'device "renamed"' in self.ruleset(), 5)
        self.assertEqual(self.block()["restored"], 0)


class Frames(BlockCase):
    """What says that it is ARP must be."""

    # Sends frames with CAP_NET_RAW alone, each with its own number behind the word that the tap looks for.
    SENDER = r"""
import socket, struct, sys
theirs, ours, probe = bytes.fromhex(sys.argv[1]), bytes.fromhex(sys.argv[2]), lambda n: b"LEAKarp " + struct.pack("!I", n)
def arp(kind=1, protocol=0x0800, sizes=(6, 4), operation=1, hardware=ours, target=b"\0" * 6 + bytes([10, 99, 0, 2])):
    return struct.pack("!HHBBH", kind, protocol, *sizes, operation) + hardware + bytes([10, 99, 0, 1]) + target
wrong = [probe(1), probe(2) + b"x" * 1000, arp() + probe(3), arp() + b"\0" * 18 + probe(4), arp(kind=6) + probe(5),
         arp(kind=6, target=b"LEAKarp ab"), arp(protocol=0x86dd, target=b"LEAKarp ab"), arp(sizes=(8, 4), target=b"LEAKarp ab"),
         arp(sizes=(6, 16), target=b"LEAKarp ab"), arp(operation=3, target=b"LEAKarp ab"), arp(operation=9, target=b"LEAKarp ab")]
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
for body in wrong:
    for head in (theirs + ours + b"\x08\x06", theirs + ours + b"\x81\0\0\0\x08\x06"):
        for protocol in 0x0806, 0x8100:
            try:
                s.sendto(head + body, (sys.argv[3], protocol))
            except OSError:
                pass
s.sendto(theirs + ours + b"\x08\x06" + arp(), (sys.argv[3], 0x0806))
"""

    def send(self, link):
        address = {name: space.ip_json("link", "show", link)[0]["address"].replace(":", "")
                   for name, space in (("a", self.a), ("b", self.b))}
        self.a.exec("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=+net_raw",
                    "--ambient-caps=+net_raw", "/usr/bin/python3", "-c", self.SENDER, address["b"], address["a"], link)

    def arps(self, tap):
        """All frames of ARP that have the word of the probes in them."""
        time.sleep(0.2)
        return [frame for frame in self.frames if b"LEAK" in frame and frame[12:14] in (b"\x08\x06", b"\x81\0")]

    def test_what_says_that_it_is_arp_must_be(self):
        tap = self.tap()
        self.frames, take = [], tap.take

        def keep(frame):
            self.frames.append(frame)
            take(frame)
        tap.take = keep
        self.send("eth0")
        self.assertGreater(len(self.arps(tap)), 15, "the tap sees them all without the block")
        self.daemon.ctl("up", "home")
        self.frames.clear()
        self.send("eth0")
        self.assertEqual(self.arps(tap), [])
        # A true one gets through, and so do the kernel's own.
        wait_for("the request", lambda: any(frame[12:14] == b"\x08\x06" and len(frame) == 42 for frame in self.frames), 5)
        self.a.ip("neigh", "flush", "dev", "eth0")
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)


class Meddling(BlockCase):
    def test_rules_that_others_remove_are_back_at_once(self):
        self.daemon.ctl("up", "home")
        tap = self.tap()
        listing = self.ruleset()
        ways = [["flush", "ruleset"], ["delete", "table", "inet", "tunneld"], ["delete", "table", "netdev", "tunneld"],
                ["flush", "chain", "inet", "tunneld", "output"], ["flush", "chain", "netdev", "tunneld", "egress"],
                ["insert", "rule", "inet", "tunneld", "output", "accept"],
                ["add", "element", "inet", "tunneld", "peers4", "{ 10.99.0.2 . 9 }"],
                ["chain", "inet", "tunneld", "output", "{ policy accept; }"]]
        slowest = 0
        with self.probes(tap) as probes:
            for number, way in enumerate(ways * 2, start=1):
                self.a.exec("nft", *way)
                begin = time.monotonic()
                wait_for(f"the rules after {' '.join(way)}", lambda: self.ruleset() == listing, 5)
                slowest = max(slowest, time.monotonic() - begin)
                # They are counted when they are back.
                wait_for("the count", lambda: self.block()["restored"] >= number, 5)
                self.assertEqual(self.block()["restored"], number, way)
            tap.clear()
            time.sleep(0.5)
        self.check_tight(tap, probes)
        self.assertLess(slowest, 0.2 * SLACK)
        print(f"back after {slowest * 1000:.0f} ms at most, as seen by nft")
        self.assertIsNotNone(self.block()["lastRestored"])
        self.assertIn(f"put back {len(ways) * 2} times", self.daemon.ctl("status", "home").stdout)
        text = self.daemon.process.log_path.read_text()
        self.assertLessEqual(text.count("Others had removed or changed the rules of the block"), 2)

    def test_what_takes_rules_away_brings_new_ones_in_the_same_transaction(self):
        self.daemon.ctl("up", "home")
        listing = self.ruleset()
        monitor = self.a.popen("nft", "monitor", log="monitor")
        told = monitor.log_path.read_text
        # It says nothing of itself; from the first that it tells on it hears all.
        while "hello" not in told():
            self.a.exec("nft", "add", "table", "inet", "hello")
            self.a.exec("nft", "delete", "table", "inet", "hello")
        seen = 0
        for way in (["insert", "rule", "inet", "tunneld", "output", "accept"], ["flush", "chain", "inet", "tunneld", "input"]):
            self.a.exec("nft", *way)
            wait_for("the rules", lambda: self.ruleset() == listing, 5)
            seen += 1
            wait_for("its end", lambda: told().count("delete table inet tunneld") >= seen, 5)
        for transaction in told().split("# new generation")[:-1]:
            for table in "inet", "netdev":
                self.assertEqual(f"delete table {table} tunneld" in transaction, f"add table {table} tunneld" in transaction,
                                 transaction)

    def test_a_flush_lets_out_no_more_than_it_takes_to_put_the_rules_back(self):
        self.daemon.ctl("up", "home")
        tap = self.tap()
        with Probes(self.a, tap, kinds=["user", "pack"], rate=1000) as probes:
            time.sleep(0.5)
            for _ in range(5):
                self.a.exec("nft", "flush", "ruleset")
                time.sleep(0.3)
        leaked = tap.probes()
        print(f"of {probes.tried} probes at 1,000 a second {leaked} got out over 5 flushes")
        for kind in probes.kinds:
            self.assertLess(leaked.get(kind, 0), 5 * 200 * SLACK)
        self.assertEqual(self.block()["restored"], 5)

    def test_rules_of_others_are_none_of_its_business(self):
        self.daemon.ctl("up", "home")
        self.a.exec("nft", "add", "table", "inet", "mine")
        self.a.exec("nft", "add", "table", "ip", "tunneld")
        self.assertEqual(self.block()["restored"], 0)
        self.daemon.ctl("down", "home")
        self.assertEqual(re.findall(r"table .*", self.ruleset()), ["table inet mine {", "table ip tunneld {"])

    def test_what_can_not_be_blocked_is_not_started(self):
        self.a.ip("link", "add", 'a"b', "type", "veth", "peer", "name", "ab2")
        failed = self.daemon.ctl("up", "home", check=False)
        self.assertEqual(failed.returncode, 1, failed.stdout)
        self.assertIn("can't be blocked", failed.stderr)
        self.assertEqual(self.daemon.status("home")["interface"], None)
        self.assertFalse(self.is_blocked())
        self.assertNotIn("home", "".join(link["ifname"] for link in self.a.ip_json("link")))
        self.a.ip("link", "del", 'a"b')
        self.daemon.ctl("up", "home")


class Switching(BlockCase):
    rounds = 10

    def test_profiles_switched_under_probes(self):
        """C085: at 1,000 probes a second; `slow_block.py` has 50 rounds, `test_block_ends.py` the upgrade."""
        self.configure("work", 51821, 30)
        self.assertFalse(self.daemon.json("show", "home")["enabled"])
        self.daemon.ctl("up", "work")
        tap = self.tap(ports=(51820, 51821))
        with self.probes(tap, kinds=["user", "mark", "pack"], rate=1000) as probes:
            for round in range(self.rounds):
                name, address = (("home", "10.20.0.2"), ("work", "10.30.0.2"))[round % 2]
                # Switches the other one off, which ends its tunnel.
                self.daemon.ctl("enable", name)
                self.daemon.ctl("up", name)
                self.assertEqual(ping(self.a, address, count=1), 1, round)
        self.check_tight(tap, probes, least=1000)
        self.daemon.ctl("down", "--all")
        self.assertFalse(self.is_blocked())

    def test_the_stop_of_another_tunnel_changes_nothing(self):
        private = genkey()
        peer = WireGuardGo(self.lab, self.b, port=51822)
        peer.peer(pubkey(private), "10.40.0.1/32")
        peer.address("10.40.0.2/24")
        self.daemon.import_text("split", conf(private, ["10.40.0.1/24"], [
            {"PublicKey": peer.public, "AllowedIPs": "10.40.0.2/32", "Endpoint": "10.99.0.2:51822"}]))
        self.daemon.ctl("up", "home")
        tap = self.tap(ports=(51820, 51822))
        with self.probes(tap) as probes:
            for _ in range(3):
                self.daemon.ctl("up", "split")
                # Its own traffic passes: it was started on purpose.
                self.assertEqual(ping(self.a, "10.40.0.2", count=2), 2)
                self.assertEqual(ping(self.a, "10.20.0.2", count=1), 1)
                self.daemon.ctl("down", "split")
        self.check_tight(tap, probes)
        self.assertFalse(self.block("split")["held"])
        self.daemon.ctl("down", "home")
        self.assertFalse(self.is_blocked())

    def test_a_change_of_the_configuration_lifts_it(self):
        self.daemon.ctl("up", "home")
        self.daemon.ctl("set", "home", "includeAllNetworks=false")
        wait_for("the block to be lifted", lambda: not self.is_blocked(), 5)
        self.daemon.ctl("set", "home", "includeAllNetworks=true")
        wait_for("the block", self.is_blocked, 5)
        self.assertEqual(self.daemon.status("home")["status"], "connected")
        self.daemon.ctl("disable", "home")
        wait_for("the block to be lifted", lambda: not self.is_blocked(), 10)
        self.daemon.ctl("enable", "home")
        self.daemon.ctl("up", "home")
        self.daemon.ctl("remove", "home", "--force")
        self.assertFalse(self.is_blocked())


class Permanence(BlockCase):
    def reboot(self):
        """As after a reboot: every process gone, and everything that lived in memory."""
        for pid in self.a.exec("ip", "netns", "pids", self.a.name).stdout.split():
            try:
                if "leak" not in open(f"/proc/{pid}/cmdline").read():
                    os.kill(int(pid), signal.SIGKILL)
            except OSError:
                pass
        self.daemon.process.wait()
        run("rm", "-rf", self.daemon.runtime)
        self.daemon.runtime.mkdir()
        self.a.exec("nft", "flush", "ruleset")
        for family in ("-4", "-6"):
            self.a.ip(family, "rule", "flush", "protocol", "140", check=False)
        for link in self.a.ip_json("link"):
            if link["ifname"].startswith("home"):
                self.a.ip("link", "del", link["ifname"])

    def test_without_persistence_a_reboot_ends_it(self):
        """C038; what a persistent one does is in `test_block_ends.py`."""
        self.daemon.ctl("up", "home")
        self.reboot()
        self.assertEqual(ping(self.a, "10.99.0.2"), 3)
        self.daemon.start()
        self.assertFalse(self.is_blocked())
        self.assertEqual(ping(self.a, "10.99.0.2"), 3)

    def test_what_a_tunneld_that_lost_its_memory_finds_is_removed(self):
        self.daemon.ctl("up", "home")
        self.daemon.kill()
        run("rm", "-rf", self.daemon.runtime)
        self.daemon.runtime.mkdir()
        self.assertTrue(self.is_blocked())
        self.daemon.start()
        self.assertFalse(self.is_blocked())

    def test_a_persistent_block_stands_from_its_saving_until_its_change(self):
        tap = self.tap()
        self.daemon.ctl("set", "home", "persistentBlock=true")
        wait_for("the block", self.is_blocked, 5)
        tap.clear()
        with self.probes(tap) as probes:
            self.assertIn("persistentBlock=false", self.block()["remedy"])
            self.daemon.ctl("up", "home")
            self.assertEqual(ping(self.a, "10.20.0.2"), 3)
            self.assertIn("Traffic stays blocked", self.daemon.ctl("down", "home").stdout)
            self.daemon.kill()
            self.daemon.start()
            self.assertTrue(self.block()["held"])
        self.check_tight(tap, probes)
        self.daemon.ctl("set", "home", "persistentBlock=false")
        wait_for("the block to be lifted", lambda: not self.is_blocked(), 5)
        self.assertFalse((self.daemon.state / "block.nft").exists())

    def test_it_stands_when_the_answer_comes(self):
        for _ in range(10):
            self.daemon.ctl("set", "home", "persistentBlock=true")
            self.assertTrue(self.is_blocked())
            self.daemon.ctl("set", "home", "persistentBlock=false")
            self.assertFalse(self.is_blocked())
        self.daemon.ctl("up", "home")
        for _ in range(5):
            self.daemon.ctl("set", "home", "excludeLocalNetworks=true")
            wait_for("the local networks", self.permits_local, 5)
            self.daemon.ctl("set", "home", "excludeLocalNetworks=false")
            self.assertFalse(self.permits_local())

    def permits_local(self):
        return "10.99.0.0/24" in self.a.exec("nft", "list", "set", "inet", "tunneld", "local4").stdout

    def test_at_boot_with_a_file_that_can_not_be_used(self):
        self.daemon.ctl("set", "home", "persistentBlock=true")
        file = self.daemon.state / "block.nft"
        good = file.read_text()
        self.reboot()

        def a_folder():
            file.unlink()
            file.mkdir()

        def a_link_to_nowhere():
            file.rmdir() if file.is_dir() else file.unlink()
            file.symlink_to("/nonexistent/block.nft")

        damages = [lambda: file.write_text(""), lambda: file.write_text("garbage {"), lambda: file.write_bytes(b"\xff\0" * 50),
                   lambda: file.write_text(good[:len(good) // 2]), lambda: file.write_text(good[:good.index("table netdev")]),
                   lambda: file.write_text("flush ruleset\n"), lambda: file.write_text(good.replace("policy drop", "policy accept")),
                   a_folder, a_link_to_nowhere]
        for number, damage in enumerate(damages):
            damage()
            result = self.block_at_boot(check=False)
            self.assertEqual(result.returncode, 0, (number, result.stderr))
            self.assertIn("can't be used", self.said(result), number)
            self.assertIn("built in is in force", self.said(result).replace("built-in", "built in"), number)
            self.assertTrue(self.is_blocked(), number)
            self.assertEqual(self.ruleset().count("policy drop"), 3 + self.ruleset().count("hook egress"), number)
            self.assertEqual(ping(self.a, "10.99.0.2", count=1, wait=1), 0, number)
            self.assertEqual(ping(self.a, "127.0.0.1", count=1, wait=1), 1, number)
            if number < len(damages) - 1:
                self.a.exec("nft", "flush", "ruleset")
        # tunneld takes it over, with no moment between, and has a good file again.
        tap = self.tap()
        with self.probes(tap) as probes:
            self.daemon.start()
            self.assertTrue(self.block()["held"])
            self.assertFalse(file.is_symlink())
            self.assertEqual(file.read_text().split("add table", 1)[1], good.split("add table", 1)[1])
            self.daemon.ctl("up", "home")
            self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        self.check_tight(tap, probes)
        self.daemon.ctl("down", "home")
        # Where none asks for it the next tunneld lifts it, and so does a repair without tunneld.
        self.daemon.ctl("set", "home", "persistentBlock=false")
        self.daemon.terminate()
        a_link = lambda: file.symlink_to("/nonexistent/block.nft")  # noqa: E731
        a_link()
        self.block_at_boot()
        self.assertTrue(self.is_blocked())
        self.assertIn("the block", self.daemon.ctl("repair").stdout)
        self.assertFalse(self.is_blocked())
        self.block_at_boot()
        self.daemon.start()
        self.assertFalse(self.is_blocked() or file.is_symlink())
        self.assertIn("No configuration", self.said(self.block_at_boot()))

    def block_at_boot(self, **options):
        return self.a.exec(PROGRAMS / "tunnel-block", env=dict(os.environ, STATE_DIRECTORY=str(self.daemon.state)), **options)

    def said(self, result):
        return result.stdout + result.stderr

    def test_at_boot_before_tunneld(self):
        """C079: without tunneld and without a disk that can be written."""
        self.daemon.ctl("set", "home", "persistentBlock=true")
        wait_for("what is loaded at boot", lambda: (self.daemon.state / "block.nft").exists(), 5)
        self.reboot()
        self.a.ip("link", "set", "eth0", "down")
        self.assertFalse(self.is_blocked())
        # Neither tunneld nor a disk that can be written.
        read_only = ["unshare", "--mount", "sh", "-c", f"mount --bind -o ro {self.daemon.state} {self.daemon.state} && exec "
                     f"{PROGRAMS / 'tunnel-block'}"]
        self.a.exec(*read_only, env=dict(os.environ, STATE_DIRECTORY=str(self.daemon.state)))
        tap = self.tap()
        with self.probes(tap) as probes:
            self.a.ip("link", "set", "eth0", "up")
            self.a.ip("route", "replace", "default", "via", "10.99.0.2")
            time.sleep(1)
            self.assertIn("already", self.said(self.block_at_boot()))
            self.daemon.start()
            self.assertTrue(self.block()["held"])
            self.daemon.ctl("up", "home")
            self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        self.check_tight(tap, probes)
        # It can be loaded by hand, too.
        self.a.exec("nft", "-c", "-f", self.daemon.state / "block.nft")
        self.daemon.ctl("set", "home", "persistentBlock=false")
        self.daemon.ctl("down", "home")
        self.assertIn("No configuration", self.said(self.block_at_boot()))
        self.assertFalse(self.is_blocked())


class WhatPasses(BlockCase):
    def test_local_networks_where_they_are_excluded(self):
        self.daemon.ctl("up", "home")
        self.assertEqual(ping(self.b, "10.99.0.1", count=1, wait=1), 0)
        self.daemon.ctl("set", "home", "excludeLocalNetworks=true")
        wait_for("a neighbour", lambda: ping(self.b, "10.99.0.1", count=1, wait=1), 5)
        self.assertEqual((ping(self.b, "10.99.0.1"), ping(self.a, "fd99::2"), ping(self.b, "fd99::1")), (3, 3, 3))
        self.assertEqual(self.heard("239.1.2.3", "10.99.0.1"), b"hello")
        # Names don't get out by the neighbours' name servers.
        tap = self.tap()
        for port in (53, 853):
            with self.assertRaises(OSError):
                self.a.inside(lambda: self.once(("10.99.0.2", port)))
        # What has a public address is not local, on whatever link.
        self.a.ip("addr", "add", "203.0.113.1/24", "dev", "eth0")
        with self.assertRaises(OSError):
            self.a.inside(lambda: self.once(("203.0.113.2", 9)))
        self.assertEqual(tap.probes(), {})
        # Another network of the link counts from when it is there.
        self.b.ip("addr", "add", "10.96.0.2/24", "dev", "eth0")
        self.a.ip("addr", "add", "10.96.0.1/24", "dev", "eth0")
        wait_for("the new network", lambda: ping(self.b, "10.96.0.1", count=1, wait=1), 5)
        self.daemon.ctl("set", "home", "excludeLocalNetworks=false")
        wait_for("no neighbour", lambda: ping(self.b, "10.99.0.1", count=1, wait=1) == 0, 5)
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)

    def test_a_route_alone_makes_a_network_local_or_not(self):
        self.daemon.ctl("set", "home", "excludeLocalNetworks=true")
        self.daemon.ctl("up", "home")
        for family, network, name in (("-4", "10.55.0.0/16", "local4"), ("-6", "fd55::/64", "local6")):
            def permitted():
                return network in self.a.exec("nft", "list", "set", "inet", "tunneld", name).stdout
            self.assertFalse(permitted())
            for change in "add", "del":
                self.a.ip(family, "route", change, network, "dev", "eth0", "proto", "kernel")
                wait_for(f"the block after {change} {network}", lambda: permitted() == (change == "add"), SLACK)

    def test_what_is_excluded_is_in_the_tunnel_too_and_told(self):
        peer = self.peers["home"]
        peer.address("198.51.100.7/32")
        said = self.daemon.ctl("set", "home", "provider.configuration.excludedRoutes=198.51.100.0/24")
        self.assertIn("excludedRoutes have no effect with includeAllNetworks", said.stdout + said.stderr)
        self.daemon.ctl("up", "home")
        self.assertEqual(ping(self.a, "198.51.100.7"), 3)
        self.assertIn("excludedRoutes have no effect", "".join(self.daemon.status("home")["notes"]))
        # They have one as soon as the flag is gone.
        self.daemon.ctl("set", "home", "includeAllNetworks=false")
        wait_for("the way outside", lambda: "dev eth0" in self.a.ip("route", "get", "198.51.100.7").stdout, 5)
        self.assertNotIn("excludedRoutes", "".join(self.daemon.status("home")["notes"]))
        self.daemon.ctl("set", "home", "includeAllNetworks=true")
        wait_for("the way inside", lambda: ping(self.a, "198.51.100.7", count=1, wait=1), 5)

    def once(self, to):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.setsockopt(socket.SOL_SOCKET, 25, b"eth0")
            s.sendto(b"LEAKonce\0\0\0\1", to)

    def heard(self, group, source):
        listener = self.b.inside(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        listener.bind((group, 7777))
        listener.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                            socket.inet_aton(group) + socket.inet_aton("10.99.0.2"))
        listener.settimeout(5)
        sender = self.a.inside(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(source))
        sender.sendto(b"hello", (group, 7777))
        with listener, sender:
            return listener.recv(100)

    def test_a_gateway_answers_whoever_calls_it(self):
        private, caller = genkey(), genkey()
        self.daemon.import_text("gate", conf(private, ["10.50.0.1/24"], [
            {"PublicKey": pubkey(caller), "AllowedIPs": "10.50.0.2/32"}], port=51999))
        self.daemon.ctl("set", "gate", "includeAllNetworks=true")
        self.daemon.ctl("up", "gate")
        peer = WireGuardGo(self.lab, self.b, port=51888, private=caller)
        peer.peer(pubkey(private), "10.50.0.1/32", endpoint="10.99.0.1:51999")
        peer.address("10.50.0.2/24")
        tap = self.tap(ports=(51888,))
        with self.probes(tap, port=51888) as probes:
            self.assertEqual(ping(self.b, "10.50.0.1"), 3)
            self.assertEqual(ping(self.a, "10.50.0.2"), 3)
        self.check_tight(tap, probes)

    def test_a_tunnel_over_ipv6_and_one_whose_interface_is_renamed(self):
        self.daemon.ctl("set", "home", "provider.configuration.peers[0].endpoint=[fd99::2]:51820")
        self.daemon.ctl("up", "home")
        tap = self.tap()
        with self.probes(tap) as probes:
            self.assertEqual(ping(self.a, "10.20.0.2"), 3)
            name = self.daemon.status("home")["interface"]
            self.a.ip("link", "set", name, "name", "other7")
            wait_for("the new name", lambda: self.daemon.status("home")["interface"] == "other7", 10)
            wait_for("traffic", lambda: ping(self.a, "10.20.0.2", count=1, wait=1), 10)
        self.check_tight(tap, probes)


class WhatRoutersSay(unittest.TestCase):
    def test_that_a_packet_is_too_big_for_the_path_is_heard(self):
        self.lab = Lab("blr")
        self.addCleanup(self.lab.close)
        for endpoint, mtu in ((FAR4, 1240), (f"[{FAR6}]", 1220)):
            with self.subTest(endpoint=endpoint):
                rig = TwoPaths(self.lab, endpoint=f"{endpoint}:51820")
                for namespace, link in ((rig.r, "eth9"), (rig.b, "eth0")):
                    namespace.ip("link", "set", link, "mtu", "1300")
                rig.daemon.ctl("set", "home", "includeAllNetworks=true")
                rig.up()
                transfer = Transfer(rig.a, rig.b, 5 << 20)
                wait_for("the path's MTU", lambda: rig.daemon.status("home")["mtu"] == mtu, 2 * SLACK)
                transfer.check(self)
                rig.daemon.ctl("down", "home")


if __name__ == "__main__":
    unittest.main()
