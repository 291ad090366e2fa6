"""What a program is told at once of what the tunnel can't deliver."""

import errno
import re
import select
import socket
import time
import unittest

from lab import SLACK, Lab, WireGuardGo, conf, genkey, ping, pubkey

IP_RECVERR, IPV6_RECVERR = 11, 25


def errors_seen(namespace):
    """How many ICMP destination-unreachable messages of each family have come in."""
    found = []
    for file, name in (("snmp", "IcmpMsg: .*\nIcmpMsg: .*"), ("snmp6", r"Icmp6InDestUnreachs\s+(\d+)")):
        text = namespace.exec("cat", f"/proc/net/{file}").stdout
        if file == "snmp6":
            found.append(int(re.search(name, text).group(1)))
            continue
        match = re.search(name, text)
        names, values = (line.split() for line in match.group(0).splitlines()) if match else ([], [])
        found.append(int(dict(zip(names, values)).get("InType3", 0)))
    return found


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
    """In a rig of its own: it takes the answers away from whoever comes next."""

    def test_a_flood_gets_few_answers(self):
        def flood():
            for address in ("10.20.0.9", "fd20::9"):
                with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as sender:
                    for _ in range(5000):
                        sender.sendto(b"x", (address, 53))
        begin, before = time.monotonic(), errors_seen(self.a)
        self.a.inside(flood)
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)  # They are behind it in the queue.
        answers = sum(errors_seen(self.a)) - sum(before)
        took = time.monotonic() - begin
        print(f"{answers} answers to 10000 packets in {took:.1f} s")
        self.assertTrue(1 <= answers <= 50 + 10 * took + 1, answers)


if __name__ == "__main__":
    unittest.main()
