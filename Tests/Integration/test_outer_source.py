"""The addresses that outer packets come from: none of a tunnel's own (C045)."""

import os
import re
import signal
import socket
import threading
import unittest

from lab import SLACK, Lab, WireGuardGo, conf, genkey, ping, pubkey, run, wait_for

SERVER6 = "2001:db8:97:ff::2"
SERVER4 = "198.51.100.2"
LABEL = str(0x74756e00)


class Sources:
    """The source addresses of the datagrams that arrive at a link for one of these ports."""

    def __init__(self, namespace, ports, link="eth0"):
        self.ports, self.found, self.running = ports, [], True

        def listen():
            s = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))  # ETH_P_ALL
            s.bind((link, 3))
            s.settimeout(0.1)
            return s
        self.socket = namespace.inside(listen)
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        while self.running:
            try:
                packet, address = self.socket.recvfrom(65536)
            except TimeoutError:
                continue
            if address[2] == 4:  # PACKET_OUTGOING
                continue
            if packet[0] >> 4 == 4 and packet[9] == 17:
                head, source = (packet[0] & 15) * 4, socket.inet_ntop(socket.AF_INET, packet[12:16])
            elif packet[0] >> 4 == 6 and packet[6] == 17:
                head, source = 40, socket.inet_ntop(socket.AF_INET6, packet[8:24])
            else:
                continue
            if int.from_bytes(packet[head + 2:head + 4]) in self.ports:
                self.found.append(source)

    def close(self):
        self.running = False
        self.thread.join()
        self.socket.close()


