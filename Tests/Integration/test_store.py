"""The store: what a person sets, what is kept, and what is told of it."""

import json
import os
import socket
import threading
import time
import unittest
import uuid

from lab import SLACK, Lab, conf, genkey, pubkey, run, wait_for


class Settings(unittest.TestCase):
    def test_every_key_is_settable_and_what_is_not_in_force_is_told(self):
        with Lab("sto") as lab:
            _, _, daemon, _, _ = lab.home()
            keys = ["includeAllNetworks", "excludeLocalNetworks", "enforceRoutes", "persistentBlock", "disconnectOnSleep",
                    "startAtBoot", "onDemand.enabled"]
            done = daemon.json("set", "home", *[f"{key}=true" for key in keys],
                               'onDemand.rules=[{"action":"connect","interfaceTypeMatch":"wiFi"}]', "username=eva",
                               "provider.configuration.mtu=1400", "provider.configuration.peers[0].persistentKeepalive=25")
            assert done["generation"] == 2
            assert any("onDemand is not in force" in warning for warning in done["warnings"])
            stored = daemon.json("show", "home")
            assert stored["includeAllNetworks"] and stored["startAtBoot"] and stored["username"] == "eva"
            assert stored["onDemand"] == {"enabled": True, "rules": [{"action": "connect", "interfaceTypeMatch": "wiFi"}]}
            assert stored["provider"]["configuration"]["mtu"] == 1400
            assert any("onDemand is not in force" in note for note in daemon.status("home")["notes"])

            up = daemon.ctl("up", "home").stdout
            assert "onDemand is not in force" in up, up
            assert "onDemand is not in force" in daemon.process.log_path.read_text()
            assert daemon.status("home")["mtu"] == 1400

            refused = daemon.ctl("set", "home", "onDemand.rules=[\"wifi\"]", "--json", check=False)
            error = json.loads(refused.stderr)
            assert refused.returncode == 1 and error["field"] == "onDemand.rules[0]" and error["code"] == 1
            refused = daemon.ctl("set", "home", "startAtBot=true", check=False)
            assert refused.returncode == 2 and "Did you mean startAtBoot?" in refused.stderr
            assert daemon.json("show", "home")["generation"] == 2

            # Switched off, it stops, and can't be started.
            daemon.ctl("disable", "home")
            daemon.wait_status("home", "disconnected", 10)
            refused = daemon.ctl("up", "home", "--json", check=False)
            assert json.loads(refused.stderr)["code"] == 2
            daemon.ctl("enable", "home")
            daemon.ctl("up", "home")


