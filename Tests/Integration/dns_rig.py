"""A laptop with name servers of its own, and gateways whose tunnels bring others along."""

import unittest

from box import Box, NameServer
from lab import Lab, WireGuardGo, conf, genkey, pubkey


class DNSRig(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("dns")
        self.addCleanup(self.lab.close)
        self.a, self.b = Box(self.lab, "a"), self.lab.namespace("b")
        self.lab.veth(self.a, self.b)
        self.inet = NameServer(self.lab, self.b, "10.99.0.2", {"test": "192.0.2.80", "gateway.test": "10.99.0.2"})
        self.behind = {}

    def add(self, daemon, number=1, dns=None, allowed=None, endpoint="10.99.0.2", name=None):
        """A tunnel to a gateway with a name server behind it, which answers every name with an address of its own."""
        private = genkey()
        peer = WireGuardGo(self.lab, self.b, port=51820 + number)
        peer.peer(pubkey(private), f"10.2{number}.0.1/32")
        peer.address(f"10.2{number}.0.2/24")
        self.behind[number] = NameServer(self.lab, self.b, f"10.2{number}.0.2", {"test": f"10.2{number}.0.80"})
        name = name or f"t{number}"
        extra = {} if dns == "" else {"DNS": dns or f"10.2{number}.0.2, corp{number}.test"}
        daemon.import_text(name, conf(private, [f"10.2{number}.0.1/24"], [
            {"PublicKey": peer.public, "AllowedIPs": allowed or f"10.2{number}.0.0/24",
             "Endpoint": f"{endpoint}:{51820 + number}"}], **extra))
        return peer

    def look_up(self, name):
        """What a program gets for a name: the first address, or nothing."""
        result = self.a.exec("getent", "ahostsv4", name, check=False, timeout=60, env=self.a.environment)
        return result.stdout.split()[0] if result.stdout else ""

    def asked(self):
        """By server: the names that it was asked for since the last time."""
        found = {"inet": self.inet.asked(), **{number: server.asked() for number, server in self.behind.items()}}
        for server in (self.inet, *self.behind.values()):
            server.forget()
        return found

    def goes_to(self, name, server):
        """Looks a name up; one server was asked, and no other."""
        self.asked()
        answer = self.look_up(name)
        asked = {key for key, names in self.asked().items() if name in names}
        self.assertEqual(asked, {server}, f"{name} was answered with {answer!r}")
        self.assertEqual(answer, "192.0.2.80" if server == "inet" else f"10.2{server}.0.80")

    def up(self, daemon, name, *options):
        return daemon.ctl("up", name, *options)

    def dns(self, daemon, name):
        return daemon.status(name)["dns"]
