"""A provider that dies or hangs is replaced: the interface stays, nothing leaks, connections inside go on."""

import ctypes
import datetime
import json
import os
import signal
import socket
import threading
import time
import unittest
from pathlib import Path

from control_groups import Freezer, MemoryGroup
from lab import SLACK, Lab, WireGuardGo, conf, context_switches, genkey, name_of, ping, pubkey, run, wait_for

_libc = ctypes.CDLL(None, use_errno=True)


class Echo:
    """A TCP connection through the tunnel, from us to the peer, which sends back what it gets."""

    def __init__(self, client, server, address, port=7001):
        listener = server.inside(lambda: socket.create_server((address, port)))
        self.client = client.inside(lambda: socket.create_connection((address, port), timeout=30))
        self.server, _ = listener.accept()
        listener.close()
        self.thread = threading.Thread(target=self.answer, daemon=True)
        self.thread.start()

    def answer(self):
        while True:
            try:
                data = self.server.recv(4096)
            except OSError:
                return
            if not data:
                return
            self.server.sendall(data)

    def works(self):
        text = os.urandom(64)
        self.client.sendall(text)
        got = b""
        while len(got) < len(text):
            part = self.client.recv(4096)
            if not part:
                return False
            got += part
        return got == text

    def close(self):
        self.client.close()
        try:
            self.server.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # It has ended, or was closed before.
        self.thread.join()
        self.server.close()


class Underlay:
    """Counts the frames with a mark that arrive at an interface in the clear."""

    def __init__(self, namespace, interface, mark):
        def make():
            s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
            s.bind((interface, 0))
            s.settimeout(0.2)
            return s
        self.mark, self.count, self.running = mark, 0, True
        self.socket = namespace.inside(make)
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        while self.running:
            try:
                if self.mark in self.socket.recv(65536):
                    self.count += 1
            except TimeoutError:
                pass

    def close(self):
        self.running = False
        self.thread.join()
        self.socket.close()


