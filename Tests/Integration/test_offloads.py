"""Offloads come and go, by hand and at the links, while traffic flows."""

import json
import socket
import threading
import time
import unittest

from lab import SLACK, Lab, wait_for

ETH_P_ALL = 3
PACKET_OUTGOING = 4


class Lengths:
    """The longest packet that leaves, and that comes in, over an interface."""

    def __init__(self, namespace, interface):
        def tap():
            s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
            s.bind((interface, ETH_P_ALL))
            s.settimeout(0.1)
            return s
        self.tap = namespace.inside(tap)

    def longest(self, seconds):
        """Over a while, as (out, in); (0, 0) where nothing passed."""
        out = come = 0
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                data, (_, _, kind, *_) = self.tap.recvfrom(65536)
            except TimeoutError:
                continue
            if kind == PACKET_OUTGOING:
                out = max(out, len(data))
            else:
                come = max(come, len(data))
        return out, come

    def close(self):
        self.tap.close()


class Stream:
    """Bytes through the tunnel for as long as it is wanted, numbered, both ways at once."""

    def __init__(self, a, b, address="10.20.0.2", port=7100):
        listener = b.inside(lambda: socket.create_server((address, port)))
        self.ends = [a.inside(lambda: socket.create_connection((address, port), timeout=30)), listener.accept()[0]]
        listener.close()
        self.running, self.moved, self.bad = True, [0, 0], []
        self.block = bytes(range(251)) * 261
        self.threads = [threading.Thread(target=work, args=(index,), daemon=True)
                        for index in (0, 1) for work in (self.send, self.receive)]
        for thread in self.threads:
            thread.start()

    def send(self, index):
        try:
            while self.running:
                self.ends[index].sendall(self.block)
            self.ends[index].shutdown(socket.SHUT_WR)
        except OSError as error:
            self.bad.append(error)

    def receive(self, index):
        count = 0
        size = len(self.block)
        try:
            while data := self.ends[index].recv(1 << 18):
                start = count % size
                expected = (self.block[start:] + self.block * (len(data) // size + 1))[:len(data)]
                if data != expected:
                    self.bad.append(f"other bytes after {count}")
                    return
                count += len(data)
                self.moved[index] = count
        except OSError as error:
            self.bad.append(error)

    def goes_on(self):
        before = list(self.moved)
        wait_for("bytes both ways", lambda: all(now > then + (1 << 20) for now, then in zip(self.moved, before)),
                 10 * SLACK)

    def close(self):
        self.running = False
        for thread in self.threads:
            thread.join(30)
        for end in self.ends:
            end.close()


class Offloads(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("off")
        self.addCleanup(self.lab.close)
        self.a, self.b, self.daemon, _, self.peer = self.lab.home()
        self.daemon.ctl("up", "home")
        self.provider = self.daemon.status("home")["providerProcess"]
        self.stream = Stream(self.a, self.b)
        self.addCleanup(self.stream.close)
        self.wire = Lengths(self.a, "eth0")
        self.addCleanup(self.wire.close)
        self.inside = Lengths(self.a, self.daemon.status("home")["interface"])
        self.addCleanup(self.inside.close)

    def switch_off(self, names):
        self.daemon.ctl("set", "home", f"provider.configuration.disabledOffloads={names}")
        note = f"Switched off by disabledOffloads: {names.replace(',', ', ')}."
        wait_for("status to say so", lambda: (note in self.daemon.status("home")["notes"]) == bool(names)
                 and (names or not any("disabledOffloads" in n for n in self.daemon.status("home")["notes"])), SLACK)
        self.stream.goes_on()
        # What was under way before is through by now.
        self.wire.longest(0.3)
        self.inside.longest(0.3)

    def still_well(self):
        self.assertEqual(self.stream.bad, [])
        status = self.daemon.status("home")
        self.assertEqual((status["status"], status["providerProcess"]), ("connected", self.provider))

    def test_each_is_switched_off_and_on_by_hand(self):
        self.stream.goes_on()
        out, _ = self.wire.longest(1)
        self.assertGreater(out, 1514)
        out, come = self.inside.longest(1)
        self.assertGreater(min(out, come), 1420)
        for names, tap, side, limit in (("udp-segmentation", self.wire, 0, 1514), ("tun-segmentation", self.inside, 0, 1420),
                                        ("tun-coalescing", self.inside, 1, 1420)):
            with self.subTest(names):
                self.switch_off(names)
                longest = tap.longest(1)
                self.assertGreater(longest[side], 1000)
                self.assertLessEqual(longest[side], limit)
                self.switch_off("")
                self.assertGreater(tap.longest(1)[side], limit)
                self.still_well()
        for names in ("udp-coalescing", "batches", "intel-ipsec-mb",
                      "batches,intel-ipsec-mb,tun-coalescing,tun-segmentation,udp-coalescing,udp-segmentation"):
            with self.subTest(names):
                self.switch_off(names)
                self.switch_off("")
                self.still_well()

    def test_a_provider_begins_without_what_is_switched_off(self):
        self.switch_off("tun-coalescing,udp-segmentation")
        self.daemon.ctl("down", "home")
        self.daemon.ctl("up", "home")
        self.assertIn("Switched off by disabledOffloads: tun-coalescing, udp-segmentation.", self.daemon.status("home")["notes"])

    def test_an_offload_that_there_is_not_is_refused_by_name(self):
        result = self.daemon.ctl("set", "home", "provider.configuration.disabledOffloads=batches,gro", check=False)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("disabledOffloads[1]", result.stderr)
        self.assertIn("is none of tun-segmentation, tun-coalescing, ", result.stderr)
        self.still_well()

    def test_those_of_the_links_come_and_go(self):
        for feature in ("tx", "gso", "gro", "tx-udp-segmentation"):
            for namespace in (self.a, self.b):
                for state in ("off", "on"):
                    with self.subTest(f"{feature} {state} in {namespace.name}"):
                        namespace.exec("ethtool", "-K", "eth0", feature, state)
                        self.stream.goes_on()
                        self.still_well()
        features = json.loads(self.a.exec("ethtool", "--json", "-k", "eth0").stdout)[0]
        self.assertTrue(features["tx-udp-segmentation"]["active"], features["tx-udp-segmentation"])


if __name__ == "__main__":
    unittest.main()
