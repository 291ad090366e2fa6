"""Loops of 100, and what takes minutes."""

import os
import signal
import socket
import time
import unittest

import test_storms
from lab import Lab, WireGuardGo, anonymous_kib, conf, genkey, ping, pubkey, resident_kib
from test_netns_pieces import valid_mac1
from test_survival import NumberedDatagrams


class ManyStorms(test_storms.Storms):
    rounds = 100


class Loops(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("loop")
        self.addCleanup(self.lab.close)
        self.a, self.b = self.lab.pair()
        self.daemon = self.lab.tunneld(self.a, level="warning")
        self.private = genkey()
        self.peer = WireGuardGo(self.lab, self.b)
        self.peer.peer(pubkey(self.private), "10.20.0.1/32")
        self.peer.address("10.20.0.2/24")
        self.daemon.import_text("home", conf(self.private, ["10.20.0.1/24"], [
            {"PublicKey": self.peer.public, "AllowedIPs": "10.20.0.2/32", "Endpoint": "10.99.0.2:51820"}], port=51821))

    def test_a_hundred_ups_and_downs_leave_nothing(self):
        before = self.a.snapshot()
        for round in range(100):
            self.daemon.ctl("up", "home")
            self.assertEqual(ping(self.a, "10.20.0.2", count=1), 1, round)
            self.daemon.ctl("down", "home")
            self.assertEqual(self.a.snapshot(), before, round)
            if round == 10:
                memory = anonymous_kib(self.daemon.pid)
        self.assertLess(anonymous_kib(self.daemon.pid) - memory, 4096)

    def test_tunneld_killed_a_hundred_times_under_traffic(self):
        self.daemon.ctl("up", "home")
        provider = self.daemon.status("home")["providerProcess"]
        with NumberedDatagrams([(self.a, "10.20.0.1"), (self.b, "10.20.0.2")]) as traffic:
            for round in range(100):
                self.daemon.process.send_signal(signal.SIGKILL)
                self.daemon.process.wait()
                self.daemon.start()
                status = self.daemon.status("home")
                self.assertEqual((status["status"], status["providerProcess"]), ("connected", provider), round)
        traffic.check(self)

    def test_a_million_failing_initiations_leave_memory_flat(self):
        self.daemon.ctl("up", "home")
        provider = self.daemon.status("home")["providerProcess"]
        s = self.b.inside(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        public = pubkey(self.private)
        samples = [valid_mac1(public, os.urandom) for _ in range(1000)]
        start = anonymous_kib(provider)
        # The first ones fill tables that have a limit.
        for number in range(1_100_000):
            if number == 100_000:
                before = anonymous_kib(provider)
                self.assertLess(before - start, 10 * 1024)
            s.sendto(samples[number % 1000], ("10.99.0.1", 51821))
        s.close()
        time.sleep(5)
        self.assertLess(anonymous_kib(provider) - before, 1024)
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)

    def test_ten_minutes_of_traffic_leave_memory_flat(self):
        self.daemon.ctl("up", "home")
        provider = self.daemon.status("home")["providerProcess"]
        server = self.b.popen("iperf3", "-s")
        time.sleep(1)
        for direction in [], ["-R"]:
            self.a.exec("iperf3", "-c", "10.20.0.2", "-t", "15", "-P", "4", *direction, timeout=60)
        before = anonymous_kib(provider)
        self.a.exec("iperf3", "-c", "10.20.0.2", "-t", "285", "-P", "4", timeout=400)
        self.a.exec("iperf3", "-c", "10.20.0.2", "-t", "285", "-P", "4", "-R", timeout=400)
        server.kill()
        # The receive ring (64 buffers of 64 KiB) and the batch of what is sent are touched as far as bursts fill them.
        self.assertLess(anonymous_kib(provider) - before, 4096 + 512)
        self.assertLess(resident_kib(provider), 24 * 1024)
        self.assertEqual(self.daemon.status("home")["status"], "connected")


if __name__ == "__main__":
    unittest.main()
