"""Hostile input: any datagram on the UDP port, any bytes on the control socket."""

import base64
import json
import os
import random
import re
import signal
import socket
import struct
import time
import unittest

from lab import SLACK, Lab, WireGuardGo, anonymous_kib, conf, genkey, ping, pubkey, replies, resident_kib, wait_for


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = Lab("host")
        cls.addClassCleanup(cls.lab.close)
        cls.a, cls.b = cls.lab.pair()
        cls.daemon = cls.lab.tunneld(cls.a, level="warning")
        cls.private = genkey()
        cls.peer = WireGuardGo(cls.lab, cls.b)
        cls.peer.peer(pubkey(cls.private), "10.20.0.1/32", endpoint="10.99.0.1:51821")
        cls.peer.address("10.20.0.2/24")
        cls.daemon.import_text("home", conf(cls.private, ["10.20.0.1/24"], [
            {"PublicKey": cls.peer.public, "AllowedIPs": "10.20.0.2/32", "Endpoint": "10.99.0.2:51820"}], port=51821))
        cls.daemon.ctl("up", "home")
        cls.provider = cls.daemon.status("home")["providerProcess"]
        # Traffic passes all the while, and what was touched at the start is not taken for a leak.
        assert ping(cls.a, "10.20.0.2", count=20, interval=0.05) == 20
        cls.touch()
        cls.anonymous = {pid: anonymous_kib(pid) for pid in (cls.provider, cls.daemon.pid)}
        cls.pinger = cls.a.popen("ping", "-n", "-i", "0.05", "10.20.0.2", log="ping")
        cls.since = time.monotonic()

    @classmethod
    def touch(cls):
        """Has both use what they have once: how much of its buffers a provider fills depends on how far it is behind."""
        os.kill(cls.provider, signal.SIGSTOP)
        s = cls.b.inside(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        for _ in range(200):
            s.sendto(bytes([4, 0, 0, 0]) + bytes(65000), ("10.99.0.1", 51821))
        s.close()
        os.kill(cls.provider, signal.SIGCONT)
        cls.half_messages()
        wait_for("the provider to answer", lambda: cls.daemon.status("home")["status"] == "connected", 5)

    @classmethod
    def half_messages(cls):
        connections = []
        for _ in range(1000):
            connection = cls.daemon.connect()
            connection.send(b'{"method":"org.varlink')
            connections.append(connection)
        cls.daemon.status("home")
        for connection in connections:
            connection.close()

    @classmethod
    def tearDownClass(cls):
        # A hundred at least, also where a single test was asked for.
        time.sleep(max(0, cls.since + 6 - time.monotonic()))
        cls.pinger.send_signal(signal.SIGINT)
        cls.pinger.wait(timeout=30)
        sent, answered = map(int, re.search(
            r"(\d+) packets transmitted, (\d+) received", cls.pinger.log_path.read_text()).groups())
        print(f"{answered} of {sent} pings answered")
        assert sent >= 100 and answered >= 0.99 * sent, f"only {answered} of {sent} pings were answered"

        def grown():
            return {pid: anonymous_kib(pid) - before for pid, before in cls.anonymous.items()}
        # What a client took goes back to the system soon after it left, not at once.
        wait_for(f"the memory to be what it was, less than 4 MiB more: {grown()}",
                 lambda: max(grown().values()) < 4096, 2 * SLACK)
        print(f"grown by {list(grown().values())} KiB")

    def setUp(self):
        self.memory = {pid: resident_kib(pid) for pid in (self.provider, self.daemon.pid)}

    def still_well(self, growth_kib=10 * 1024):
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        status = self.daemon.status("home")
        self.assertEqual(status["status"], "connected")
        self.assertEqual(status["providerProcess"], self.provider)
        for pid, before in self.memory.items():
            self.assertLess(resident_kib(pid) - before, growth_kib, f"process {pid}")

    # The UDP port

    def datagrams(self, make, count, addresses=("10.99.0.1", "fd99::1")):
        """So many to each address."""
        for address in addresses:
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            s = self.b.inside(lambda: socket.socket(family, socket.SOCK_DGRAM))
            sent = 0
            for number in range(count):
                try:
                    s.sendto(make(number), (address, 51821))
                    sent += 1
                except OSError:
                    pass
            s.close()
            self.assertGreater(sent, 0.9 * count, address)

    def test_random_datagrams_of_every_length_and_type(self):
        chance = random.Random(1)
        self.datagrams(lambda n: bytes([n % 256]) + chance.randbytes(chance.randrange(0, 2000)), 20000)
        self.datagrams(lambda n: bytes([1 + n % 4, 0, 0, 0]) + chance.randbytes((0, 28, 60, 88, 144)[n % 5]), 20000)
        self.datagrams(lambda n: b"", 100)
        self.datagrams(lambda n: bytes([4, 0, 0, 0]) + bytes(65000), 200)
        self.still_well()

    def test_recorded_datagrams_truncated_flipped_and_replayed(self):
        """What really passed between the two is sent again, changed in every way."""
        capture = self.lab.folder / "capture.pcap"
        dump = self.b.popen("tcpdump", "-i", "eth0", "-U", "-w", capture, "udp", "and", "dst", "port", "51821")
        wait_for("tcpdump", lambda: capture.exists() and capture.stat().st_size >= 24, 10)
        # A new session, so that there is a handshake to record. Nobody pings a peer that is away.
        self.pinger.send_signal(signal.SIGSTOP)
        self.peer.set("peer", pubkey(self.private), "remove")
        self.peer.peer(pubkey(self.private), "10.20.0.1/32", endpoint="10.99.0.1:51821")
        self.assertGreater(ping(self.b, "10.20.0.1", count=20, interval=0.05), 0)
        self.pinger.send_signal(signal.SIGCONT)
        time.sleep(0.5)
        dump.terminate()
        dump.wait()
        data, recorded, at = capture.read_bytes(), [], 24
        while at < len(data):
            length = struct.unpack("<I", data[at + 8:at + 12])[0]
            recorded.append(data[at + 16 + 42:at + 16 + length])
            at += 16 + length
        self.assertIn(1, {packet[0] for packet in recorded})
        self.assertIn(4, {packet[0] for packet in recorded})
        chance = random.Random(2)

        def changed(number):
            packet = bytearray(chance.choice(recorded))
            how = number % 4
            if how == 0:
                return bytes(packet)
            if how == 1:
                return bytes(packet[:chance.randrange(len(packet))])
            if how == 2:
                packet[chance.randrange(len(packet))] ^= 1 << chance.randrange(8)
                return bytes(packet)
            packet[0] = chance.randrange(256)
            return bytes(packet)

        self.datagrams(changed, 40000)
        self.still_well()
        # None of them moved the endpoint: the sender's port was never the peer's.
        self.assertEqual(self.daemon.status("home")["peers"][0]["endpoint"], "10.99.0.2:51820")

    # The control socket

    def expect_error(self, data, error):
        with self.daemon.connect() as connection:
            connection.sendall(data)
            reply = next(replies(connection))
            self.assertIn("error", reply)
            self.assertIn(reply["error"], error if isinstance(error, tuple) else (error,))
            return reply

    def test_broken_messages_get_an_error_that_names_the_fault(self):
        malformed = ("org.tunneld.MalformedMessage", "org.varlink.service.InvalidParameter")
        for text in (b"{", b"", b"[]", b"nonsense", b'{"method":5}', b'{"parameters":{}}', b'"x"', b"\xff\xfe",
                     b'{"method":"org.tunneld.Sessions.Status","parameters":7}',
                     b'{"method":"org.varlink.service.GetInfo","more":"yes"}',
                     b"[" * 100000, b'{"method":"x","parameters":' + b'{"a":' * 5000 + b"1" + b"}" * 5001):
            reply = self.expect_error(text + b"\0", malformed + (
                "org.varlink.service.InterfaceNotFound", "org.varlink.service.MethodNotFound"))
            self.assertTrue(json.dumps(reply.get("parameters", {})) != "{}", text[:30])
        self.still_well()

    def test_unknown_methods_are_named(self):
        self.expect_error(b'{"method":"org.example.Nothing.At"}\0', "org.varlink.service.InterfaceNotFound")
        reply = self.expect_error(b'{"method":"org.tunneld.Sessions.Fly"}\0', "org.varlink.service.MethodNotFound")
        self.assertIn("Fly", reply["parameters"]["method"])
        reply = self.expect_error(
            b'{"method":"org.tunneld.Sessions.Start","parameters":{"identifier":7}}\0',
            "org.varlink.service.InvalidParameter")
        self.assertEqual(reply["parameters"]["parameter"], "identifier")
        self.expect_error(
            b'{"method":"org.tunneld.Sessions.Start","parameters":{"identifier":"none"}}\0',
            "org.tunneld.ConfigurationUnknown")

    def test_a_hundred_megabytes_without_a_terminator(self):
        with self.daemon.connect() as connection:
            block, sent = b"a" * 65536, 0
            try:
                while sent < 100 << 20:
                    sent += connection.send(block)
            except OSError:
                pass
        self.assertLess(sent, 100 << 20)
        self.still_well()

    def test_what_large_half_messages_took_goes_back_to_the_system(self):
        before = anonymous_kib(self.daemon.pid)
        for _ in range(2):
            connections = [self.daemon.connect() for _ in range(100)]
            for connection in connections:
                try:
                    connection.sendall(b'{"method":"' + b"a" * (900 << 10))
                except OSError:
                    pass  # All together have a limit.
            self.assertGreater(anonymous_kib(self.daemon.pid), before + 10 * 1024)
            for connection in connections:
                connection.close()
            wait_for("the memory of 100 half messages to be given back",
                     lambda: anonymous_kib(self.daemon.pid) < before + 3 * 1024, 10)
        self.still_well()

    def test_a_message_beyond_the_limit_is_told(self):
        with self.daemon.connect() as connection:
            try:
                connection.sendall(b'{"method":"' + b"a" * (5 << 20))
            except OSError:
                pass
            reply = next(replies(connection))
            self.assertEqual(reply["error"], "org.tunneld.MalformedMessage")
            self.assertIn("4", json.dumps(reply["parameters"]))

    def test_clients_that_never_read(self):
        connections = []
        for _ in range(20):
            connection = self.daemon.connect()
            connection.setblocking(False)
            call = b'{"method":"org.varlink.service.GetInterfaceDescription",' \
                   b'"parameters":{"interface":"org.tunneld.Sessions"}}\0'
            try:
                for _ in range(20000):
                    connection.send(call)
            except OSError:
                pass
            connections.append(connection)
        started = time.monotonic()
        self.daemon.status("home")
        self.assertLess(time.monotonic() - started, 5)
        self.still_well(growth_kib=32 * 1024)
        for connection in connections:
            connection.close()

    def test_a_thousand_connections_and_half_messages(self):
        self.half_messages()
        self.still_well(growth_kib=24 * 1024)

    def test_random_bytes(self):
        chance = random.Random(3)
        for _ in range(300):
            with self.daemon.connect() as connection:
                # The first message ends where chance has put a zero byte, or at the end.
                data = chance.randbytes(chance.randrange(1, 5000)) + b"\0"
                try:
                    connection.sendall(data)
                except OSError:
                    pass  # It hangs up after its answer to the first.
                reply = next(replies(connection))
                self.assertEqual(reply["error"], "org.tunneld.MalformedMessage", data[:40])
                self.assertTrue(reply["parameters"]["message"], reply)
        self.still_well()

    def test_wrong_documents_save_nothing(self):
        before = self.daemon.json("list")
        good = self.daemon.call("org.tunneld.Configurations.Load",
                                {"identifier": before[0]["identifier"]})["parameters"]["configuration"]
        for key, value in (("name", 5), ("name", ""), ("type", "l2tp"), ("type", None), ("provider", []),
                           ("provider", {"identifier": "org.tunneld.wireguard", "configuration": {"peers": 3}}),
                           ("owner", {"user": -1}), ("version", 99), ("identifier", "../../etc/passwd")):
            document = dict(good, **{key: value})
            reply = self.daemon.call("org.tunneld.Configurations.Save",
                                     {"configuration": document, "generation": good["generation"]})
            self.assertIn("error", reply, (key, value))
        reply = self.daemon.call("org.tunneld.Configurations.Save", {"configuration": good})
        self.assertEqual(reply["error"], "org.tunneld.ConfigurationStale")
        self.assertEqual(reply["parameters"]["code"], 4)
        self.assertEqual(self.daemon.json("list"), before)
        again = self.daemon.call("org.tunneld.Configurations.Load", {"identifier": before[0]["identifier"]})
        self.assertEqual(again["parameters"]["configuration"], good)


if __name__ == "__main__":
    unittest.main()
