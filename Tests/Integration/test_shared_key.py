"""One key on two machines: it can't be cured, and is told (C111)."""

import time
import unittest

from lab import SLACK, Lab, WireGuardGo, conf, genkey, ping, pubkey, wait_for

NOTE = "is heard from two addresses in turn: its key may be in use on two machines."


class SharedKey(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("shar")
        self.addCleanup(self.lab.close)
        self.gateway, self.one, self.two = (self.lab.namespace(name) for name in ("g", "c", "d"))
        self.lab.veth(self.gateway, self.one)
        self.lab.veth(self.gateway, self.two, network4="10.98.0.0/24", network6="fd98::/64", names=("eth1", "eth0"))
        self.daemon, self.own, self.key = self.lab.tunneld(self.gateway), genkey(), genkey()
        self.daemon.import_text("gate", conf(self.own, ["10.20.0.1/24"], [
            {"PublicKey": pubkey(self.key), "AllowedIPs": "10.20.0.2/32"}], port=51820))
        self.daemon.ctl("up", "gate")

    def client(self, namespace, gateway):
        client = WireGuardGo(self.lab, namespace, private=self.key)
        client.peer(pubkey(self.own), "10.20.0.0/24", endpoint=f"{gateway}:51820", keepalive=1)
        client.address("10.20.0.2/24")
        return client

    def notes(self):
        return [note for note in self.daemon.status("gate")["notes"] if NOTE in note]

    def test_two_machines_with_one_key_are_told_of(self):
        clients = [self.client(self.one, "10.99.0.1"), self.client(self.two, "10.98.0.1")]
        began = time.monotonic()
        wait_for("the note", self.notes, 60)
        print(f"told after {time.monotonic() - began:.0f} s")
        time.sleep(3)
        self.assertEqual(len(self.notes()), 1)
        self.assertIn(NOTE, self.daemon.ctl("status", "gate").stdout)
        log = self.daemon.process.log_path.read_text()
        self.assertEqual(log.count("its key may be in use on two machines; going on"), 1, "once an hour")
        for client in clients:
            client.stop()

    def test_a_machine_that_moves_is_not(self):
        client = self.client(self.one, "10.99.0.1")
        wait_for("the tunnel", lambda: ping(self.one, "10.20.0.1", count=1) == 1, 5 * SLACK)
        for port in range(5003, 5009):
            # As behind a NAT that forgets: wireguard-go itself stays with an address, even one that is gone.
            client.set("listen-port", port)
            wait_for("the new address", lambda: self.daemon.status("gate")["peers"][0]["endpoint"] == f"10.99.0.2:{port}",
                     5 * SLACK)
        self.assertEqual(self.notes(), [])
        client.stop()


if __name__ == "__main__":
    unittest.main()
