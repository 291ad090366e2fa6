"""Many clients and many deaths at once: whatever comes when, the events make sense, and nothing is left."""

import base64
import json
import os
import random
import signal
import threading
import time
import unittest

from fake_provider import FakeProviders
from lab import SLACK, Lab, descriptors, wait_for
from test_monitors import Monitor

# What may follow a status.
NEXT = {
    "disconnected": {"connecting"},
    "connecting": {"connected", "reasserting", "disconnecting"},
    "connected": {"reasserting", "disconnecting"},
    "reasserting": {"connected", "disconnecting"},
    "disconnecting": {"disconnected"},
}


class Storms(unittest.TestCase):
    rounds = 10

    def setUp(self):
        self.lab = Lab("storm")
        self.addCleanup(self.lab.close)
        self.namespace = self.lab.namespace("a")
        self.before = self.namespace.snapshot()
        self.daemon = self.lab.tunneld(self.namespace)
        self.fakes = FakeProviders(self.lab, self.daemon)

    def end(self, identifiers):
        """Stops all, after which nothing is left."""
        for identifier in identifiers:
            self.fakes.stop(identifier)
        for identifier in identifiers:
            self.fakes.wait(identifier, "disconnected", 20 * SLACK)
        self.assertEqual(self.fakes.leftovers(), [])
        self.assertEqual(self.namespace.snapshot(), self.before)

    def kill(self, identifier, number):
        process = self.fakes.view(identifier).get("providerProcess")
        try:
            if process:
                os.kill(process, number)
        except ProcessLookupError:
            pass  # It was quicker.

    def change(self, identifier, **members):
        configuration = self.daemon.call(
            "org.tunneld.Configurations.Load", {"identifier": identifier})["parameters"]["configuration"]
        configuration["provider"]["configuration"].update(members)
        reply = self.daemon.call("org.tunneld.Configurations.Save", {
            "generation": configuration["generation"], "configuration": configuration})
        self.assertNotIn("error", reply, reply)

    def message(self, identifier, text, timeout):
        return self.daemon.call("org.tunneld.Sessions.SendMessage", {
            "identifier": identifier, "timeout": timeout,
            "message": {"$data": base64.b64encode(text.encode()).decode()}}).get("error")

    def test_clients_that_start_and_stop_while_providers_die(self):
        identifiers = [self.fakes.save(f"home{number}", *behaviour)
                       for number, behaviour in enumerate([(), ("ignore-stop",), ("hang-in-start",)])]
        monitors = [Monitor(self.daemon) for _ in range(3)]
        for monitor in monitors:
            monitor.read_until(lambda event: event["kind"] == "ready")
        end, faults = time.monotonic() + 8, []

        def client(seed):
            chance, sessions = random.Random(seed), {}
            try:
                while time.monotonic() < end:
                    identifier, what = chance.choice(identifiers), chance.random()
                    if what < 0.4:
                        sessions.setdefault(identifier, []).append(self.fakes.start(identifier)["session"])
                    elif what < 0.6:
                        self.fakes.stop(identifier)
                    elif what < 0.7 and identifier in sessions:
                        self.fakes.stop(identifier, chance.choice(sessions[identifier]))
                    elif what < 0.8:
                        self.message(identifier, "hello", 0.3)
                    else:
                        self.kill(identifier, chance.choice([signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM]))
                    time.sleep(chance.random() * 0.15)
            except Exception as error:  # noqa: BLE001 (handed to the test below)
                faults.append(error)

        threads = [threading.Thread(target=client, args=(seed,)) for seed in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(faults, [])
        self.end(identifiers)
        last = self.daemon.call("org.tunneld.Sessions.Start", {"identifier": identifiers[0]})["parameters"]["session"]
        for monitor in monitors:
            monitor.read_until(lambda event: (event["snapshot"] or {}).get("session") == last)
        self.check([monitor.events() for monitor in monitors])

    def check(self, all_events):
        # Who reads slowly may have missed some, and was told so; nobody did here.
        for events in all_events:
            self.assertEqual({event["kind"] for event in events}, {"present", "ready", "status"})
        news = [[event for event in events if event["kind"] == "status"] for events in all_events]
        count = min(map(len, news))
        for events in news:
            self.assertEqual(events[:count], news[0][:count])
        numbers = [event["sequence"] for event in news[0]]
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))))
        statuses = {}
        for event in news[0]:
            before = statuses.get(event["identifier"], "disconnected")
            if event["status"] != before:
                self.assertIn(event["status"], NEXT[before], event)
            if event["status"] in ("reasserting", "disconnecting"):
                self.assertTrue(event["reason"], event)
            self.assertEqual(event["snapshot"]["status"], event["status"])
            statuses[event["identifier"]] = event["status"]
        print(f"{len(news[0])} events")

    def test_tunneld_killed_at_whatever_moment(self):
        chance = random.Random(7)
        identifiers = [self.fakes.save(name) for name in ("one", "two", "three")]
        for _ in range(self.rounds):
            for number, identifier in enumerate(identifiers):
                what, status = chance.random(), self.fakes.view(identifier)["status"]
                if status == "disconnected":
                    self.fakes.start(identifier)
                elif what < 0.25:
                    self.fakes.stop(identifier)
                elif what < 0.6:
                    self.kill(identifier, signal.SIGKILL)
                else:
                    self.change(identifier, addresses=[f"192.0.2.{number * 80 + chance.randrange(80)}/32"])
            time.sleep(chance.random() * 0.3)
            # One of them while it goes on with what the one before left.
            for how in (signal.SIGKILL, chance.choice([signal.SIGKILL, signal.SIGTERM])):
                self.daemon.process.send_signal(how)
                self.daemon.process.wait(timeout=10 * SLACK)
                self.daemon.start()
        for identifier in identifiers:
            self.fakes.start(identifier)
        for identifier in identifiers:
            # What is stored is what is in force.
            wait_for("what was saved last to be in force", lambda i=identifier: self.is_in_force(i), 20 * SLACK)
        self.end(identifiers)

    def is_in_force(self, identifier):
        stored = self.daemon.call(
            "org.tunneld.Configurations.Load", {"identifier": identifier})["parameters"]["configuration"]
        view = self.fakes.view(identifier)
        return view["status"] == "connected" and view["generation"] == stored["generation"] and (
            view["addresses"] == stored["provider"]["configuration"]["addresses"])

    def test_twenty_starts_that_fail_leave_nothing_and_the_next_one_works(self):
        identifier = self.fakes.save("home", behave=["exit in start"])
        held = None
        for _ in range(21):
            self.fakes.start(identifier)
            error = self.fakes.wait(identifier, "disconnected")["lastDisconnectError"]
            self.assertEqual(error["message"], "The tunnel's provider ended.")
            self.assertIn("exited with status 3", error["reason"])
            self.assertEqual(self.message(identifier, "hello", 5), "org.tunneld.TunnelNotRunning")
            # The first may open what stays.
            held = held or sorted(descriptors(self.daemon.pid))
        self.assertEqual(self.fakes.leftovers(), [])
        wait_for("the last descriptors to be closed", lambda: len(descriptors(self.daemon.pid)) <= len(held), SLACK)
        self.change(identifier, behave=[])
        self.fakes.start(identifier)
        view = self.fakes.wait(identifier, "connected")
        self.assertIsNone(view["lastDisconnectError"])
        self.assertIsNone(self.message(identifier, "hello", 5))
        self.end([identifier])


if __name__ == "__main__":
    unittest.main()
