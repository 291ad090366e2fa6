"""Start and stop in every state, with providers that hang at each step, ignore what they are told, fail, or answer."""

import base64
import json
import os
import signal
import threading
import time
import unittest

from fake_provider import FakeProviders
from lab import SLACK, Lab, replies, wait_for

# What a provider does, and the step of the start that then never ends.
HANGS = {
    "no-control": "wait for the provider's control socket",
    "freeze-at-launch": "wait for the provider's control socket",
    "no-door": "wait for the provider's descriptor socket",
    "deaf-to-attach": "attach to the provider",
    "hang-in-start": "have the provider start",
    "freeze-in-start": "have the provider start",
    "no-tun": "receive the TUN device's descriptor",
    "hang-in-applied": "tell the provider that it is ready",
}


def hangs():
    """Each alone, and with a provider that heeds neither the call nor the signal to end."""
    for hang, step in HANGS.items():
        yield (hang,), step
        yield (hang, "ignore-stop", "ignore-term"), step


class Sessions(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("sess")
        self.addCleanup(self.lab.close)
        self.namespace = self.lab.namespace("a")

    def begin(self, settings=""):
        self.daemon = self.lab.tunneld(self.namespace, start=False)
        (self.daemon.configuration / "tunneld.conf").write_text(settings)
        self.daemon.start()
        self.fakes = FakeProviders(self.lab, self.daemon)
        return self.fakes

    def call(self, method, **parameters):
        reply = self.daemon.call(f"org.tunneld.Sessions.{method}", parameters, timeout=120)
        return reply.get("error"), reply["parameters"]

    def message(self, identifier, text, **more):
        return self.call("SendMessage", identifier=identifier,
                         message={"$data": base64.b64encode(text.encode()).decode()}, **more)

    # Getting ready has a limit.

    def test_a_start_that_hangs_ends_at_its_limit_and_names_the_step(self):
        fakes = self.begin("start-timeout = 3\n")
        tried = {fakes.save("-".join(behaviour), *behaviour): (behaviour, step) for behaviour, step in hangs()}
        began = time.monotonic()
        for identifier in tried:
            self.assertFalse(fakes.start(identifier)["alreadyRunning"])
        for identifier, (behaviour, step) in tried.items():
            error = fakes.wait(identifier, "disconnected", 20 * SLACK)["lastDisconnectError"]
            self.assertEqual(error["name"], "TimedOut", behaviour)
            self.assertEqual(error["message"], "The tunnel didn't get ready within 3 seconds.", behaviour)
            self.assertEqual(error["reason"], f"It hung while it was to {step}.", behaviour)
            self.assertIn("start-timeout", error["remedy"])
        self.assertLess(time.monotonic() - began, 20 * SLACK)
        self.assertEqual(fakes.leftovers(), [])

    def test_a_step_with_a_limit_of_its_own_is_named_as_well(self):
        fakes = self.begin()
        identifier = fakes.save("deaf", "deaf-to-attach")
        fakes.start(identifier)
        error = fakes.wait(identifier, "disconnected", 20 * SLACK)["lastDisconnectError"]
        self.assertEqual(error["name"], "TimedOut")
        self.assertIn("It hung while it was to attach to the provider.", error["reason"])

    # Stop works in every state.

    def test_a_stop_ends_a_start_that_hangs_wherever_it_does(self):
        fakes = self.begin()
        tried = [fakes.save("-".join(behaviour), *behaviour) for behaviour, _ in hangs()]
        for identifier in tried:
            fakes.start(identifier)
        wait_for("all to be launched", lambda: len(fakes.processes()) == len(tried), 10 * SLACK)
        time.sleep(1)
        for identifier in tried:
            fakes.stop(identifier)
            fakes.stop(identifier)
        for identifier in tried:
            view = fakes.wait(identifier, "disconnected", 10 * SLACK)
            self.assertIsNone(view["lastDisconnectError"])
            self.assertEqual(view["reason"], "User 0 stopped it.")
        self.assertEqual(fakes.leftovers(), [])

    def test_a_stop_at_any_moment_of_a_start_leaves_nothing(self):
        fakes = self.begin()
        identifier = fakes.save("home")
        for round in range(25):
            fakes.start(identifier)
            time.sleep(round * 0.01)
            fakes.stop(identifier)
            view = fakes.wait(identifier, "disconnected", 10 * SLACK)
            self.assertIsNone(view["lastDisconnectError"], round)
            self.assertEqual(fakes.leftovers(), [], round)

    def test_a_stop_of_a_provider_that_is_stopped_by_a_signal_ends_it(self):
        fakes = self.begin()
        identifier = fakes.save("home")
        fakes.start(identifier)
        process = fakes.wait(identifier, "connected")["providerProcess"]
        os.kill(process, signal.SIGSTOP)
        fakes.stop(identifier)
        fakes.wait(identifier, "disconnected", 10 * SLACK)
        self.assertEqual(fakes.leftovers(), [])

    def test_the_signal_to_end_comes_before_the_kill(self):
        fakes = self.begin()
        polite, deaf = fakes.save("polite", "no-control"), fakes.save("deaf", "no-control", "ignore-term")
        for identifier in (polite, deaf):
            fakes.start(identifier)
        wait_for("both to run", lambda: len(fakes.processes()) == 2, 10 * SLACK)
        time.sleep(0.5)
        for identifier in (polite, deaf):
            fakes.stop(identifier)
        fakes.wait(polite, "disconnected", 10 * SLACK)
        fakes.wait(deaf, "disconnected", 10 * SLACK)
        log = self.daemon.process.log_path.read_text()
        self.assertEqual(log.count("didn't end by itself; killing it."), 1)

    def test_a_start_while_stopping_waits_for_the_end_and_an_old_stop_does_not_touch_it(self):
        fakes = self.begin()
        identifier = fakes.save("home", "ignore-stop", "ignore-term")
        old = fakes.start(identifier)["session"]
        fakes.wait(identifier, "connected")
        self.assertEqual(fakes.start(identifier), {"session": old, "alreadyRunning": True})
        fakes.stop(identifier)
        new = fakes.start(identifier)
        self.assertFalse(new["alreadyRunning"])
        self.assertNotEqual(new["session"], old)
        # The same wait, and stops of the old one, twice: nothing of the new one ends.
        self.assertEqual(fakes.start(identifier), {"session": new["session"], "alreadyRunning": True})
        fakes.stop(identifier, old)
        fakes.stop(identifier, old)
        view = fakes.wait(identifier, "connected")
        self.assertEqual(view["session"], new["session"])
        fakes.stop(identifier, old)
        self.assertEqual(fakes.view(identifier)["status"], "connected")
        fakes.stop(identifier, new["session"])
        fakes.wait(identifier, "disconnected")
        self.assertEqual(fakes.leftovers(), [])

    def test_a_start_that_waits_can_be_taken_back(self):
        fakes = self.begin()
        identifier = fakes.save("home", "ignore-stop", "ignore-term")
        fakes.start(identifier)
        fakes.wait(identifier, "connected")
        fakes.stop(identifier)
        fakes.start(identifier)
        fakes.stop(identifier)
        fakes.wait(identifier, "disconnected")
        time.sleep(1)
        self.assertEqual(fakes.view(identifier)["status"], "disconnected")
        self.assertEqual(fakes.leftovers(), [])

    def test_clients_that_start_at_once_get_one_session(self):
        fakes = self.begin()
        identifier = fakes.save("home")
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(fakes.start(identifier))) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len({answer["session"] for answer in answers}), 1)
        self.assertEqual(sum(not answer["alreadyRunning"] for answer in answers), 1)
        fakes.wait(identifier, "connected")
        self.assertEqual(len(fakes.processes()), 1)

    def test_what_is_disabled_or_removed_can_be_stopped_and_not_started(self):
        fakes = self.begin()
        identifier = fakes.save("home")
        fakes.start(identifier)
        fakes.wait(identifier, "connected")
        self.daemon.ctl("disable", "home")
        view = fakes.wait(identifier, "disconnected")
        self.assertEqual(view["reason"], "The configuration was disabled.")
        self.assertIsNone(view["lastDisconnectError"])
        fakes.stop(identifier)
        self.assertEqual(self.call("Start", identifier=identifier)[0], "org.tunneld.ConfigurationDisabled")
        self.assertEqual(self.message(identifier, "hello")[0], "org.tunneld.ConfigurationDisabled")
        self.daemon.ctl("remove", "home")
        for method in ("Start", "Stop", "SendMessage"):
            self.assertEqual(self.call(method, identifier=identifier)[0], "org.tunneld.ConfigurationUnknown")

    # Errors.

    def test_a_providers_own_error_is_shown_and_outlives_tunneld(self):
        fakes = self.begin()
        identifier = fakes.save("home", behave=["own error in start"])
        fakes.start(identifier)
        before = fakes.wait(identifier, "disconnected")
        error = before["lastDisconnectError"]
        self.assertEqual((error["domain"], error["code"], error["message"]),
                         ("org.tunneld", 105, "The server refused the account."))
        self.assertEqual(error["underlying"], {
            "domain": "com.example.vpn", "code": 42, "message": "The server refused the account."})
        self.daemon.kill()
        self.daemon.start()
        after = self.daemon.status("home")
        self.assertEqual(after["lastDisconnectError"], error)
        self.assertEqual(after["since"], before["since"])
        text = self.daemon.ctl("status", "home").stdout
        self.assertIn("provider: com.example.vpn 42: The server refused the account.", text)
        self.daemon.ctl("remove", "home")
        self.assertEqual(list((self.daemon.state / "last-errors").iterdir()), [])

    def test_why_a_session_ends_is_told_though_tunneld_dies_before_it_has(self):
        fakes = self.begin("start-timeout = 2\n")
        failing = fakes.save("failing", "hang-in-start", "ignore-stop", "ignore-term")
        stopped = fakes.save("stopped", "ignore-stop", "ignore-term")
        fakes.start(stopped)
        fakes.wait(stopped, "connected")
        fakes.start(failing)
        fakes.wait(failing, "disconnecting")
        fakes.stop(stopped)
        # Both wait for a provider that doesn't end.
        self.daemon.kill()
        self.daemon.start()
        view = fakes.view(failing)
        self.assertEqual(view["status"], "disconnected")
        self.assertEqual(view["lastDisconnectError"]["reason"], "It hung while it was to have the provider start.")
        view = fakes.view(stopped)
        self.assertEqual((view["status"], view["reason"]), ("disconnected", "User 0 stopped it."))
        self.assertIsNone(view["lastDisconnectError"])
        self.assertEqual(fakes.leftovers(), [])
        # And by those after it.
        self.daemon.kill()
        self.daemon.start()
        self.assertEqual(fakes.view(failing)["lastDisconnectError"]["name"], "TimedOut")

    # Messages.

    def test_a_provider_that_hangs_over_a_message_is_replaced(self):
        fakes = self.begin()
        identifier = fakes.save("home")
        fakes.start(identifier)
        process = fakes.wait(identifier, "connected")["providerProcess"]
        os.kill(process, signal.SIGSTOP)
        began = time.monotonic()
        error, told = self.message(identifier, "hello", timeout=60)
        self.assertEqual((error, told["reason"]), (
            "org.tunneld.ProviderDied", f"Process {process} has ended; the message may have had its effect."))
        self.assertLess(time.monotonic() - began, 3 * SLACK)
        view = fakes.wait(identifier, "connected", 2 * SLACK)
        self.assertNotEqual(view["providerProcess"], process)
        self.assertIsNone(self.message(identifier, "hello")[0])

    def test_messages_by_the_command(self):
        fakes = self.begin()
        identifier = fakes.save("home")
        refused = self.daemon.ctl("message", "home", "hello", check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("home isn't running", refused.stderr)
        fakes.start(identifier)
        fakes.wait(identifier, "connected")
        self.assertEqual(self.daemon.ctl("message", "home", "hello there").stdout, "hello there")
        self.assertEqual(self.daemon.ctl("message", "home", "-", input="by pipe\n").stdout, "by pipe\n")
        path = self.lab.folder / "message"
        path.write_bytes(b"\x00\xff")
        answer = self.daemon.json("message", "home", "--file", path)
        self.assertEqual(answer, {"identifier": identifier, "name": "home", "reply": {"$data": "AP8="}, "text": None})
        self.assertEqual(self.daemon.json("message", "home", "nothing")["reply"], None)
        self.assertEqual(self.daemon.json("message", "home")["text"], "")
        late = self.daemon.ctl("message", "home", "hold", "--timeout", "0.5", check=False)
        self.assertEqual(late.returncode, 1)
        self.assertIn("didn't answer the message within 0.5 seconds", late.stderr)
        own = json.loads(self.daemon.ctl("message", "home", "refuse", "--json", check=False).stderr)
        self.assertEqual(own["underlying"]["domain"], "com.example.vpn")
        for words, told in ((["x", "--file", path], "exclude each other"), (["--timeout", "301"], "at most 300")):
            wrong = self.daemon.ctl("message", "home", *words, check=False)
            self.assertEqual(wrong.returncode, 2)
            self.assertIn(told, wrong.stderr)
        path.write_bytes(b"x" * (1 << 20))
        self.assertEqual(len(self.daemon.ctl("message", "home", "--file", path).stdout), 1 << 20)
        path.write_bytes(b"x" * ((1 << 20) + 1))
        self.assertIn("at most 1048576 bytes", self.daemon.ctl("message", "home", "--file", path, check=False).stderr)

    def test_messages_in_flight_are_each_told_of_the_providers_death(self):
        fakes = self.begin()
        identifier = fakes.save("home")
        fakes.start(identifier)
        process = fakes.wait(identifier, "connected")["providerProcess"]
        answers = []
        threads = [threading.Thread(target=lambda n=n: answers.append(self.message(identifier, f"hold {n}", timeout=60)))
                   for n in range(20)]
        for thread in threads:
            thread.start()
        time.sleep(1)
        self.assertEqual(answers, [])
        os.kill(process, signal.SIGKILL)
        for thread in threads:
            thread.join()
        self.assertEqual([error for error, _ in answers], ["org.tunneld.ProviderDied"] * 20)
        self.assertEqual(self.message(identifier, "next", timeout=60)[0], None)

    def test_wrong_messages_are_refused_with_their_field(self):
        fakes = self.begin()
        identifier = fakes.save("home")
        fakes.start(identifier)
        fakes.wait(identifier, "connected")
        for parameters, field in (({"timeout": 0}, "timeout"), ({"timeout": 301}, "timeout"), ({"timeout": -1}, "timeout")):
            error, told = self.message(identifier, "x", **parameters)
            self.assertEqual((error, told["field"]), ("org.tunneld.InvalidParameter", field))
        error, told = self.message(identifier, "x" * ((1 << 20) + 1))
        self.assertEqual((error, told["field"]), ("org.tunneld.InvalidParameter", "message"))
        for message in ("text", {"$data": "no base64!"}, {"data": ""}, 7):
            self.assertIsNotNone(self.call("SendMessage", identifier=identifier, message=message)[0], message)

    def test_a_message_needs_the_permission_to_start(self):
        fakes = self.begin()
        identifier = fakes.save("home")
        fakes.start(identifier)
        fakes.wait(identifier, "connected")
        for folder in (self.daemon.runtime.parent, self.daemon.runtime):
            os.chmod(folder, 0o755)
        for words in (["message", "home", "hello"], ["up", "home"]):
            refused = self.daemon.ctl(*words, user=65534, check=False)
            self.assertEqual(refused.returncode, 5, refused.stderr)
            self.assertIn("org.tunneld.control-system", refused.stderr)

    def test_the_wireguard_provider_answers_a_few_words(self):
        _, _, daemon, private, _ = self.lab.home()
        daemon.ctl("up", "home")
        words = [line.split(":")[0] for line in daemon.ctl("message", "home", "help").stdout.splitlines()]
        self.assertEqual(words, ["help", "state", "retry"])
        state = daemon.ctl("message", "home", "state").stdout
        self.assertEqual(json.loads(state)["status"], "connected")
        self.assertNotIn(private, state)
        self.assertEqual(daemon.ctl("message", "home", "retry\n").stdout, "The peers are called.\n")
        unknown = daemon.ctl("message", "home", "dance", check=False)
        self.assertEqual(unknown.returncode, 1)
        self.assertIn("help, state, retry", unknown.stderr)