class Files(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("stof")
        self.addCleanup(self.lab.close)
        self.daemon = self.lab.tunneld(self.lab.namespace("a"))
        self.daemon.import_text("home", conf(genkey(), ["10.20.0.1/24"], []))
        self.identifier = self.daemon.json("show", "home")["identifier"]
        self.file = self.daemon.state / "configurations" / f"{self.identifier}.json"

    def edit(self, change):
        document = json.loads(self.file.read_text())
        change(document)
        self.file.write_text(json.dumps(document))

    def generation(self):
        return self.daemon.json("show", "home")["generation"]

    def test_an_edit_by_hand_becomes_a_generation_and_an_event(self):
        connection = self.daemon.connect()
        self.addCleanup(connection.close)
        connection.sendall(json.dumps({
            "method": "org.tunneld.Configurations.Watch", "parameters": {}, "more": True}).encode() + b"\0")
        events = []

        def receive():
            try:
                return connection.recv(65536)
            except OSError:  # Closed at the end of the test.
                return b""

        def read():
            buffer = b""
            while data := receive():
                buffer += data
                while b"\0" in buffer:
                    message, buffer = buffer.split(b"\0", 1)
                    events.append(json.loads(message)["parameters"])

        threading.Thread(target=read, daemon=True).start()
        wait_for("the present state", lambda: len(events) == 2, 10)
        self.assertEqual([event["kind"] for event in events], ["present", "ready"])
        self.edit(lambda document: document.update(username="eva"))
        event = wait_for("the event of the edit", lambda: len(events) > 2 and events[2], 2 * SLACK)
        self.assertEqual((event["kind"], event["identifier"]), ("changed", self.identifier))
        self.assertEqual((event["configuration"]["username"], event["configuration"]["generation"]), ("eva", 2))
        self.daemon.ctl("remove", "home")
        event = wait_for("the event of the removal", lambda: len(events) > 3 and events[3], 2 * SLACK)
        self.assertEqual((event["kind"], event.get("configuration")), ("removed", None))

    def test_an_edit_that_cannot_be_used_changes_nothing_and_is_told(self):
        self.file.write_text("{ not json")
        aside = wait_for("the file to be set aside", lambda: list((self.daemon.state / "damaged").iterdir()), 3 * SLACK)
        self.assertEqual(aside[0].read_text(), "{ not json")
        self.assertEqual(self.generation(), 1)
        self.assertEqual(json.loads(self.file.read_text())["generation"], 1)
        findings = self.daemon.ctl("doctor", check=False).stdout
        self.assertIn("Generation 1 of home stays in force", findings)
        self.daemon.terminate()
        self.daemon.start()
        self.assertEqual(self.generation(), 1)

    def test_a_damaged_file_is_set_aside_and_its_configuration_restored(self):
        self.daemon.ctl("set", "home", "username=eva")
        self.daemon.terminate()
        self.file.write_bytes(self.file.read_bytes()[:100])
        self.daemon.start()
        self.assertEqual(self.daemon.json("list"), [])
        refused = self.daemon.ctl("up", "home", check=False)
        self.assertEqual(refused.returncode, 4)
        self.assertIn(f"tunnelctl restore {self.file.stem} 2", self.daemon.process.log_path.read_text())
        history = self.daemon.json("history", "home")
        self.assertEqual([entry["generation"] for entry in history["generations"]], [1, 2])
        self.assertIn("damaged", history["lost"])
        self.assertEqual(len(list((self.daemon.state / "damaged").iterdir())), 1)
        self.daemon.ctl("restore", "home", "1")
        self.assertEqual(self.generation(), 3)
        self.assertNotIn("username", self.daemon.json("show", "home"))
        self.daemon.ctl("restore", "home", "2")
        self.assertEqual(self.daemon.json("show", "home")["username"], "eva")
        # With its private key, which was in the first generation only.
        self.daemon.ctl("export", "home", "--with-secrets")

    def test_tunnels_start_at_boot_once(self):
        self.daemon.ctl("set", "home", "startAtBoot=true")
        self.daemon.terminate()
        self.daemon.start()
        self.assertEqual(self.daemon.status("home")["status"], "disconnected", "the machine wasn't started anew")
        self.daemon.terminate()
        (self.daemon.state / "boot").write_text("an earlier start of the machine\n")
        self.daemon.start()
        self.daemon.wait_status("home", "connected", 10)
        self.daemon.ctl("down", "home")
        self.daemon.terminate()
        self.daemon.start()
        self.assertEqual(self.daemon.status("home")["status"], "disconnected")

    def test_a_kill_while_it_saves_loses_nothing_that_was_answered(self):
        for round in range(10):
            answered = []

            def save():
                for number in range(1000):
                    done = self.daemon.ctl("set", "home", f"username={round}-{number}", "--json", check=False)
                    if done.returncode != 0:
                        return
                    answered.append((json.loads(done.stdout)["generation"], f"{round}-{number}"))

            thread = threading.Thread(target=save)
            thread.start()
            wait_for("saves", lambda: len(answered) > 2, 10)
            time.sleep(0.003 * round)
            self.daemon.kill()
            thread.join()
            self.daemon.start()
            stored = self.daemon.json("show", "home")
            generation, name = answered[-1]
            self.assertIn(stored["generation"], (generation, generation + 1))
            if stored["generation"] == generation:
                self.assertEqual(stored["username"], name)
            self.assertEqual(list((self.daemon.state / "pending").iterdir()), [])
            self.assertEqual(list((self.daemon.state / "damaged").iterdir()), [])
            self.assertEqual(len(list((self.daemon.state / "keychain").iterdir())), 1)
            # One more than are kept, where the kill came before the oldest went.
            self.assertLessEqual(len(list((self.daemon.state / "history" / self.identifier).iterdir())), 21)


class Limits(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("stol")
        self.addCleanup(self.lab.close)
        self.namespace = self.lab.namespace("a")

    def on_small_disk(self):
        """A tunneld whose state directory is a file system of its own, 1 MiB large."""
        daemon = self.lab.tunneld(self.namespace, start=False)
        daemon.prefix = ["unshare", "--mount", "sh", "-c",
                         f"mount -t tmpfs -o size=1m none {daemon.state} && exec \"$0\" \"$@\""]
        daemon.start()
        daemon.prefix = []
        daemon.import_text("home", conf(genkey(), ["10.20.0.1/24"], []))
        return daemon, lambda *command: run("nsenter", "-t", daemon.pid, "-m", *command)

    def refused(self, daemon, errno, *arguments):
        result = daemon.ctl(*arguments, "--json", check=False)
        self.assertEqual(result.returncode, 1, result.stdout)
        error = json.loads(result.stderr)
        self.assertEqual((error["code"], error["domain"]), (5, "NEVPNErrorDomain"), error)
        self.assertIn(errno, error["reason"])
        self.assertIn(str(daemon.state), error["reason"])
        self.assertTrue(error["remedy"])

    def test_ten_thousand_configurations(self):
        daemon = self.lab.tunneld(self.namespace, start=False)
        # Twenty thousand files are gone at once with their file system.
        run("mount", "-t", "tmpfs", "-o", "mode=700", "none", daemon.state)
        self.lab.cleanups.append(lambda: run("umount", "-l", daemon.state))
        daemon.start()
        daemon.import_text("home", conf(genkey(), ["10.20.0.1/24"], []))
        document = json.loads(next((daemon.state / "configurations").iterdir()).read_text())
        daemon.terminate()
        document["provider"]["configuration"]["peers"] = [
            {"publicKey": pubkey(genkey()), "allowedIPs": ["10.20.0.2/32"], "endpoint": "192.0.2.1:51820"}]
        for number in range(9999):
            identifier = str(uuid.uuid4())
            document.update(identifier=identifier, name=f"n{number}")
            path = daemon.state / "configurations" / f"{identifier}.json"
            path.write_text(json.dumps(document, indent=2))
            os.chmod(path, 0o600)
            copy = daemon.state / "history" / identifier / "1.json"
            copy.parent.mkdir(mode=0o700)
            copy.write_text(path.read_text())
            os.chmod(copy, 0o600)
            os.utime(copy, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
        begin = time.monotonic()
        daemon.start()
        took = time.monotonic() - begin
        print(f"started in {took:.2f} s")
        self.assertLess(took, 1 * SLACK, "tunneld's start")
        begin = time.monotonic()
        listed = daemon.json("list")
        took = time.monotonic() - begin
        self.assertEqual(len(listed), 10000)
        print(f"listed in {took:.2f} s")
        self.assertLess(took, 0.2 * SLACK, "the list")
        self.assertEqual(len(daemon.json("status")), 10000)
        self.assertEqual(daemon.json("set", "n77", "username=eva")["generation"], 2)
        daemon.ctl("remove", "n78")
        self.assertEqual(len(daemon.json("list")), 9999)

    def test_a_full_disk_loses_nothing(self):
        daemon, inside = self.on_small_disk()
        before = daemon.json("show", "home")
        inside("sh", "-c", f"cat /dev/zero > {daemon.state}/filler 2>/dev/null || true")
        self.refused(daemon, "No space left", "set", "home", "username=eva")
        refused = daemon.ctl("new", "other", check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertEqual(daemon.json("show", "home"), before)
        self.assertEqual(daemon.status("home")["status"], "disconnected")
        daemon.ctl("export", "home", "--with-secrets")
        inside("rm", f"{daemon.state}/filler")
        daemon.ctl("set", "home", "username=eva")
        self.assertEqual(daemon.json("show", "home")["generation"], 2)
        left = inside("sh", "-c", f"ls {daemon.state}/keychain {daemon.state}/pending").stdout
        self.assertEqual(left.count("\n"), 4, left)
        daemon.ctl("remove", "home")

    def test_a_read_only_disk_loses_nothing(self):
        daemon, inside = self.on_small_disk()
        before = daemon.json("show", "home")
        # Over itself, for the file system can't be made read-only while the lock file is open.
        inside("mount", "--bind", daemon.state, daemon.state)
        inside("mount", "-o", "remount,bind,ro", daemon.state)
        self.refused(daemon, "Read-only file system", "set", "home", "username=eva")
        self.refused(daemon, "Read-only file system", "remove", "home")
        self.assertEqual(daemon.json("show", "home"), before)
        self.assertEqual([it["name"] for it in daemon.json("list")], ["home"])
        inside("umount", daemon.state)
        daemon.ctl("set", "home", "username=eva")

    def test_without_descriptors_nothing_is_lost_and_service_returns(self):
        daemon = self.lab.tunneld(self.namespace, start=False)
        daemon.prefix = ["prlimit", "--nofile=64:64"]
        daemon.start()
        daemon.prefix = []
        daemon.import_text("home", conf(genkey(), ["10.20.0.1/24"], []))
        held = []
        for _ in range(100):
            try:
                held.append(daemon.connect(timeout=1))
            except OSError:
                break
        request = json.dumps({"method": "org.varlink.service.GetInfo"}).encode() + b"\0"
        silent = 0
        for connection in held:
            try:
                connection.sendall(request)
                silent += not connection.recv(1)
            except (socket.timeout, BrokenPipeError, ConnectionResetError):
                silent += 1
                break
        self.assertGreater(silent, 0, "64 descriptors don't serve 100 connections")
        for connection in held:
            connection.close()
        wait_for("service to return", lambda: daemon.ctl("list", check=False).returncode == 0, 10)
        daemon.ctl("set", "home", "username=eva")
        self.assertEqual(daemon.json("show", "home")["generation"], 2)
