"""Monitors: every transition, in order, once, to each of a thousand; a slow one holds up nobody and learns what it missed."""

import json
import resource
import selectors
import time
import unittest

from fake_provider import FakeProviders
from lab import SLACK, Lab, resident_kib, wait_for

COUNT = 1000


class Monitor:
    """A connection that monitors, read when asked to."""

    def __init__(self, daemon):
        self.connection = daemon.connect()
        self.connection.sendall(json.dumps({
            "method": "org.tunneld.Sessions.Monitor", "parameters": {}, "more": True}).encode() + b"\0")
        self.buffer = b""
        self.messages = []

    def fill(self):
        data = self.connection.recv(1 << 20)
        if not data:
            raise AssertionError("tunneld closed the stream")
        *messages, self.buffer = (self.buffer + data).split(b"\0")
        self.messages += messages

    def events(self):
        return [json.loads(message)["parameters"] for message in self.messages]

    def read_until(self, condition, timeout=60):
        end = time.monotonic() + timeout
        while not (self.messages and condition(json.loads(self.messages[-1])["parameters"])):
            self.connection.settimeout(max(0.1, end - time.monotonic()))
            self.fill()


class Monitors(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("mon")
        self.addCleanup(self.lab.close)
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.daemon = self.lab.tunneld(self.lab.namespace("a"), start=False)
        # The soft limit that most machines have: tunneld raises it by itself.
        self.daemon.prefix = ["prlimit", f"--nofile=1024:{hard}"]
        self.daemon.start()
        self.fakes = FakeProviders(self.lab, self.daemon)

    def cycles(self, identifier, count):
        for _ in range(count):
            self.fakes.start(identifier)
            self.fakes.wait(identifier, "connected")
            self.fakes.stop(identifier)
            self.fakes.wait(identifier, "disconnected")

    def test_a_thousand_monitors_see_every_transition_in_order_exactly_once(self):
        identifier = self.fakes.save("home")
        monitors = [Monitor(self.daemon) for _ in range(COUNT)]
        selector = selectors.DefaultSelector()
        for monitor in monitors:
            selector.register(monitor.connection, selectors.EVENT_READ, monitor)
        deadline = time.monotonic() + 60 * SLACK

        def drain(condition):
            while not condition():
                self.assertLess(time.monotonic(), deadline, "the events came too slowly")
                for key, _ in selector.select(1):
                    key.data.fill()

        drain(lambda: all(len(monitor.messages) >= 2 for monitor in monitors))
        for monitor in monitors:
            self.assertEqual([event["kind"] for event in monitor.events()], ["present", "ready"])
        # Nobody reads while this goes on, and it isn't held up.
        self.cycles(identifier, 3)
        reference = monitors[0]
        reference.read_until(lambda event: event["status"] == "disconnected" and sum(
            b'"disconnected"' in message and b'"kind":"status"' in message for message in reference.messages) >= 3)
        drain(lambda: all(len(monitor.messages) >= len(reference.messages) for monitor in monitors))
        news = [event for event in reference.events()[2:]]
        self.assertEqual([event["sequence"] for event in news],
                         list(range(news[0]["sequence"], news[0]["sequence"] + len(news))))
        self.assertEqual(news[0]["sequence"], reference.events()[1]["sequence"] + 1)
        statuses = [event["status"] for event in news]
        changes = [status for index, status in enumerate(statuses) if index == 0 or statuses[index - 1] != status]
        self.assertEqual(changes, ["connecting", "connected", "disconnecting", "disconnected"] * 3)
        for event in news:
            self.assertEqual(event["kind"], "status")
            self.assertEqual(event["snapshot"]["status"], event["status"])
            self.assertTrue(event["time"])
            if event["status"].startswith("dis"):
                self.assertEqual(event["reason"], "User 0 stopped it.")
        times = [event["time"] for event in news]
        self.assertEqual(times, sorted(times))
        for monitor in monitors:
            self.assertEqual(monitor.messages[2:], reference.messages[2:])
        self.assertEqual(self.fakes.leftovers(), [])
        print(f"{COUNT} monitors, {len(news)} events each")

    def test_slow_monitors_cost_little_hold_up_nobody_and_learn_what_they_missed(self):
        identifier = self.save("home", 0)
        slow = [Monitor(self.daemon) for _ in range(100)]
        quick = Monitor(self.daemon)
        quick.read_until(lambda event: event["kind"] == "ready")
        before = resident_kib(self.daemon.pid)
        total = 1500
        for number in range(1, total + 1):
            self.save(f"home{number}", number, identifier)
            # There at once for who reads.
            quick.read_until(lambda event: event["name"] == f"home{number}", timeout=SLACK)
        news = quick.events()[2:]
        self.assertEqual([event["name"] for event in news], [f"home{number}" for number in range(1, total + 1)])
        growth = resident_kib(self.daemon.pid) - before
        self.assertLess(growth, 64 * 1024, "memory is bounded")
        lost = []
        for monitor in slow:
            monitor.read_until(lambda event: event["kind"] == "ready" and len(monitor.messages) > 3)
            events = monitor.events()
            gap = [event["kind"] for event in events].index("resynchronise")
            self.assertEqual([event["kind"] for event in events[gap:]], ["resynchronise", "present", "ready"])
            told = events[2:gap]
            self.assertGreaterEqual(len(told), 256)
            self.assertEqual([event["name"] for event in told], [f"home{number}" for number in range(1, len(told) + 1)])
            self.assertEqual(len(told) + events[gap]["lost"], total)
            self.assertEqual(events[gap + 1]["name"], f"home{total}")
            self.assertEqual(events[gap + 1]["sequence"], news[-1]["sequence"])
            lost.append(events[gap]["lost"])
        self.save("after", total + 1, identifier)
        for monitor in slow:
            monitor.read_until(lambda event: event["kind"] == "configuration")
            self.assertEqual(monitor.events()[-1]["name"], "after")
            self.assertEqual(monitor.events()[-1]["sequence"], news[-1]["sequence"] + 1)
        print(f"100 slow monitors lost {min(lost)} to {max(lost)} of {total} events; {growth} KiB more memory")

    def save(self, name, generation, identifier=None):
        """A configuration of a provider that isn't installed, which nobody has to judge."""
        configuration = {"name": name, "type": "provider", "provider": {"identifier": "org.example.later", "configuration": {}}}
        if identifier:
            configuration["identifier"] = identifier
        reply = self.daemon.call("org.tunneld.Configurations.Save", {
            "generation": generation, "configuration": configuration})
        self.assertNotIn("error", reply, reply)
        return reply["parameters"]["identifier"]

    def test_watch_tells_what_it_missed(self):
        identifier = self.save("home", 0)
        watch = self.daemon.popen("watch", log="watch")
        wait_for("the present state", lambda: "home" in watch.log_path.read_text(), 10 * SLACK)
        watch.send_signal(19)
        # ip netns exec is the child; the signal reaches the program itself.
        for number in range(1, 1501):
            self.save(f"home{number}", number, identifier)
        watch.send_signal(18)
        wait_for("the present state anew", lambda: "home1500: disconnected" in watch.log_path.read_text(), 10 * SLACK)
        lines = watch.log_path.read_text().splitlines()
        self.assertEqual(sum("were missed; the present state follows" in line for line in lines), 1)
        self.assertIn("home1500", lines[-1])
        watch.terminate()
