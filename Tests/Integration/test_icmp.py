"""What a program is told at once of what the tunnel can't deliver."""

import errno
import hashlib
import re
import select
import socket
import threading
import time
import unittest

from lab import SLACK, Lab, WireGuardGo, conf, genkey, ping, pubkey

IP_RECVERR, IPV6_RECVERR = 11, 25


def errors_seen(namespace):
    """How many ICMP messages of either family have come in that said that a destination is unreachable."""
    lines = [line.split() for line in namespace.exec("cat", "/proc/net/snmp").stdout.splitlines()]
    v4 = dict(zip(*(line for line in lines if line[0] == "Icmp:")))["InDestUnreachs"]
    v6 = dict(line.split() for line in namespace.exec("cat", "/proc/net/snmp6").stdout.splitlines())["Icmp6InDestUnreachs"]
    return int(v4) + int(v6)


class Rig(unittest.TestCase):
    """A peer that answers, one without an endpoint, and addresses that nobody has."""

    @classmethod
    def setUpClass(cls):
        cls.lab = Lab("icmp")
        cls.addClassCleanup(cls.lab.close)
        cls.a, b = cls.lab.pair()
        daemon, private, peer = cls.lab.tunneld(cls.a), genkey(), WireGuardGo(cls.lab, b)
        peer.peer(pubkey(private), "10.20.0.1/32,fd20::1/128")
        peer.address("10.20.0.2/24", "fd20::2/64")
        daemon.import_text("home", conf(private, ["10.20.0.1/24", "fd20::1/64"], [
            {"PublicKey": peer.public, "AllowedIPs": "10.20.0.2/32, fd20::2/128", "Endpoint": "10.99.0.2:51820"},
            # It would call us; until then nobody knows where it is.
            {"PublicKey": pubkey(genkey()), "AllowedIPs": "10.20.0.3/32, fd20::3/128"}]))
        daemon.ctl("up", "home")


class ICMP(Rig):
    # .9: no peer has it. .3: a peer without an endpoint.
    UNREACHABLE = ("10.20.0.9", "10.20.0.3", "fd20::9", "fd20::3")

    def nft(self, *commands):
        self.a.exec("nft", "-f", "-", input="\n".join(commands) + "\n")

    def test_ping_says_at_once_that_a_host_is_unreachable(self):
        for address in self.UNREACHABLE:
            begin = time.monotonic()
            text = self.a.exec("ping", "-n", "-c", "1", "-W", "5", address, check=False).stdout
            self.assertLess(time.monotonic() - begin, 2, text)
            # The address whose host it is about: one of this machine's own would be dropped as a martian.
            self.assertRegex(text, rf"From {address} icmp_seq=1 (Destination Host Unreachable"
                                   r"|Destination unreachable: Address unreachable)")

    def test_a_strict_reverse_path_filter_lets_it_in(self):
        self.a.sysctl("net.ipv4.conf.all.rp_filter", 1)
        self.nft("add table inet rpfilter",
                 "add chain inet rpfilter prerouting { type filter hook prerouting priority raw; }",
                 "add rule inet rpfilter prerouting fib saddr . iif oif missing drop")
        try:
            self.test_ping_says_at_once_that_a_host_is_unreachable()
        finally:
            self.nft("delete table inet rpfilter")
            self.a.sysctl("net.ipv4.conf.all.rp_filter", 0)

    def test_a_firewall_that_tracks_connections_takes_it_for_related(self):
        self.nft("add table inet guard",
                 "add chain inet guard input { type filter hook input priority 0; policy drop; }",
                 "add rule inet guard input iifname lo accept",
                 "add rule inet guard input ct state established,related accept")
        try:
            self.test_tcp_fails_at_once()
        finally:
            self.nft("delete table inet guard")

    def test_tcp_fails_at_once(self):
        def connect():
            for address in self.UNREACHABLE:
                with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as connection:
                    connection.settimeout(5 * SLACK)
                    begin = time.monotonic()
                    with self.assertRaises(OSError) as caught:
                        connection.connect((address, 80))
                    self.assertEqual(caught.exception.errno, errno.EHOSTUNREACH, address)
                    # Linux only makes a note of an answer that comes while connect(2) is still at work, and fails at the
                    # next one: when the SYN was sent again, after a second.
                    self.assertLess(time.monotonic() - begin, 1 * SLACK, address)
        self.a.inside(connect)

    def test_udp_is_told(self):
        def send():
            for address in self.UNREACHABLE:
                v6 = ":" in address
                with socket.socket(socket.AF_INET6 if v6 else socket.AF_INET, socket.SOCK_DGRAM) as sender:
                    # Without this option Linux keeps such errors from a program, for they may pass.
                    sender.setsockopt(*((41, IPV6_RECVERR) if v6 else (0, IP_RECVERR)), 1)
                    sender.connect((address, 53))
                    sender.send(b"x")
                    poll = select.poll()
                    poll.register(sender, select.POLLERR)
                    self.assertTrue(poll.poll(5000 * SLACK), address)
                    with self.assertRaises(OSError) as caught:
                        sender.send(b"x")
                    self.assertEqual(caught.exception.errno, errno.EHOSTUNREACH, address)
        self.a.inside(send)

    def test_the_living_peer_is_not_concerned(self):
        self.assertEqual((ping(self.a, "10.20.0.2"), ping(self.a, "fd20::2")), (3, 3))


class Flood(Rig):
    def test_a_flood_gets_few_answers(self):
        def flood():
            for address in ("10.20.0.9", "fd20::9"):
                with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as sender:
                    for _ in range(5000):
                        sender.sendto(b"x", (address, 53))
        begin, before = time.monotonic(), errors_seen(self.a)
        self.a.inside(flood)
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)  # They are behind it in the queue.
        answers = errors_seen(self.a) - before
        took = time.monotonic() - begin
        print(f"{answers} answers to 10000 packets in {took:.1f} s")
        self.assertTrue(1 <= answers <= 50 + 10 * took + 1, answers)


