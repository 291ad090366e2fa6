"""Idle means idle: no wake-ups, little memory."""

import os
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
            limits = {provider: 16 * 1024, daemon.pid: 24 * 1024}
            for pid, limit in limits.items():
                self.assertLessEqual(resident_kib(pid), limit)
            tasks = {pid: sorted(os.listdir(f"/proc/{pid}/task")) for pid in limits}
            before = {pid: context_switches(pid) for pid in limits}
            time.sleep(60)
            for pid, limit in limits.items():
                woken = context_switches(pid) - before[pid]
                memory = resident_kib(pid)
                print(f"process {pid}: {woken} context switches in a minute, {memory} KiB resident")
                # A thread that ended would take its switches out of the sum; one that began would have been woken.
                self.assertEqual(sorted(os.listdir(f"/proc/{pid}/task")), tasks[pid])
                self.assertTrue(0 <= woken <= 5, woken)
                self.assertLessEqual(memory, limit)
            # The positive control: a question is seen in both counts.
            daemon.status("home")
            for pid in limits:
                self.assertGreater(context_switches(pid), before[pid] + 5, pid)


if __name__ == "__main__":
    unittest.main()