class OuterSource(unittest.TestCase):
    """The link to the servers has only a link-local address of IPv6, and none of IPv4."""

    def setUp(self):
        self.lab = Lab("src")
        self.addCleanup(self.lab.close)
        self.a, self.b, self.n = (self.lab.namespace(name) for name in ("a", "b", "n"))
        self.lab.veth(self.a, self.n, None, None, names=("eth1", "eth0"))
        self.lab.veth(self.a, self.b, None, None)
        near, far = (self.link_local(namespace) for namespace in (self.a, self.b))
        self.a.ip("-6", "route", "add", "default", "via", far, "dev", "eth0")
        self.b.ip("-6", "route", "add", "default", "via", near, "dev", "eth0")
        self.b.ip("addr", "add", f"{SERVER6}/128", "dev", "lo", "nodad")
        self.b.ip("addr", "add", f"{SERVER4}/32", "dev", "lo")
        self.a.ip("route", "add", f"{SERVER4}/32", "dev", "eth0")
        self.b.ip("route", "add", "default", "dev", "eth0")
        self.daemon = self.lab.tunneld(self.a)
        self.sources = Sources(self.b, range(51820, 51824))
        self.addCleanup(self.sources.close)

    @staticmethod
    def link_local(namespace):
        return wait_for("a link-local address", lambda: re.search(
            r"inet6 (fe80::\S+)/", namespace.ip("-6", "addr", "show", "dev", "eth0").stdout), 10).group(1)

    def tunnel(self, number, server, allowed=None):
        """A tunnel whose own addresses have more bits in common with the server than any other of the machine."""
        private = genkey()
        peer = WireGuardGo(self.lab, self.b, port=51820 + number)
        own4, own6 = f"10.2{number}.0.1", f"2001:db8:97:f{number}::1"
        peer.peer(pubkey(private), f"{own4}/32,{own6}/128")
        peer.address(f"10.2{number}.0.2/24", f"2001:db8:97:f{number}::2/64")
        host = f"[{server}]" if ":" in server else server
        self.daemon.import_text(f"t{number}", conf(private, [f"{own4}/24", f"{own6}/64"], [
            {"PublicKey": peer.public, "Endpoint": f"{host}:{51820 + number}",
             "AllowedIPs": allowed or f"10.2{number}.0.0/24, 2001:db8:97:f{number}::/64"}]))

    def labels(self):
        return [line for line in self.a.ip("addrlabel").stdout.splitlines() if f"label {LABEL}" in line]

    def test_several_tunnels_over_ipv6(self):
        """C045: a delegated prefix on another link is what outer packets come from, a tunnel's address never."""
        self.a.ip("addr", "add", "2001:db8:1::1/64", "dev", "eth1", "nodad")
        before = self.a.snapshot()
        self.tunnel(0, SERVER6)
        self.tunnel(1, SERVER6, "0.0.0.0/0, ::/0")
        self.tunnel(2, SERVER6)
        for number in range(3):
            self.daemon.ctl("up", f"t{number}")
        for number in range(3):
            # Inside, the tunnels' own addresses are what packets come from.
            self.assertEqual(ping(self.a, f"2001:db8:97:f{number}::2"), 3)
            route = self.a.ip("route", "get", f"2001:db8:97:f{number}::2").stdout
            self.assertIn(f"src 2001:db8:97:f{number}::1", route)
        self.assertEqual(set(self.sources.found), {"2001:db8:1::1"})
        self.assertEqual(len(self.labels()), 3)
        self.daemon.ctl("down", "--all")
        self.assertEqual(self.a.snapshot(), before)

    def test_labels_are_put_back_and_taken_back(self):
        """C045: also by the next tunneld, and by `repair` without one, after the interface has gone."""
        self.a.ip("addr", "add", "2001:db8:1::1/64", "dev", "eth1", "nodad")
        before = self.a.snapshot()
        self.tunnel(0, SERVER6)
        self.daemon.ctl("up", "t0")
        interface = self.daemon.status("t0")["interface"]
        self.a.ip("addrlabel", "del", "prefix", "2001:db8:97:f0::1/128", "dev", interface,
                  "label", LABEL)
        self.a.ip("addr", "del", "10.20.0.1/24", "dev", interface)
        wait_for("the label to be back", self.labels, SLACK)
        self.daemon.kill()
        for pid in run("ip", "netns", "pids", self.a.name).stdout.split():
            os.kill(int(pid), signal.SIGKILL)
        wait_for("the interface to go", lambda: self.a.ip("link", "show", interface, check=False).returncode, 10)
        self.assertEqual(len(self.labels()), 1)
        self.assertIn("label of 2001:db8:97:f0::1", self.daemon.ctl("repair").stdout)
        self.assertEqual(self.a.snapshot(), before)

    def without_source(self, server, link, *address):
        self.tunnel(0, server)
        self.daemon.ctl("up", "t0", "--no-wait")

        def reason():
            status = self.daemon.status("t0")
            return status["reason"] if "no address to send from" in (status["reason"] or "") else None
        self.assertIn("eth0 has none", wait_for("the reason", reason, 2 * SLACK))
        self.assertEqual(self.daemon.ctl("status", "t0", "--check", check=False).returncode, 3)
        self.assertEqual(self.sources.found, [])
        self.a.ip("addr", "add", *address, "dev", link)
        self.daemon.wait_status("t0", "connected", 3 * SLACK)
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        self.a.ip("addr", "del", *address[:1], "dev", link)
        self.daemon.wait_status("t0", "reasserting", 2 * SLACK)
        wait_for("the reason", reason, SLACK)
        self.a.ip("addr", "add", *address, "dev", link)
        if ":" not in server:
            # With the last address of a link go its routes.
            self.a.ip("route", "replace", f"{SERVER4}/32", "dev", "eth0")
        self.daemon.wait_status("t0", "connected", 3 * SLACK)

    def test_no_address_but_the_tunnels_over_ipv6(self):
        """C045: a link-local address leads nowhere; nothing leaves, and that is said, until there is another."""
        before = self.a.snapshot()
        self.without_source(SERVER6, "eth1", "2001:db8:1::1/64", "nodad")
        self.assertNotIn("2001:db8:97:f0::1", self.sources.found)
        self.daemon.ctl("down", "t0")
        self.a.ip("addr", "del", "2001:db8:1::1/64", "dev", "eth1")
        self.assertEqual(self.a.snapshot(), before)

    def test_no_address_but_the_tunnels_over_ipv4(self):
        """C045: the same of IPv4, where no label helps: the kernel takes the first address of any link."""
        before = self.a.snapshot()
        self.without_source(SERVER4, "eth1", "192.0.2.1/32")
        self.assertNotIn("10.20.0.1", self.sources.found)
        self.daemon.ctl("down", "t0")
        self.a.ip("addr", "del", "192.0.2.1/32", "dev", "eth1")
        self.assertEqual(self.a.snapshot(), before)


if __name__ == "__main__":
    unittest.main()
