"""What a person is told where something stands in the way: in time, once, and with a remedy that fits."""

import os
import resource
import signal
import time
import unittest

from lab import SLACK, Lab, conf, genkey, pubkey, replies, wait_for


class WhatIsTold(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("told")
        self.addCleanup(self.lab.close)

    def test_a_tunneld_that_is_stopped_is_told_soon_and_by_its_process(self):
        a, _, daemon, _, _ = self.lab.home()
        daemon.ctl("up", "home")
        os.kill(daemon.pid, signal.SIGSTOP)
        try:
            for command in (["status"], ["status", "home"], ["list"], ["stats", "home"], ["down", "home"], ["up", "home"]):
                began = time.monotonic()
                result = daemon.ctl(*command, check=False)
                self.assertLess(time.monotonic() - began, 5 * SLACK, command)
                self.assertEqual(result.returncode, 6, command)
                self.assertIn(f"tunneld (process {daemon.pid}) doesn't answer.", result.stderr)
                self.assertIn(f"`kill -CONT {daemon.pid}`", result.stderr)
        finally:
            os.kill(daemon.pid, signal.SIGCONT)
        self.assertEqual(daemon.status("home")["status"], "connected")

    def test_an_up_of_a_tunnel_that_still_connects_says_so_and_tells_nothing_twice(self):
        a, b = self.lab.pair()
        daemon = self.lab.tunneld(a)
        daemon.import_text("home", conf(genkey(), ["10.20.0.1/24"], [
            {"PublicKey": pubkey(genkey()), "AllowedIPs": "10.20.0.0/24", "Endpoint": "10.99.0.2:51820"}]))
        daemon.ctl("up", "home", "--no-wait")
        wait_for("the refusal", lambda: daemon.status("home")["failure"], 5 * SLACK)
        result = daemon.ctl("up", "home", "--timeout", "6", check=False)
        self.assertEqual(result.returncode, 3)
        self.assertIn("home is already starting (handshake sent); waiting for it.", result.stdout)
        self.assertEqual(result.stdout.count("The way to 10.99.0.2:51820 says"), 1, result.stdout)
        self.assertEqual(result.stderr.count("The way to 10.99.0.2:51820 says"), 1, result.stderr)
        self.assertNotIn("peer ", result.stderr)

    def test_the_routes_of_a_small_tunnel_are_shown(self):
        _, _, daemon, _, _ = self.lab.home()
        daemon.ctl("up", "home")
        self.assertEqual(daemon.status("home")["routes"], ["10.20.0.2/32"])
        self.assertRegex(daemon.ctl("status", "home").stdout, r"\n  routes +10\.20\.0\.2/32\n")

    def test_configurations_of_equal_names_are_told_apart(self):
        a, _ = self.lab.pair()
        daemon = self.lab.tunneld(a, start=False)
        (daemon.configuration / "tunneld.conf").write_text("users = allow\n")
        daemon.start()
        path = self.lab.folder / "twin.conf"
        for user in (4242, 4243):
            path.write_text(conf(genkey(), ["10.20.0.1/24"], []))
            os.chown(path, user, user)
            daemon.ctl("import", path, user=user)
        lines = daemon.ctl("list").stdout.splitlines()
        self.assertRegex(lines[0], r"^NAME +OWNER +STATUS +ENABLED +IDENTIFIER$")
        self.assertEqual(sorted(" ".join(line.split()[1:3]) for line in lines[1:]), ["user 4242", "user 4243"])
        self.assertNotIn("OWNER", daemon.ctl("list", user=4242).stdout)
        result = daemon.ctl("up", "twin", check=False)
        self.assertEqual(result.returncode, 2)
        for entry in daemon.json("list"):
            self.assertIn(entry["identifier"], result.stderr)
        self.assertIn("twin of user 4243 (", result.stderr)
        self.assertEqual(daemon.ctl("show", daemon.json("list")[0]["identifier"]).returncode, 0)

    def test_a_client_that_is_refused_all_the_time_does_not_fill_the_log(self):
        a, _ = self.lab.pair()
        daemon = self.lab.tunneld(a)
        # More connections than one user may have; each beyond the limit is refused.
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(limit[1], 4096), limit[1]))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, limit)
        connections = [daemon.connect() for _ in range(2048)]
        for _ in range(50):
            with daemon.connect() as connection:
                self.assertEqual(next(replies(connection))["error"], "org.tunneld.LimitExceeded")
        for connection in connections:
            connection.close()
        lines = daemon.process.log_path.read_text().count("A client was in the way")
        self.assertGreaterEqual(lines, 1)
        # One, and another where a minute passed.
        self.assertLessEqual(lines, 2)

    def test_a_start_without_its_folders_says_what_fits(self):
        a = self.lab.namespace("a")
        daemon = self.lab.tunneld(a, start=False)
        for options, word in (("ro", "read-only"), ("nr_inodes=1", "full")):
            result = a.exec(
                "unshare", "--mount", "sh", "-c",
                f'mount -t tmpfs -o {options} none {daemon.state} && exec "$0" "$@"', daemon.programs / "tunneld",
                "--launcher", "spawn", check=False,
                env=dict(daemon.environment, STATE_DIRECTORY=str(daemon.state / "deep")))
            self.assertEqual(result.returncode, 1)
            self.assertIn(word, result.stderr)
            self.assertNotIn("as root", result.stderr)
        (daemon.state / "file").write_text("")
        result = a.exec(daemon.programs / "tunneld", "--launcher", "spawn", check=False,
                        env=dict(daemon.environment, STATE_DIRECTORY=str(daemon.state / "file" / "state")))
        self.assertIn("Move what is in the way", result.stderr)

    def test_calls_of_several_replies_without_more_are_told_the_standard_way(self):
        a = self.lab.namespace("a")
        daemon = self.lab.tunneld(a)
        for method in ("org.tunneld.Sessions.Monitor", "org.tunneld.Configurations.LoadAll"):
            self.assertEqual(daemon.call(method)["error"], "org.varlink.service.ExpectedMore")


if __name__ == "__main__":
    unittest.main()
