"""Several clients at one tunnel: each is told what happens to its own session, and every change once and in order."""

import json
import re
import shutil
import socket
import struct
import threading
import time
import unittest

from lab import SLACK, Lab, WireGuardGo, conf, genkey, ping, pubkey, run, wait_for


class TwoClients(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("two")
        self.addCleanup(self.lab.close)
        self.a, self.b, self.daemon, self.private, self.peer = self.lab.home()

    def waiting_up(self, *arguments):
        """An `up` that waits in vain so far."""
        client = self.daemon.popen("up", "home", *arguments, log="up")
        wait_for("the first handshake", lambda: "handshake sent" in client.log_path.read_text(), 10 * SLACK)
        return client

    def watcher(self):
        """A `watch --json` and a function that gives its (status, reason), each change once."""
        client = self.daemon.popen("watch", "home", "--json", log="watch")
        wait_for("the present state", lambda: '"ready"' in client.log_path.read_text(), 5 * SLACK)

        def seen():
            events = [json.loads(line) for line in client.log_path.read_text().splitlines()]
            numbers = [event["sequence"] for event in events if event["kind"] == "status"]
            self.assertEqual(numbers, sorted(set(numbers)), "an event twice or out of order")
            changes = []
            for event in events:
                if event["kind"] == "status" and (not changes or changes[-1][0] != event["status"]):
                    changes.append((event["status"], event["reason"]))
            return changes

        return seen

    def test_two_ups_wait_for_the_same_session(self):
        self.b.drop_udp(51820)
        first = self.waiting_up()
        second = self.daemon.popen("up", "home", log="second")
        wait_for("the second to wait", lambda: "already" in second.log_path.read_text(), 5 * SLACK)
        self.b.pass_udp()
        self.assertEqual(first.wait(60), 0, first.log_path.read_text())
        self.assertEqual(second.wait(10), 0, second.log_path.read_text())

    def test_an_up_whose_session_another_client_stops_says_so_at_once(self):
        self.b.drop_udp(51820)
        client = self.waiting_up("--timeout", "60")
        self.daemon.ctl("down", "home")
        stopped = time.monotonic()
        self.assertEqual(client.wait(5 * SLACK), 1)
        self.assertLess(time.monotonic() - stopped, SLACK)
        text = client.log_path.read_text()
        self.assertIn("home was stopped while it was starting.", text)
        self.assertIn("User 0 stopped it.", text)

    def test_an_up_whose_session_was_replaced_says_so(self):
        self.b.drop_udp(51820)
        client = self.waiting_up("--timeout", "60")
        identifier = self.daemon.status("home")["identifier"]
        self.daemon.call("org.tunneld.Sessions.Stop", {"identifier": identifier})
        self.b.pass_udp()
        # The new session waits for the end of the old one.
        self.assertFalse(self.daemon.call("org.tunneld.Sessions.Start", {"identifier": identifier})
                         ["parameters"]["alreadyRunning"])
        self.assertEqual(client.wait(5 * SLACK), 1)
        self.assertIn("It was started anew since, and is", client.log_path.read_text())
        self.daemon.wait_status("home", "connected", 20 * SLACK)

    def test_a_start_that_is_taken_back_before_its_session_begins_ends_its_up(self):
        self.daemon.ctl("up", "home")
        identifier = self.daemon.status("home")["identifier"]
        for _ in range(5):
            seen = []
            waiting = threading.Thread(target=lambda: seen.append(self.daemon.ctl("up", "home", check=False)))
            self.daemon.call("org.tunneld.Sessions.Stop", {"identifier": identifier})
            waiting.start()
            self.daemon.call("org.tunneld.Sessions.Stop", {"identifier": identifier})
            waiting.join(25)
            self.assertEqual(len(seen), 1, "it waits for a session that never comes")
            self.assertIn(seen[0].returncode, (0, 1), seen[0].stdout + seen[0].stderr)

    def test_a_watcher_sees_every_change_of_down_and_up_once_and_in_order(self):
        self.daemon.ctl("up", "home")
        identifier = self.daemon.status("home")["identifier"]
        seen = self.watcher()
        for _ in range(3):
            self.daemon.call("org.tunneld.Sessions.Stop", {"identifier": identifier})
            self.daemon.call("org.tunneld.Sessions.Start", {"identifier": identifier})
            self.daemon.ctl("up", "home")
        wait_for("the last connection to be told", lambda: len(seen()) >= 12, 5 * SLACK)
        self.assertEqual([status for status, _ in seen()],
                         ["disconnecting", "disconnected", "connecting", "connected"] * 3)
        self.assertEqual([reason for status, reason in seen() if status == "disconnected"], ["User 0 stopped it."] * 3)

    def test_a_client_that_is_killed_leaves_the_others_and_the_tunnel_alone(self):
        self.b.drop_udp(51820)
        killed, other = self.waiting_up(), self.waiting_up()
        session = self.daemon.status("home")["session"]
        killed.kill()
        killed.wait()
        self.b.pass_udp()
        self.assertEqual(other.wait(60), 0, other.log_path.read_text())
        self.assertEqual(self.daemon.status("home")["session"], session)
        self.assertTrue(re.search(r"home: connected", other.log_path.read_text()))


class TwoDaemons(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("ten")
        self.addCleanup(self.lab.close)

    def test_of_ten_on_the_same_folders_one_lives_and_the_others_say_why(self):
        a, b, daemon, _, _ = self.lab.home()
        daemon.ctl("up", "home")
        up = daemon.status("home")

        def start():
            return a.popen(daemon.programs / "tunneld", "--launcher", "spawn", log="tunneld", env=daemon.environment)

        # Beside one that runs, and then all at once where none does.
        for process in [start() for _ in range(3)]:
            self.refused(process, daemon)
        daemon.kill()
        ten = [start() for _ in range(10)]
        wait_for("nine to give up", lambda: sum(one.poll() is not None for one in ten) >= 9, 5 * SLACK)
        alive = [one for one in ten if one.poll() is None]
        self.assertEqual(len(alive), 1, [one.log_path.read_text() for one in ten])
        daemon.process = alive[0]
        for one in ten:
            if one is not alive[0]:
                # It may have come between the lock and the number that its holder writes into it.
                self.refused(one, daemon, other="unknown")
        wait_for("the living one to answer", daemon.answers, 5 * SLACK)
        print(self.last.strip())
        # The socket is the living one's, and it has the tunnel that was there.
        with daemon.connect() as connection:
            self.assertEqual(struct.unpack("3i", connection.getsockopt(
                socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0], alive[0].pid)
        after = daemon.wait_status("home", "connected", 5 * SLACK)
        self.assertEqual((after["session"], after["providerProcess"]), (up["session"], up["providerProcess"]))
        self.assertEqual(ping(a, "10.20.0.2"), 3)

    def refused(self, process, daemon, other="no other"):
        self.assertEqual(process.wait(timeout=5 * SLACK), 1)
        text = process.log_path.read_text()
        self.assertIn("Another tunneld uses these directories.", text)
        self.assertRegex(text, rf"Process ({daemon.pid}|{other}) holds {daemon.state.parent}/")
        self.assertIn("STATE_DIRECTORY", text)
        self.last = text

    def test_two_in_two_namespaces_have_interfaces_of_different_names(self):
        """Even the same configuration: the folder of the wg sockets is one for the whole machine."""
        (a, b), (c, d) = self.lab.pair(), self.lab.pair()
        private, key = genkey(), genkey()
        for far in (b, d):
            peer = WireGuardGo(self.lab, far, private=key)
            peer.peer(pubkey(private), "10.20.0.1/32")
            peer.address("10.20.0.2/24")
        first, second = self.lab.tunneld(a), self.lab.tunneld(c, start=False)
        first.import_text("home", conf(private, ["10.20.0.1/24"], [
            {"PublicKey": pubkey(key), "AllowedIPs": "10.20.0.2/32", "Endpoint": "10.99.0.2:51820"}]))
        shutil.copytree(first.state, second.state, dirs_exist_ok=True)
        second.start()
        states = []
        for daemon in (first, second):
            daemon.ctl("up", "home")
            states.append(daemon.status("home"))
        self.assertEqual(states[0]["identifier"], states[1]["identifier"])
        self.assertNotEqual(states[0]["interface"], states[1]["interface"])
        ports = [str(state["listenPort"]) for state in states]
        self.assertNotEqual(*ports)
        for state, port, near in zip(states, ports, (a, c)):
            self.assertEqual(run("wg", "show", state["interface"], "listen-port").stdout.strip(), port)
            self.assertEqual(ping(near, "10.20.0.2"), 3)
        first.ctl("down", "home")
        self.assertEqual(run("wg", "show", states[1]["interface"], "listen-port").stdout.strip(), ports[1])
        self.assertEqual(ping(c, "10.20.0.2"), 3)


if __name__ == "__main__":
    unittest.main()