class TooBig(unittest.TestCase):
    """C058, C062: the tunnel takes 1420 bytes, as the configuration says, and the path between the peers 1280."""

    def setUp(self):
        self.lab = Lab("big")
        self.addCleanup(self.lab.close)

    def router(self):
        """Two ends that are joined by a router, whose second link takes 1280 bytes."""
        a, r, b = (self.lab.namespace(name) for name in "arb")
        self.lab.veth(a, r)
        self.lab.veth(b, r, network4="10.98.0.0/24", network6="fd98::/64", mtu=1280, names=("eth0", "eth1"))
        for key in ("net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"):
            r.sysctl(key, 1)
        for end, net in ((a, 99), (b, 98)):
            end.ip("route", "add", "default", "via", f"10.{net}.0.2")
            end.ip("-6", "route", "add", "default", "via", f"fd{net}::2")
        return a, b

    def tunnels(self, a, b, endpoint="10.99.0.2", mtu=1420):
        """A tunneld at each end, as `big0` and `big1`; the one on `a` calls."""
        keys = genkey(), genkey()
        for end in (1, 0):
            daemon = self.lab.tunneld((a, b)[end], name=f"d{end}")
            peer = {"PublicKey": pubkey(keys[1 - end]), "AllowedIPs": f"10.20.0.{2 - end}/32, fd20::{2 - end}/128"}
            if end == 0:
                peer["Endpoint"] = f"[{endpoint}]:51820" if ":" in endpoint else f"{endpoint}:51820"
            six = [f"fd20::{end + 1}/64"] if mtu >= 1280 else []
            daemon.import_text(f"big{end}", conf(
                keys[end], [f"10.20.0.{end + 1}/24", *six], [peer], port=51820, MTU=mtu))
            daemon.ctl("up", f"big{end}")
        self.assertEqual(ping(a, "10.20.0.2"), 3)

    def says(self, a, passing4):
        """Pings that may not be fragmented: the first may be lost on its way, then it is told what fits, and that passes."""
        for address, head, passing in (("10.20.0.2", 28, passing4), ("fd20::2", 48, 1280)):
            def probe(length, count=4, address=address, head=head):
                return a.exec("ping", "-n", "-M", "do", "-c", count, "-i", "0.3", "-W", "2", "-s", length - head, address,
                              check=False).stdout
            text = probe(1420)
            told = "Frag needed and DF set" if head == 28 else "Packet too big"
            # From the address that the packet was for; from then on the machine's own stack knows.
            self.assertRegex(text, rf"From {address} icmp_seq=\d {told}:? \(?mtu ?= ?{passing}\)?", text)
            self.assertIn(" 0% packet loss", probe(passing, 2), text)

    def test_a_link_of_our_own_that_takes_less(self):
        a, b = self.lab.pair(mtu=1280)
        self.tunnels(a, b)
        self.says(a, 1220)

    def test_a_router_that_takes_less(self):
        a, b = self.router()
        self.tunnels(a, b, endpoint="10.98.0.1")
        self.says(a, 1220)

    def test_a_router_that_takes_less_over_ipv6(self):
        a, b = self.router()
        self.tunnels(a, b, endpoint="fd98::1")
        self.says(a, 1200)

    def test_what_may_be_fragmented_passes(self):
        a, b = self.lab.pair(mtu=1280)
        self.tunnels(a, b)
        text = a.exec("ping", "-n", "-M", "dont", "-c", "3", "-i", "0.3", "-s", "1392", "10.20.0.2", check=False).stdout
        self.assertIn(" 0% packet loss", text)

    def test_a_transfer_is_as_fast_as_through_a_tunnel_that_fits(self):
        """C058: 50 MB over a path that takes less than the tunnel: over half the rate of one that fits, and no error storm."""
        rates = {}
        for mtu in (1220, 1420):
            a, b = self.lab.pair(mtu=1280)
            self.tunnels(a, b, mtu=mtu)
            before = fragments(a) + fragments(b)
            rates[mtu] = [transfer(a, b, "10.20.0.2", 50), transfer(b, a, "10.20.0.1", 50)]
            made = fragments(a) + fragments(b) - before
            print(f"MTU {mtu}: {rates[mtu][0]:.0f} and {rates[mtu][1]:.0f} MB/s, {made} fragments")
            # Of some 80,000 datagrams.
            self.assertLess(made, 2000)
        for fitting, other in zip(*rates.values()):
            self.assertGreater(other, fitting / 2)


def fragments(namespace):
    """How many IPv4 fragments were made there."""
    lines = [line.split() for line in namespace.exec("cat", "/proc/net/snmp").stdout.splitlines() if line.startswith("Ip:")]
    return int(dict(zip(*lines))["FragCreates"])


def transfer(a, b, address, megabytes):
    """Sends so much from `a` to `b` by TCP: MB/s."""
    chunk = bytes(range(256)) * 4096
    listener = b.inside(lambda: socket.create_server((address, 5201)))

    def send():
        with socket.create_connection((address, 5201), timeout=60) as sender:
            for _ in range(megabytes):
                sender.sendall(chunk)

    with listener:
        listener.settimeout(60)
        thread = threading.Thread(target=lambda: a.inside(send))
        begin = time.monotonic()
        thread.start()
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(60)
            digest = hashlib.sha256()
            while data := connection.recv(1 << 20):
                digest.update(data)
        thread.join()
    assert digest.digest() == hashlib.sha256(chunk * megabytes).digest()
    return megabytes / (time.monotonic() - begin)


if __name__ == "__main__":
    unittest.main()