class Marked:
    """Sends marked datagrams without a pause; what the machine refuses to send is no leak."""

    def __init__(self, namespace, address, mark, port=9):
        self.socket = namespace.inside(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self.running, self.sent, self.refused = True, 0, 0

        def send():
            while self.running:
                try:
                    self.socket.sendto(mark * 4, (address, port))
                    self.sent += 1
                except OSError:
                    self.refused += 1
                time.sleep(0.002)
        self.thread = threading.Thread(target=send, daemon=True)
        self.thread.start()

    def close(self):
        self.running = False
        self.thread.join()
        self.socket.close()


class Events:
    """The events of one configuration, as `watch --json` prints them."""

    def __init__(self, daemon, name):
        self.process = daemon.popen("watch", name, "--json", log="watch")
        wait_for("watch", self.all, 10)

    def all(self):
        return [json.loads(line) for line in self.process.log_path.read_text().splitlines() if line.endswith("}")]

    def next(self, seen, status, timeout):
        """The first event with this status behind the first `seen`."""
        return wait_for(f"an event {status}", lambda: next(
            (event for event in self.all()[seen:] if event["status"] == status), None), timeout)


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def exists(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def providers(namespace):
    """The providers that live in a namespace."""
    pids = map(int, run("ip", "netns", "pids", namespace.name).stdout.split())
    return [pid for pid in pids if name_of(pid) == "tunnel-provider-wireguard" and exists(pid)]


def stop(pid):
    """Stops a process, and waits until the last of its threads has."""
    os.kill(pid, signal.SIGSTOP)
    wait_for("all threads to be stopped", lambda: all(
        (task / "stat").read_text().rsplit(")", 1)[1].split()[0] == "T" for task in Path(f"/proc/{pid}/task").iterdir()),
        10)


class ProviderLoss(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("loss")
        self.addCleanup(self.lab.close)
        self.a, self.b, self.daemon, self.private, self.peer = self.lab.home()
        self.before = self.a.snapshot()

    def up(self):
        self.daemon.ctl("up", "home")
        self.events = Events(self.daemon, "home")
        return self.daemon.status("home")

    def network(self):
        return [self.a.ip(*what).stdout for what in (
            ("-o", "link"), ("-o", "addr"), ("rule",), ("route", "show", "table", "all"))]

    def replaced(self, before, seen, timeout=2 * SLACK):
        """The event that told the loss, and the status once another provider is connected."""
        lost = self.events.next(seen, "reasserting", timeout)
        # What is told meanwhile is the newest that was, not what the lost one told by itself.
        for old, new in zip(before["peers"], lost["snapshot"]["peers"]):
            self.assertGreaterEqual((new["receivedBytes"], new["sentBytes"]), (old["receivedBytes"], old["sentBytes"]))
        after = wait_for("another provider", lambda: (s := self.daemon.status("home"))["status"] == "connected"
                         and s["providerProcess"] != before["providerProcess"] and s, timeout)
        self.assertFalse(exists(before["providerProcess"]))
        self.assertEqual((after["session"], after["interface"], after["listenPort"]),
                         (before["session"], before["interface"], before["listenPort"]))
        self.counters_go_on(before, after)
        losses = [(status["providerLosses"] or {"count": 0})["count"] for status in (before, after)]
        self.assertEqual(losses[1], losses[0] + 1)
        self.assertTrue(after["providerLosses"]["reason"])
        return lost, after

    def counters_go_on(self, before, after):
        for key, value in before["counters"].items():
            if key.endswith(("Bytes", "Packets", "Dropped")):
                self.assertGreaterEqual(after["counters"][key], value, key)
        self.assertEqual(after["counters"]["since"], before["counters"]["since"])
        transfer = dict(
            (key, (int(received), int(sent))) for key, received, sent in
            map(str.split, self.a.exec("wg", "show", after["interface"], "transfer").stdout.splitlines()))
        self.assertEqual([peer["publicKey"] for peer in after["peers"]], [peer["publicKey"] for peer in before["peers"]])
        for old, new in zip(before["peers"], after["peers"]):
            for number, key in enumerate(("receivedBytes", "sentBytes")):
                self.assertGreaterEqual(new[key], old[key], key)
                self.assertGreaterEqual(transfer[new["publicKey"]][number], old[key], key)

    def test_each_signal_that_ends_it(self):
        for number, word in [
                (signal.SIGKILL, "Killed"), (signal.SIGSEGV, "Segmentation fault"), (signal.SIGABRT, "Aborted"),
                (signal.SIGBUS, "Bus error"), (signal.SIGTERM, "exited with status 0")]:
            with self.subTest(word):
                before = self.up()
                echo, network = Echo(self.a, self.b, "10.20.0.2"), self.network()
                self.addCleanup(echo.close)
                self.assertTrue(echo.works())
                before = self.daemon.status("home")
                seen, start = len(self.events.all()), time.time()
                os.kill(before["providerProcess"], number)
                told, after = self.replaced(before, seen)
                self.assertLess(moment(told["time"]) - start, 0.1 * SLACK)
                # One that ends by itself may say so before.
                reasons = [event["reason"] for event in self.events.all()[seen:] if event["status"] == "reasserting"]
                self.assertTrue(all(reasons), reasons)
                self.assertTrue(any("The tunnel's provider ended." in reason and word in reason for reason in reasons),
                                reasons)
                connected = self.events.next(seen, "connected", 1)
                self.assertLess(moment(connected["time"]) - start, 2 * SLACK)
                self.assertEqual(self.network(), network)
                self.assertTrue(echo.works())
                echo.close()
                self.daemon.ctl("down", "home")
                self.assertEqual(self.a.snapshot(), self.before)

    def test_one_that_is_stopped_is_found_when_a_packet_waits(self):
        before = self.up()
        echo = Echo(self.a, self.b, "10.20.0.2")
        self.addCleanup(echo.close)
        stop(before["providerProcess"])
        # Nobody asks while there is nothing to do. The connection's last packets may still be on their way.
        seen, start = len(self.events.all()), time.time()
        self.assertTrue(echo.works())
        lost, after = self.replaced(before, seen, 5 * SLACK)
        self.assertLess(moment(lost["time"]) - start, 3 * SLACK)
        self.assertIn("The tunnel's provider hung.", lost["reason"])
        self.assertIn("while packets waited, and was killed.", lost["reason"])
        self.assertTrue(echo.works())

    def test_a_packet_from_outside_that_waits_is_found_too(self):
        before = self.up()
        time.sleep(1)
        stop(before["providerProcess"])
        seen = len(self.events.all())
        ping(self.b, "10.20.0.1", count=1)
        lost, _ = self.replaced(before, seen, 5 * SLACK)
        self.assertIn("while packets waited", lost["reason"])

    def test_one_whose_packet_loop_alone_hangs(self):
        before = self.up()
        with_traffic = self.b.popen("iperf3", "-s", "-1")
        time.sleep(0.5)
        client = self.a.popen("iperf3", "-c", "10.20.0.2", "-t", "30")
        time.sleep(2)
        tracer = wait_for("the loop's thread to be stopped", lambda: self.stop_loop(before), 10)
        seen, start = len(self.events.all()), time.time()
        try:
            # Its control queue answers still.
            self.assertEqual(self.daemon.status("home")["providerProcess"], before["providerProcess"])
            lost = self.events.next(seen, "reasserting", 3 * SLACK)
            self.assertLess(moment(lost["time"]) - start, 3 * SLACK)
            self.assertIn("while packets waited", lost["reason"])
        finally:
            tracer.close()
            client.kill()
            with_traffic.kill()
        self.replaced(before, seen, 5 * SLACK)

    def stop_loop(self, status):
        """Stops the thread that carries the packets at this moment; nothing where it was another one."""
        tracer = Tracer(busiest_thread(status["providerProcess"]))
        before = self.sent(status["interface"])
        time.sleep(0.1)
        if self.sent(status["interface"]) - before < 3:
            return tracer
        tracer.close()
        return None

    def sent(self, interface):
        return self.a.ip_json("-s", "link", "show", interface)[0]["stats64"]["tx"]["packets"]

    def test_one_that_is_idle_is_asked_nothing(self):
        before = self.up()
        time.sleep(12)
        stop(before["providerProcess"])
        switches = context_switches(self.daemon.pid)
        time.sleep(6)
        self.assertLessEqual(context_switches(self.daemon.pid) - switches, 5)
        self.assertTrue(exists(before["providerProcess"]))
        os.kill(before["providerProcess"], signal.SIGCONT)
        after = self.daemon.status("home")
        self.assertEqual((after["status"], after["providerProcess"]), ("connected", before["providerProcess"]))

    def test_a_full_load_of_packets_costs_tunneld_next_to_nothing(self):
        provider = self.up()["providerProcess"]
        self.b.popen("iperf3", "-s", "-1")
        time.sleep(0.5)
        client = self.a.popen("iperf3", "-c", "10.20.0.2", "-t", "12")
        time.sleep(2)
        before = context_switches(self.daemon.pid)
        time.sleep(8)
        switches = context_switches(self.daemon.pid) - before
        client.wait(timeout=60)
        print(f"{switches} context switches of tunneld in 8 s of full load")
        self.assertLess(switches, 8 * 50)
        self.assertEqual(self.daemon.status("home")["providerProcess"], provider)

    def test_a_call_that_waits_finds_it(self):
        before = self.up()
        seen, start = len(self.events.all()), time.time()
        stop(before["providerProcess"])
        status = self.daemon.status("home")
        self.assertEqual((status["status"], status["peers"]), ("reasserting", []))
        lost, _ = self.replaced(before, seen, 5 * SLACK)
        self.assertLess(moment(lost["time"]) - start, 3 * SLACK)
        self.assertIn("while a call waited", lost["reason"])

    def test_again_and_again_ends_the_session_with_what_was_lost(self):
        status = self.up()
        for _ in range(4):
            provider = status["providerProcess"]
            os.kill(provider, signal.SIGKILL)
            status = wait_for("another provider", lambda: (s := self.daemon.status("home"))["providerProcess"]
                              not in (None, provider) and s["status"] == "connected" and s, 5 * SLACK)
        os.kill(status["providerProcess"], signal.SIGKILL)
        status = self.daemon.wait_status("home", "disconnected", 2 * SLACK)
        error = status["lastDisconnectError"]
        self.assertEqual(error["message"], "The tunnel broke 5 times within 60 seconds, and is given up.")
        self.assertIn("5 times: The tunnel's provider ended. Process", error["reason"])
        self.assertEqual(self.a.snapshot(), self.before)

    def test_of_the_interface_again_and_again_says_so(self):
        status = self.up()
        for _ in range(4):
            provider = status["providerProcess"]
            self.a.ip("link", "del", status["interface"])
            status = wait_for("the interface", lambda: (s := self.daemon.status("home"))["providerProcess"]
                              not in (None, provider) and s["status"] == "connected" and s, 5 * SLACK)
        self.a.ip("link", "del", status["interface"])
        error = self.daemon.wait_status("home", "disconnected", 2 * SLACK)["lastDisconnectError"]
        self.assertIn(f"5 times: The interface {status['interface']} was deleted from outside.", error["reason"])

    def test_one_that_does_not_die_is_not_replaced_before_it_has(self):
        before = self.up()
        freezer = Freezer()
        self.addCleanup(freezer.close)
        freezer.freeze(before["providerProcess"])
        ping(self.a, "10.20.0.2", count=1)
        told = wait_for("what stands in the way", lambda: (s := self.daemon.status("home"))["reason"] and (
            "the old one doesn't end" in s["reason"]) and s, 20 * SLACK)
        self.assertEqual((told["status"], told["providerProcess"]), ("reasserting", before["providerProcess"]))
        self.assertEqual(providers(self.a), [before["providerProcess"]])
        freezer.thaw()
        after = self.daemon.wait_status("home", "connected", 15 * SLACK)
        self.assertEqual((after["session"], after["interface"]), (before["session"], before["interface"]))
        self.assertEqual(providers(self.a), [after["providerProcess"]])
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)

    def test_the_wall_clock_went_back_meanwhile(self):
        before = self.up()
        # What was sent last is a year ahead of the clock, as if the clock had been put back since.
        path = self.daemon.state / "timestamps" / before["identifier"]
        sent = path.read_text()
        latest = f"{int(sent[:16], 16) + 31_536_000:016x}{sent[16:]}"
        path.write_text(latest)
        for _ in range(2):
            # The first provider tells the peer that time; only one that goes on from there is heard by it again.
            status = self.daemon.status("home")
            seen = len(self.events.all())
            os.kill(status["providerProcess"], signal.SIGKILL)
            self.replaced(status, seen)
            latest = wait_for("a later timestamp", lambda: (now := path.read_text()) > latest and now, 2 * SLACK)
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)

    def test_packets_meanwhile_wait_in_the_devices_queue_or_are_counted(self):
        before = self.up()
        length = 50
        self.a.ip("link", "set", before["interface"], "txqueuelen", str(length))
        receiver = self.b.inside(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        receiver.bind(("10.20.0.2", 7002))
        receiver.settimeout(3)
        sender = self.a.inside(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self.addCleanup(receiver.close)
        self.addCleanup(sender.close)
        before = self.daemon.status("home")
        stop(before["providerProcess"])
        seen = len(self.events.all())
        for number in range(500):
            sender.sendto(b"%d" % number, ("10.20.0.2", 7002))
        _, after = self.replaced(before, seen, 5 * SLACK)
        arrived = 0
        try:
            while True:
                receiver.recv(2048)
                arrived += 1
        except TimeoutError:
            pass
        dropped = after["counters"]["sentDropped"] - before["counters"]["sentDropped"]
        self.assertGreater(arrived, 0)
        self.assertLessEqual(arrived, length + 1)
        self.assertGreaterEqual(arrived + dropped, 500)
        self.assertLessEqual(dropped, 500)


class Gateway(unittest.TestCase):
    """Peers without an endpoint are called where they were heard last, though nobody there has anything to say."""

    def setUp(self):
        self.lab = Lab("gate")
        self.addCleanup(self.lab.close)
        self.a, b = self.lab.pair()
        self.daemon, private = self.lab.tunneld(self.a), genkey()
        self.peer = peer = WireGuardGo(self.lab, b)
        peer.address("10.20.0.2/24")
        self.daemon.import_text("gate", conf(private, ["10.20.0.1/24"], [
            {"PublicKey": peer.public, "AllowedIPs": "10.20.0.2/32"}], port=51821))
        self.daemon.ctl("up", "gate")
        peer.peer(pubkey(private), "10.20.0.1/32", endpoint="10.99.0.1:51821")
        self.assertEqual(ping(b, "10.20.0.1"), 3)
        self.before = self.daemon.status("gate")

    def expect_call(self):
        start = time.time()
        wait_for("the client to be called", lambda: (s := self.daemon.status("gate"))["providerProcess"] not in (
            None, self.before["providerProcess"]) and s["peers"] and s["peers"][0]["latestHandshake"] and s, 2 * SLACK)
        self.assertLess(time.time() - start, 2 * SLACK)
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        self.before = self.daemon.status("gate")

    def test_a_peer_that_calls_us_is_called_by_the_new_provider(self):
        os.kill(self.before["providerProcess"], signal.SIGKILL)
        self.expect_call()

    def test_a_peer_that_calls_us_is_called_where_tunneld_ended_too(self):
        for _ in range(2):
            os.kill(self.before["providerProcess"], signal.SIGSTOP)
            self.daemon.kill()
            os.kill(self.before["providerProcess"], signal.SIGKILL)
            self.daemon.start()
            self.expect_call()
        # And by the one after one that heard nobody.
        self.peer.process.send_signal(signal.SIGSTOP)
        for _ in range(2):
            process = self.daemon.status("gate")["providerProcess"]
            os.kill(process, signal.SIGKILL)
            wait_for("another provider", lambda: self.daemon.status("gate")["providerProcess"] not in (None, process),
                     2 * SLACK)
        self.before = {"providerProcess": None}
        self.peer.process.send_signal(signal.SIGCONT)
        self.expect_call()


class Memory(unittest.TestCase):
    def test_a_kill_for_lack_of_memory_is_told_as_such(self):
        group = MemoryGroup()
        with Lab("oom") as lab:
            lab.cleanups.append(group.close)
            a, b, daemon, private, peer = lab.home()
            daemon.terminate()
            # A network namespace's own /sys has no control groups.
            daemon.prefix = ["nsenter", f"--mount=/proc/{os.getpid()}/ns/mnt", "--"]
            daemon.start()
            group.take(daemon.pid)
            daemon.ctl("up", "home")
            group.give_back(daemon.pid)
            events, before = Events(daemon, "home"), daemon.status("home")
            self.assertEqual(group.processes(), [before["providerProcess"]])
            seen = len(events.all())
            group.limit()
            grow(before["interface"])
            lost = events.next(seen, "reasserting", 5 * SLACK)
            self.assertIn("The tunnel's provider was killed for lack of memory.", lost["reason"])
            daemon.wait_status("home", "connected", 2 * SLACK)
            self.assertEqual(ping(a, "10.20.0.2"), 3)


def grow(interface, peers=20_000):
    """Has a provider take many peers, whom it needs megabytes for; it may end meanwhile."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(f"/var/run/wireguard/{interface}.sock")
        try:
            connection.sendall(b"set=1\n" + b"".join(b"public_key=%s\n" % os.urandom(32).hex().encode()
                                                      for _ in range(peers)) + b"\n")
        except OSError:
            pass


class StateDirectory(unittest.TestCase):
    """One that can't be written costs no tunnel, also where tunneld is started anew meanwhile."""

    def setUp(self):
        self.lab = Lab("disk")
        self.addCleanup(self.lab.close)
        self.a, b = self.lab.pair()
        self.daemon, private, peer = self.lab.tunneld(self.a, start=False), genkey(), WireGuardGo(self.lab, b)
        run("mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "none", self.daemon.state)
        self.lab.cleanups.append(lambda: run("umount", "-l", self.daemon.state))
        self.daemon.start()
        peer.peer(pubkey(private), "10.20.0.1/32")
        peer.address("10.20.0.2/24")
        self.daemon.import_text("home", conf(private, ["10.20.0.1/24"], [
            {"PublicKey": peer.public, "AllowedIPs": "10.20.0.2/32", "Endpoint": "10.99.0.2:51820"}]))
        self.daemon.ctl("up", "home")

    def expect_service(self, errno):
        before = self.daemon.status("home")
        for _ in range(2):
            now = self.daemon.status("home")
            os.kill(now["providerProcess"], signal.SIGKILL)
            after = wait_for("another provider", lambda: (s := self.daemon.status("home"))["status"] == "connected"
                             and s["providerProcess"] != now["providerProcess"] and s, 2 * SLACK)
            self.assertEqual(after["session"], before["session"])
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        refused = self.daemon.ctl("set", "home", "username=eva", "--json", check=False)
        error = json.loads(refused.stderr)
        self.assertEqual((error["domain"], error["code"]), ("NEVPNErrorDomain", 5))
        self.assertIn(errno, error["reason"])
        self.daemon.ctl("down", "home")
        self.daemon.ctl("up", "home")
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)

    def restart(self):
        before = self.daemon.status("home")
        self.daemon.kill()
        self.daemon.start()
        after = self.daemon.wait_status("home", "connected", SLACK)
        self.assertEqual([after[key] for key in ("session", "providerProcess")],
                         [before[key] for key in ("session", "providerProcess")])

    def expect_all_as_before(self, before):
        self.assertEqual(self.daemon.json("show", "home"), before)
        self.daemon.ctl("set", "home", "username=eva")
        self.restart()
        self.assertEqual(self.daemon.json("show", "home")["username"], "eva")

    def test_full(self):
        before = self.daemon.json("show", "home")
        run("sh", "-c", f"cat /dev/zero > {self.daemon.state}/filler 2>/dev/null || true")
        self.expect_service("No space left on device")
        self.daemon.wait_for_text("The last timestamp can't be kept on disk, going on:")
        self.assertIn("No space left on device", self.daemon.process.log_path.read_text())
        self.restart()
        self.expect_service("No space left on device")
        os.unlink(self.daemon.state / "filler")
        self.expect_all_as_before(before)

    def remount(self, option):
        """For the tunneld that runs, which sees a mount of its own, and for the next ones."""
        for prefix in ([], ["nsenter", f"--target={self.daemon.pid}", "--mount"]):
            if option == "ro":
                # Over itself, for the file system can't be made read-only while the lock file is open for writing.
                run(*prefix, "mount", "--bind", self.daemon.state, self.daemon.state)
            run(*prefix, "mount", "-o", f"remount,bind,{option}", self.daemon.state)

    def test_read_only(self):
        before = self.daemon.json("show", "home")
        self.lab.cleanups.insert(0, lambda: run("umount", "-l", self.daemon.state, check=False))
        self.remount("ro")
        self.expect_service("Read-only file system")
        self.restart()
        self.daemon.wait_for_text("Nothing can be saved, going on with what is there:")
        # Two tunnelds don't share it for that.
        second = self.daemon.namespace.exec(
            self.daemon.programs / "tunneld", "--launcher", "spawn", check=False,
            env=dict(self.daemon.environment, RUNTIME_DIRECTORY=str(self.lab.folder / "other")))
        self.assertEqual(second.returncode, 1)
        self.assertIn("Another tunneld uses these directories.", second.stderr)
        self.expect_service("Read-only file system")
        self.remount("rw")
        self.expect_all_as_before(before)


class BothDie(unittest.TestCase):
    """Provider and tunneld end together; the machine's only way out is a full tunnel."""

    MARK = b"nobody-shall-see-this"

    def setUp(self):
        self.lab = Lab("both")
        self.addCleanup(self.lab.close)
        self.a, self.b = self.lab.pair()
        self.a.ip("route", "add", "default", "via", "10.99.0.2")
        self.a.ip("-6", "route", "add", "default", "via", "fd99::2")
        self.b.ip("addr", "add", "198.51.100.1/32", "dev", "lo")
        self.before = self.a.snapshot()
        self.daemon, private = self.lab.tunneld(self.a), genkey()
        self.peer = WireGuardGo(self.lab, self.b)
        self.peer.peer(pubkey(private), "10.20.0.1/32")
        self.peer.address("10.20.0.2/24")
        self.daemon.import_text("full", conf(private, ["10.20.0.1/24"], [
            {"PublicKey": self.peer.public, "AllowedIPs": "0.0.0.0/0, ::/0", "Endpoint": "10.99.0.2:51820"}]))
        self.daemon.ctl("up", "full")
        self.underlay = Underlay(self.b, "eth0", self.MARK)
        self.addCleanup(self.underlay.close)
        self.marked = Marked(self.a, "198.51.100.1", self.MARK)
        self.addCleanup(self.marked.close)

    def control(self):
        """The capture does see what leaks."""
        self.daemon.ctl("down", "full")
        self.assertEqual(self.a.snapshot(), self.before)
        wait_for("the mark on the underlay", lambda: self.underlay.count > 0, 5 * SLACK)

    def test_a_killed_provider_leaks_nothing(self):
        for _ in range(3):
            provider = self.daemon.status("full")["providerProcess"]
            os.kill(provider, signal.SIGKILL)
            wait_for("another provider", lambda: (s := self.daemon.status("full"))["status"] == "connected"
                     and s["providerProcess"] != provider, 2 * SLACK)
        self.assertEqual(ping(self.a, "198.51.100.1"), 3)
        self.assertEqual(self.underlay.count, 0)
        self.control()

    def test_killed_together_nothing_leaks_and_the_next_tunneld_goes_on(self):
        before = self.daemon.status("full")
        time.sleep(0.5)
        os.kill(before["providerProcess"], signal.SIGKILL)
        self.daemon.kill()
        wait_for("the device to go", lambda: before["interface"] not in self.a.ip("link").stdout, 10)
        sent, refused = self.marked.sent, self.marked.refused
        time.sleep(1.5)
        # Nothing has gone anywhere: the unreachable route takes all.
        self.assertGreater(self.marked.refused, refused)
        self.assertLessEqual(self.marked.sent - sent, 1)
        self.daemon.start()
        after = self.daemon.wait_status("full", "connected", 5 * SLACK)
        self.assertEqual((after["session"], after["interface"], after["listenPort"]),
                         (before["session"], before["interface"], before["listenPort"]))
        # It is another device, so its counters are told as new ones.
        self.assertGreater(after["counters"]["since"], before["counters"]["since"])
        self.assertEqual(ping(self.a, "198.51.100.1"), 3)
        self.assertIn(self.peer.public, self.lab_wg(after["interface"]))
        self.assertEqual(self.underlay.count, 0)
        self.control()

    def lab_wg(self, interface):
        return self.a.exec("wg", "show", interface, "peers").stdout

    def test_killed_together_while_it_was_being_stopped_it_stays_stopped(self):
        provider = self.daemon.status("full")["providerProcess"]
        # So that the stop waits for its grace time.
        os.kill(provider, signal.SIGSTOP)
        down = self.daemon.popen("down", "full", log="down")
        record = next(self.daemon.runtime.glob("journal/*.json"))
        wait_for("the stop to be written down", lambda: "disconnecting" in record.read_text(), 10)
        self.daemon.kill()
        down.wait()
        self.daemon.start()
        status = self.daemon.status("full")
        self.assertEqual((status["status"], status["lastDisconnectError"]), ("disconnected", None))
        self.assertFalse(exists(provider))
        self.assertEqual(self.a.snapshot(), self.before)


class Tracer:
    """Stops one thread of a process, as nothing but a debugger can."""

    def __init__(self, thread):
        self.thread = thread
        self.call(0x4206)  # PTRACE_SEIZE
        self.call(0x4207)  # PTRACE_INTERRUPT
        os.waitpid(thread, 0x40000000)  # __WALL

    def call(self, request):
        if _libc.ptrace(ctypes.c_long(request), ctypes.c_long(self.thread), None, None) != 0:
            raise OSError(ctypes.get_errno(), "ptrace")

    def close(self):
        try:
            self.call(17)  # PTRACE_DETACH
        except OSError:
            # It was killed, and its process hasn't ended before its debugger has taken note of that.
            try:
                os.waitpid(self.thread, 0x40000000)
            except ChildProcessError:
                pass


def busiest_thread(pid):
    def ticks():
        found = {}
        for task in Path(f"/proc/{pid}/task").iterdir():
            fields = (task / "stat").read_text().rsplit(")", 1)[1].split()
            found[int(task.name)] = int(fields[11]) + int(fields[12])
        return found
    first = ticks()
    time.sleep(0.05)
    second = ticks()
    return max(second, key=lambda task: second[task] - first.get(task, 0))


if __name__ == "__main__":
    unittest.main()
