"""Idle means idle: no wake-ups, little memory."""

import time
import unittest

from lab import Lab, WireGuardGo, conf, context_switches, genkey, ping, pubkey, resident_kib


class Idle(unittest.TestCase):
    def test_a_minute_without_traffic_wakes_nobody(self):
        with Lab("idle") as lab:
            a, b = lab.pair()
            daemon = lab.tunneld(a)
            private = genkey()
            peer = WireGuardGo(lab, b)
            peer.peer(pubkey(private), "10.20.0.1/32")
            peer.address("10.20.0.2/24")
            daemon.import_text("home", conf(private, ["10.20.0.1/24"], [
                {"PublicKey": peer.public, "AllowedIPs": "10.20.0.2/32", "Endpoint": "10.99.0.2:51820"}]))
            daemon.ctl("up", "home")
            self.assertEqual(ping(a, "10.20.0.2"), 3)
            provider = daemon.status("home")["providerProcess"]
            # The keepalive after the last packet, Dispatch's idle workers and neighbour discovery come to rest.
            time.sleep(30)
            before = {pid: context_switches(pid) for pid in (provider, daemon.pid)}
            memory = {pid: resident_kib(pid) for pid in (provider, daemon.pid)}
            time.sleep(60)
            for pid in (provider, daemon.pid):
                woken = context_switches(pid) - before[pid]
                print(f"process {pid}: {woken} context switches in a minute, {memory[pid]} KiB resident")
                self.assertLessEqual(woken, 5)
            self.assertLessEqual(memory[provider], 16 * 1024)
            self.assertLessEqual(memory[daemon.pid], 24 * 1024)


if __name__ == "__main__":
    unittest.main()
