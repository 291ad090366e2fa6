"""Status tells the truth, by the rules of the design's section 3."""

import time
import unittest

from lab import SLACK, Lab, ping, wait_for


class Status(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("stat")
        self.addCleanup(self.lab.close)
        self.a, self.b, self.daemon, self.private, self.peer = self.lab.home()

    def test_the_keys_of_the_document(self):
        self.assertEqual(self.daemon.status("home")["status"], "disconnected")
        self.daemon.ctl("up", "home")
        status = self.daemon.status("home")
        for key in ("identifier", "name", "status", "since", "interface", "readAt", "session", "providerProcess",
                    "lastDisconnectError", "peers", "counters"):
            self.assertIn(key, status)
        for key in ("publicKey", "endpoint", "state", "latestHandshake", "lastHeard", "verification", "receivedBytes",
                    "sentBytes"):
            self.assertIn(key, status["peers"][0])
        for key in ("receivedBytes", "sentBytes", "receivedPackets", "sentPackets", "since"):
            self.assertIn(key, status["counters"])
        self.assertIs(status["counters"]["estimate"], True)
        self.assertIsNone(status["lastDisconnectError"])
        self.assertRegex(status["readAt"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")
        self.assertEqual([set(entry) for entry in self.daemon.json("list")],
                         [{"identifier", "name", "enabled", "status"}])
        self.assertEqual(self.daemon.json("status")[0]["name"], "home")

    def test_numbers_are_read_when_asked_for(self):
        self.daemon.ctl("up", "home")
        before = self.daemon.status("home")
        self.assertEqual(ping(self.a, "10.20.0.2", count=10, interval=0.01), 10)
        after = self.daemon.status("home")
        self.assertGreater(after["readAt"], before["readAt"])
        # 10 echo requests of 84 bytes, each padded to 96 with 32 bytes around it.
        self.assertGreaterEqual(after["peers"][0]["sentBytes"] - before["peers"][0]["sentBytes"], 10 * 128)
        self.assertGreaterEqual(after["counters"]["sentPackets"] - before["counters"]["sentPackets"], 10)

    def test_silence_under_traffic_is_reasserting_within_its_bound_and_connected_again(self):
        self.daemon.ctl("up", "home")
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        self.assertEqual(self.daemon.status("home")["peers"][0]["verification"], "live")
        watcher = self.daemon.popen("watch", "home", "--json", log="watch")
        self.b.drop_udp(51820)
        sent = time.monotonic()
        pinger = self.a.popen("ping", "-n", "-i", "1", "10.20.0.2", log="ping")
        status = self.daemon.wait_status("home", "reasserting", 21 * SLACK)
        self.assertGreater(time.monotonic() - sent, 15, "told before anybody can know")
        self.assertEqual(status["peers"][0]["state"], "silent")
        self.assertTrue(status["reason"])
        self.b.pass_udp()
        self.daemon.wait_status("home", "connected", 15 * SLACK)
        pinger.kill()
        self.assertIn("reasserting", watcher.log_path.read_text())

    def test_of_a_provider_that_hangs_nothing_is_shown_from_memory(self):
        import os
        import signal
        self.daemon.ctl("up", "home")
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        provider = self.daemon.status("home")["providerProcess"]
        os.kill(provider, signal.SIGSTOP)
        check = self.daemon.popen("status", "home", "--check")
        status = self.daemon.status("home")
        self.assertEqual(status["status"], "reasserting")
        self.assertIn("doesn't answer", status["reason"])
        self.assertEqual(status["peers"], [])
        self.assertEqual(check.wait(timeout=5 * SLACK), 3)
        # The calls were work that it left undone.
        status = self.daemon.wait_status("home", "connected", 5 * SLACK)
        self.assertNotEqual(status["providerProcess"], provider)
        self.assertEqual(self.daemon.status("home")["peers"][0]["publicKey"], self.peer.public)

    def test_idle_is_never_a_failure(self):
        self.daemon.ctl("up", "home")
        self.b.drop_udp(51820)
        end = time.monotonic() + 30
        while time.monotonic() < end:
            self.assertEqual(self.daemon.status("home")["status"], "connected")
            time.sleep(1)
        self.assertEqual(self.daemon.status("home")["peers"][0]["verification"], "idle")

    def test_a_peer_that_never_answered_is_connecting(self):
        self.b.drop_udp(51820)
        result = self.daemon.ctl("up", "home", "--timeout", "6", check=False)
        self.assertEqual(result.returncode, 3)
        self.assertIn("10.99.0.2:51820", result.stdout + result.stderr)
        self.assertEqual(self.daemon.status("home")["status"], "connecting")
        self.assertEqual(self.daemon.ctl("status", "home", "--check", check=False).returncode, 3)
        self.b.pass_udp()
        self.daemon.wait_status("home", "connected", 70)
        self.assertEqual(self.daemon.ctl("status", "home", "--check", check=False).returncode, 0)

    def test_stop_with_an_old_session_ends_no_newer_one(self):
        self.daemon.ctl("up", "home")
        old = self.daemon.status("home")
        self.daemon.ctl("down", "home")
        self.daemon.ctl("up", "home")
        reply = self.daemon.call("org.tunneld.Sessions.Stop",
                                 {"identifier": old["identifier"], "session": old["session"]})
        self.assertNotIn("error", reply)
        self.assertEqual(self.daemon.status("home")["status"], "connected")

    def test_stop_is_idempotent_and_works_while_starting(self):
        self.b.drop_udp(51820)
        self.daemon.ctl("down", "home")
        self.daemon.ctl("up", "home", "--no-wait")
        self.daemon.ctl("down", "home")
        wait_for("disconnected", lambda: self.daemon.status("home")["status"] == "disconnected", 10)
        self.daemon.ctl("down", "home")

    def test_a_second_up_says_that_it_runs(self):
        self.daemon.ctl("up", "home")
        session = self.daemon.status("home")["session"]
        result = self.daemon.ctl("up", "home")
        self.assertIn("already", result.stdout)
        self.assertEqual(self.daemon.status("home")["session"], session)


if __name__ == "__main__":
    unittest.main()
