"""Clients and tunneld may die: the tunnel doesn't notice."""

import json
import os
import signal
import socket
import struct
import threading
import time
import unittest

from lab import SLACK, Lab, ping, wait_for


class NumberedDatagrams:
    """UDP datagrams with numbers, at least 1,000 a second each way, between our end and the peer's (namespace, address).

    Where other work takes the processor, queues overflow whatever tunneld does. So ours are made long, and of what is
    missing towards the peer exactly as many as the sockets of the peer's namespace dropped are not held against us.
    """

    def __init__(self, ends, rate=1200):
        self.rate = rate
        self.sockets = []
        for namespace, address in ends:
            def make(address=address):
                s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                s.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)  # SO_RCVBUFFORCE
                s.bind((address, 7000))
                return s
            self.sockets.append(namespace.inside(make))
            for link in namespace.ip_json("link"):
                if "POINTOPOINT" in link["flags"]:
                    namespace.ip("link", "set", link["ifname"], "txqueuelen", 20_000)
        self.peer = ends[1][0]
        self.dropped = self.drops()
        self.addresses = [address for _, address in ends]
        self.sent = [0, 0]
        self.seen = [set(), set()]
        self.took = [0.0, 0.0]
        self.running = True
        self.threads = [threading.Thread(target=f, args=(i,)) for i in (0, 1) for f in (self.send, self.receive)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.running = False
        for thread in self.threads:
            thread.join()
        for s in self.sockets:
            s.close()

    def send(self, me):
        start = time.monotonic()
        while self.running:
            due = int((time.monotonic() - start) * self.rate)
            while self.sent[me] < due:
                self.sockets[me].sendto(struct.pack("!Q", self.sent[me]) + bytes(92), (self.addresses[1 - me], 7000))
                self.sent[me] += 1
            time.sleep(0.002)
        self.took[me] = time.monotonic() - start

    def receive(self, me):
        self.sockets[me].settimeout(0.5)
        while True:
            try:
                data, _ = self.sockets[me].recvfrom(2048)
            except TimeoutError:
                if not self.running:
                    return
                continue
            self.seen[me].add(struct.unpack("!Q", data[:8])[0])

    def drops(self):
        """Datagrams that waited for a socket of the peer's namespace and found it full."""
        counters = json.loads(self.peer.exec("nstat", "-ajsz", "UdpRcvbufErrors", "Udp6RcvbufErrors").stdout)["kernel"]
        return sum(counters.values())

    def check(self, test):
        """At least 1,000 a second went out each way, and none was lost."""
        rates = [sent / took for sent, took in zip(self.sent, self.took)]
        test.assertGreaterEqual(min(rates), 1000, f"the rig sent only {rates} datagrams a second")
        towards, back = (sorted(set(range(self.sent[i])) - self.seen[1 - i]) for i in (0, 1))
        test.assertEqual(back, [], "lost from the peer to us")
        dropped = self.drops() - self.dropped
        print(f"{rates[0]:.0f} and {rates[1]:.0f} datagrams a second, {dropped} dropped by the peer's own sockets")
        test.assertLessEqual(len(towards), dropped, f"lost from us to the peer, whose sockets dropped {dropped}: {towards}")


class Survival(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("surv")
        self.addCleanup(self.lab.close)
        self.a, self.b, self.daemon, self.private, self.peer = self.lab.home()

    def test_killed_clients_change_nothing(self):
        self.b.drop_udp(51820)
        up = self.daemon.popen("up", "home", log="up")
        wait_for("connecting", lambda: self.daemon.status("home")["status"] == "connecting", 10)
        up.kill()
        up.wait()
        self.b.pass_udp()
        self.daemon.wait_status("home", "connected", 70)
        before = self.daemon.status("home")
        watch = self.daemon.popen("watch", log="watch")
        wait_for("watch", lambda: watch.log_path.read_text(), 10)
        watch.kill()
        watch.wait()
        after = self.daemon.status("home")
        self.assertEqual((after["session"], after["providerProcess"], after["since"]),
                         (before["session"], before["providerProcess"], before["since"]))
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)

    def test_interrupting_up_ends_the_client_and_not_the_tunnel(self):
        self.b.drop_udp(51820)
        up = self.daemon.popen("up", "home", log="up")
        wait_for("the stages", lambda: "handshake" in up.log_path.read_text().lower(), 10)
        up.send_signal(signal.SIGINT)
        up.wait(timeout=5 * SLACK)
        self.assertEqual(self.daemon.status("home")["status"], "connecting")

    def test_tunneld_killed_under_traffic_loses_no_packet_and_the_next_one_adopts(self):
        self.daemon.ctl("up", "home")
        before = self.daemon.status("home")
        with NumberedDatagrams([(self.a, "10.20.0.1"), (self.b, "10.20.0.2")]) as traffic:
            for how in (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL):
                time.sleep(0.7)
                self.daemon.process.send_signal(how)
                self.daemon.process.wait(timeout=10 * SLACK)
                time.sleep(0.3)
                self.daemon.start()
                after = self.daemon.status("home")
                self.assertEqual(after["status"], "connected")
                self.assertEqual((after["session"], after["providerProcess"], after["interface"], after["since"]),
                                 (before["session"], before["providerProcess"], before["interface"], before["since"]))
            time.sleep(0.7)
        traffic.check(self)
        # The positive control: one number more would be missed, each way.
        for me in (0, 1):
            traffic.sent[me] += 1
            with self.assertRaisesRegex(AssertionError, "lost from"):
                traffic.dropped = traffic.drops()
                traffic.check(self)
            traffic.sent[me] -= 1
        snapshot = self.a.ip("link").stdout
        self.assertIn(before["interface"], snapshot)
        self.daemon.ctl("down", "home")
        self.assertNotIn(before["interface"], self.a.ip("link").stdout)

    def test_a_provider_that_dies_is_replaced_and_the_interface_stays(self):
        self.daemon.ctl("up", "home")
        before = self.daemon.status("home")
        index = self.a.ip_json("link", "show", before["interface"])[0]["ifindex"]
        watcher = self.daemon.popen("watch", "home", "--json", log="watch")
        wait_for("watch", lambda: watcher.log_path.read_text(), 10)
        os.kill(before["providerProcess"], signal.SIGKILL)
        after = wait_for("another provider", lambda: (s := self.daemon.status("home"))["status"] == "connected"
                         and s["providerProcess"] != before["providerProcess"] and s, 2 * SLACK)
        self.assertEqual(self.a.ip_json("link", "show", before["interface"])[0]["ifindex"], index)
        self.assertEqual(after["session"], before["session"])
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        self.assertIn("reasserting", watcher.log_path.read_text())

    def test_a_provider_that_died_with_tunneld_is_replaced_and_leaves_nothing_behind(self):
        before = self.a.snapshot()
        self.daemon.ctl("up", "home")
        up = self.daemon.status("home")
        self.daemon.kill()
        os.kill(up["providerProcess"], signal.SIGKILL)
        self.daemon.start()
        self.assertEqual(self.daemon.wait_status("home", "connected", 5 * SLACK)["session"], up["session"])
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        self.daemon.ctl("down", "home")
        self.assertEqual(self.a.snapshot(), before)


if __name__ == "__main__":
    unittest.main()
