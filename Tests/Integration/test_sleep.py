"""Sleep and wake, as logind announces them: who is told when, what is stopped, and what comes back by itself."""

import os
import signal
import time
import unittest

from fake_provider import FakeProviders
from lab import SLACK, Lab, WireGuardGo, conf, genkey, ping, pubkey, wait_for
from logind import Logind
from test_provider_loss import Echo

LOCK = ["sleep", "tunneld", "Tunnels are told before the machine sleeps.", "delay"]
STOPPED = "The machine went to sleep."


def crash_until_given_up(daemon, name):
    """Kills one provider after the other, until the tunnel is given up with an error."""
    def killed():
        status = daemon.status(name)
        if status["status"] == "disconnected":
            return status
        if status["providerProcess"] and status["status"] == "connected":
            try:
                os.kill(status["providerProcess"], signal.SIGKILL)
            except ProcessLookupError:
                pass
        return None
    assert wait_for("the tunnel to be given up", killed, 60)["lastDisconnectError"]


class Sleep(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("sleep")
        self.addCleanup(self.lab.close)
        self.a, self.b = self.lab.pair()
        self.logind = Logind(self.lab, self.a)
        self.logind.start_bus()
        self.logind.start()
        self.daemon = self.start_tunneld()
        self.fakes = FakeProviders(self.lab, self.daemon)
        self.count = 0

    def start_tunneld(self):
        daemon = self.lab.tunneld(self.a, start=False)
        daemon.environment["DBUS_SYSTEM_BUS_ADDRESS"] = self.logind.environment["DBUS_SYSTEM_BUS_ADDRESS"]
        return daemon.start()

    def tunnel(self, name, disconnects=False):
        """A WireGuard tunnel with a peer of its own, up; the address of the peer inside."""
        self.count += 1
        number, private = self.count, genkey()
        peer = WireGuardGo(self.lab, self.b, port=51820 + number)
        peer.peer(pubkey(private), f"10.20.{number}.1/32")
        peer.address(f"10.20.{number}.2/24")
        self.daemon.import_text(name, conf(private, [f"10.20.{number}.1/24"], [{
            "PublicKey": peer.public, "AllowedIPs": f"10.20.{number}.2/32", "Endpoint": f"10.99.0.2:{51820 + number}"}]))
        if disconnects:
            self.daemon.ctl("set", name, "disconnectOnSleep=true")
        self.daemon.ctl("up", name)
        return f"10.20.{number}.2"

    def fake(self, name, *behave):
        identifier = self.fakes.save(name, behave=behave)
        self.fakes.start(identifier)
        self.fakes.wait(identifier, "connected")
        return identifier

    def told(self, identifier):
        """What a fake was told of sleep and wake, in order."""
        return [note for note in self.fakes.view(identifier)["notes"] if note in ("sleep", "wake", "path changed")]

    # MARK: The lock

    def test_the_lock_is_held_while_a_tunnel_runs(self):
        self.assertEqual(self.logind.tell(), {"locks": [], "asked": 0})
        first = self.fake("first")
        self.logind.wait_for_locks(1)
        second = self.fake("second")
        self.fakes.stop(first)
        self.fakes.wait(first, "disconnected")
        self.assertEqual(self.logind.tell(), {"locks": [LOCK], "asked": 1})
        self.fakes.stop(second)
        self.logind.wait_for_locks(0)
        self.fakes.start(first)
        self.fakes.wait(first, "connected")
        self.logind.wait_for_locks(1)
        # tunneld's end gives it back, and the next one, which goes on with the tunnel, takes it.
        self.daemon.terminate()
        self.logind.wait_for_locks(0)
        self.daemon.start()
        self.logind.wait_for_locks(1)

    def test_the_machine_sleeps_once_the_providers_were_told(self):
        ready = self.fake("ready")
        slow = self.fake("slow", "be slow to sleep")
        old = self.fake("old", "know no sleep")
        self.logind.wait_for_locks(1)
        started = time.monotonic()
        self.assertEqual(self.logind.sleep(), [])
        self.assertGreater(time.monotonic() - started, 0.5)
        self.assertEqual([self.told(fake) for fake in (ready, slow, old)], [["sleep"], ["sleep"], []])
        self.assertEqual(self.logind.tell()["asked"], 1)
        self.logind.wake()
        self.logind.wait_for_locks(1)
        wait_for("all to be told", lambda: [self.told(fake) for fake in (ready, slow, old)]
                 == [["sleep", "wake"], ["sleep", "wake"], ["path changed"]], 10)

    def test_a_provider_that_hangs_spoils_no_sleep(self):
        hung, good = self.fake("hung", "freeze in sleep"), self.fake("good")
        mute = self.fake("mute", "hang in sleep")
        self.logind.wait_for_locks(1)
        started = time.monotonic()
        self.assertEqual(self.logind.sleep(), [])
        # logind would wait for 5 s.
        self.assertTrue(2.5 < time.monotonic() - started < 4.5, time.monotonic() - started)
        self.assertEqual(self.told(good), ["sleep"])
        before = self.fakes.view(hung)["session"]
        self.logind.wake()
        wait_for("the others to be told", lambda: [self.told(fake)[-1:] for fake in (good, mute)] == [["wake"]] * 2, 10)
        # Another takes its place, in the same session.
        wait_for("another provider", lambda: (self.fakes.view(hung)["providerLosses"] or {}).get("count") == 1, 30)
        self.assertEqual(self.fakes.wait(hung, "connected")["session"], before)

    def test_of_a_machine_that_waits_less_only_a_part_is_taken(self):
        self.logind.tell(delay=1_000_000)
        self.fake("mute", "hang in sleep")
        self.logind.wait_for_locks(1)
        started = time.monotonic()
        self.assertEqual(self.logind.sleep(), [])
        self.assertLess(time.monotonic() - started, 1)

    def test_nobody_else_sends_tunnels_to_sleep(self):
        identifier = self.fake("home")
        self.daemon.ctl("set", "home", "disconnectOnSleep=true")
        self.logind.wait_for_locks(1)
        self.logind.stranger_sleeps()
        # The positive control comes behind it on the same connection.
        self.logind.wake()
        wait_for("the wake", lambda: self.told(identifier) == ["wake"], 10)
        self.assertEqual(self.fakes.view(identifier)["status"], "connected")

    # MARK: logind that isn't as it should be

    def test_a_logind_and_a_bus_that_come_anew(self):
        identifier = self.fake("home")
        self.logind.wait_for_locks(1)
        self.logind.stop()
        self.logind.start()
        self.logind.wait_for_locks(1)
        self.assertEqual(self.logind.sleep(), [])
        self.assertEqual(self.told(identifier), ["sleep"])
        # Both go while the machine sleeps, and nobody hears of the wake.
        self.logind.stop()
        self.logind.stop_bus()
        self.logind.start_bus()
        self.logind.start()
        wait_for("the wake to be found", lambda: self.told(identifier) == ["sleep", "wake"], 20)
        self.logind.wait_for_locks(1)
        self.assertEqual(self.logind.sleep(), [])
        self.assertEqual(self.told(identifier), ["sleep", "wake", "sleep"])

    def test_without_logind_tunnels_run_and_one_that_comes_later_is_used(self):
        self.logind.stop()
        identifier = self.fake("home")
        self.logind.start()
        self.logind.wait_for_locks(1)
        self.logind.sleep()
        self.assertEqual(self.told(identifier), ["sleep"])

    def test_a_logind_that_refuses_or_hangs_is_asked_seldom(self):
        for behaviour in ("refuse", "hang"):
            with self.subTest(behaviour):
                before = self.logind.tell(behave=behaviour)["asked"]
                first = self.fake(f"first-{behaviour}")
                wait_for("it to be asked", lambda: self.logind.tell()["asked"] > before, 10)
                time.sleep(3)
                self.assertLessEqual(self.logind.tell()["asked"], before + 2)
                self.assertEqual(self.logind.locks(), [])
                # Without a lock they are told all the same.
                self.assertEqual(self.logind.sleep(), [])
                wait_for("the sleep", lambda: self.told(first) == ["sleep"], 10)
                self.logind.tell(behave="good")
                self.logind.wake()
                self.logind.wait_for_locks(1, 20)
                self.fakes.stop(first)
                self.logind.wait_for_locks(0)
        log = self.daemon.process.log_path.read_text()
        self.assertLessEqual(log.count("A sleep of the machine may begin before tunnels know of it"), 2)

    # MARK: What is stopped, and what goes on

    def test_one_is_stopped_for_the_sleep_and_the_other_goes_on(self):
        echo_to = self.tunnel("stays")
        echo = Echo(self.a, self.b, echo_to)
        self.addCleanup(echo.close)
        provider = self.daemon.status("stays")["providerProcess"]
        before = self.a.snapshot()
        self.tunnel("goes", disconnects=True)
        self.assertFalse([note for note in self.daemon.status("goes")["notes"] if "disconnectOnSleep" in note])
        self.logind.wait_for_locks(1)
        self.assertEqual(self.logind.sleep(), [])
        self.assertEqual(self.a.snapshot(), before)
        status = self.daemon.status("goes")
        self.assertEqual((status["status"], status["reason"], status["lastDisconnectError"]),
                         ("disconnected", STOPPED, None))
        self.assertTrue(echo.works())
        self.logind.wake()
        self.logind.wait_for_locks(1)
        self.assertTrue(echo.works())
        self.assertEqual(self.daemon.status("stays")["providerProcess"], provider)
        # Coming back is the user's affair.
        self.assertEqual(self.daemon.status("goes")["status"], "disconnected")
        self.daemon.ctl("up", "goes")
        self.assertEqual(self.a.snapshot() == before, False)

    def test_the_last_one_that_is_stopped_for_a_sleep_leaves_no_lock_and_no_listener(self):
        identifier = self.fake("home")
        self.daemon.ctl("set", "home", "disconnectOnSleep=true")
        self.logind.wait_for_locks(1)
        self.assertEqual(self.logind.sleep(), [])
        self.assertEqual(self.fakes.view(identifier)["status"], "disconnected")
        self.logind.wake()
        self.fakes.start(identifier)
        self.fakes.wait(identifier, "connected")
        self.logind.wait_for_locks(1)
        self.assertEqual(self.logind.sleep(), [])
        self.assertEqual(self.fakes.view(identifier)["reason"], STOPPED)

    def test_a_wake_asks_the_peer_for_an_answer(self):
        address = self.tunnel("home")
        self.assertEqual(ping(self.a, address), 3)
        self.logind.wait_for_locks(1)
        self.logind.sleep()
        before = self.daemon.status("home")["peers"][0]["latestHandshake"]
        self.logind.wake()
        wait_for("another handshake", lambda: self.daemon.status("home")["peers"][0]["latestHandshake"] > before, 2 * SLACK)
        self.assertEqual(self.daemon.status("home")["status"], "connected")

    def test_a_path_that_comes_back_15_s_after_the_wake(self):
        """C074; that keys past their limit go on the wake, by a clock that counts sleep, unit tests show."""
        address = self.tunnel("home")
        echo = Echo(self.a, self.b, address)
        self.addCleanup(echo.close)
        provider = self.daemon.status("home")["providerProcess"]
        self.logind.wait_for_locks(1)
        self.a.ip("link", "set", "eth0", "down")
        self.logind.sleep()
        self.logind.wake()
        time.sleep(15)
        self.a.ip("link", "set", "eth0", "up")
        started = time.monotonic()
        self.assertTrue(echo.works())
        self.assertLess(time.monotonic() - started, 3 * SLACK)
        self.daemon.wait_status("home", "connected", 10)
        self.assertEqual(self.daemon.status("home")["providerProcess"], provider)

    def test_a_peer_that_is_out_of_reach_after_the_wake(self):
        """C076: attempts follow the back-off until one is answered; under the block in `test_block_ends.py`."""
        self.tunnel("home")
        self.out_of_reach(22, attempts=5)

    def out_of_reach(self, seconds, attempts):
        """No event tells when the way is there again; it is found by the back-off."""
        self.logind.wait_for_locks(1)
        self.b.drop_udp(51821)
        self.logind.sleep()
        self.logind.wake()
        time.sleep(seconds)
        status = self.daemon.wait_status("home", "reasserting", 10)
        made = status["peers"][0]["attempts"]
        # 0, 1, 3, 8, 18, 38 and 78 s after the wake.
        self.assertTrue(attempts <= made <= attempts + 1, made)
        self.b.pass_udp()
        self.daemon.wait_status("home", "connected", 70)

    # MARK: The end

    def test_a_stop_and_a_crash_of_tunneld_while_it_sleeps(self):
        before = self.a.snapshot()
        identifier = self.fake("home")
        self.logind.wait_for_locks(1)
        self.logind.sleep()
        self.fakes.stop(identifier)
        self.fakes.wait(identifier, "disconnected")
        self.is_clean(before)
        self.logind.wake()
        # tunneld dies while the machine sleeps: the next one finds it asleep, and hears of the wake.
        self.fakes.start(identifier)
        self.fakes.wait(identifier, "connected")
        self.logind.wait_for_locks(1)
        self.logind.sleep()
        self.daemon.kill()
        self.daemon.start()
        self.fakes.wait(identifier, "connected")
        self.logind.wake()
        self.logind.wait_for_locks(1)
        wait_for("the wake", lambda: self.told(identifier)[-1:] == ["wake"], 10)
        self.fakes.stop(identifier)
        self.fakes.wait(identifier, "disconnected")
        self.is_clean(before)

    def is_clean(self, before):
        self.assertEqual(self.a.snapshot(), before)
        self.assertEqual(list((self.daemon.runtime / "providers").iterdir()), [])
        self.assertEqual(list(self.daemon.runtime.glob("journal/*.json")), [])
        self.assertEqual(self.fakes.processes(), [])

    def test_every_end_leaves_the_same(self):
        """C078; with the block and name servers in `test_block_ends.py`."""
        before = self.a.snapshot()
        for number, end in enumerate([self.by_user, self.by_crashes, self.by_lost_path, self.by_sleep, self.by_removal]):
            with self.subTest(end.__name__):
                name = f"home{number}"
                self.tunnel(name)
                self.logind.wait_for_locks(1)
                self.assertNotEqual(self.a.snapshot(), before)
                end(name)
                self.is_clean(before)
                self.logind.wait_for_locks(0)

    def by_user(self, name):
        self.daemon.ctl("down", name)

    def by_crashes(self, name):
        """One provider after the other dies, until the tunnel is given up."""
        crash_until_given_up(self.daemon, name)

    def by_lost_path(self, name):
        self.a.ip("link", "set", "eth0", "down")
        self.daemon.ctl("down", name)
        self.a.ip("link", "set", "eth0", "up")
        for network in ("10.99.0.1/24", "fd99::1/64"):
            self.a.ip("addr", "replace", network, "dev", "eth0", "nodad")
        wait_for("carrier", lambda: "LOWER_UP" in self.a.ip("link", "show", "eth0").stdout, 5)

    def by_sleep(self, name):
        self.daemon.ctl("set", name, "disconnectOnSleep=true")
        self.assertEqual(self.logind.sleep(), [])
        self.assertEqual(self.daemon.status(name)["reason"], STOPPED)
        self.logind.wake()

    def by_removal(self, name):
        self.daemon.ctl("remove", name, "--force")


if __name__ == "__main__":
    unittest.main()
