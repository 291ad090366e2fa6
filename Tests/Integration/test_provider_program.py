"""The provider's program by itself: what it says of itself, and that it refuses to run with a privilege."""

import json
import os
import signal
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path

from lab import PROGRAMS, SLACK, wait_for

PROGRAM = PROGRAMS / "tunnel-provider-wireguard"
USER = 61190


def program(*arguments, prefix=(), **options):
    return subprocess.run([*prefix, PROGRAM, *arguments], capture_output=True, text=True, timeout=30, **options)


def restricted(*drop):
    """setpriv's arguments for a user without any privilege, but for what is named."""
    everything = {"user": [f"--reuid={USER}", f"--regid={USER}"], "groups": ["--clear-groups"],
                  "inheritable": ["--inh-caps=-all"], "bounding": ["--bounding-set=-all"]}
    return ["setpriv", *sum((words for name, words in everything.items() if name not in drop), [])]


class ProviderProgram(unittest.TestCase):
    def test_it_describes_itself(self):
        descriptor = json.loads(program("--describe").stdout)
        self.assertEqual(descriptor["identifier"], "org.tunneld.wireguard")
        self.assertEqual(descriptor["executable"], str(PROGRAM.resolve()))
        self.assertEqual(descriptor["protocol"], 1)
        self.assertIn("privateKeyReference", descriptor["secretKeys"])

    def test_it_names_the_faults_of_a_configuration(self):
        def fields(text):
            result = program("--validate", input=text)
            self.assertEqual(result.returncode, 0, result.stderr)
            return [fault["field"] for fault in json.loads(result.stdout)["errors"]]
        self.assertEqual(fields('{"privateKeyReference": "a"}'), [])
        self.assertEqual(fields('{"privateKeyReference": 1, "peers": [{"publicKey": "x"}]}'),
                         ["privateKeyReference", "peers[0].publicKey"])
        for text in ("", "not JSON", "[]", "{"):
            self.assertEqual(len(fields(text)), 1, text)

    def test_wrong_arguments_are_answered_with_the_usage(self):
        for arguments in ((), ("--directory",), ("--unknown",), ("--describe", "more")):
            result = program(*arguments)
            self.assertEqual(result.returncode, 2)
            self.assertIn("Usage", result.stderr)

    def test_one_privilege_is_enough_to_refuse(self):
        self.assertEqual(program("--self-check", prefix=restricted()).returncode, 0)
        for left, told in (("user", "user id 0"), ("bounding", "CapBnd")):
            result = program("--self-check", prefix=restricted(left))
            self.assertEqual(result.returncode, 1)
            self.assertIn(told, result.stderr)
        result = program("--directory", "/nonexistent")
        self.assertEqual(result.returncode, 1)
        self.assertIn("refuses to run with privileges", result.stderr)

    def test_without_a_launch_file_it_says_who_starts_it(self):
        result = program("--directory", "/nonexistent", prefix=restricted())
        self.assertEqual(result.returncode, 1)
        self.assertIn("/nonexistent/launch", result.stderr)
        self.assertIn("tunneld", result.stderr)

    def test_a_signal_ends_it_and_takes_its_sockets_along(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            (folder / "launch").write_text('{"identifier":"x","nonce":"n","controllerUser":0}')
            for path in (folder, folder / "launch"):
                os.chown(path, USER, USER)
            process = subprocess.Popen([*restricted(), PROGRAM, "--directory", folder])
            try:
                wait_for("its sockets", lambda: (folder / "descriptors").exists(), 10 * SLACK)
                self.assertEqual((folder / "control").stat().st_mode & 0o777, 0o600)
                with socket.socket(socket.AF_UNIX) as connection:
                    connection.settimeout(10)
                    connection.connect(str(folder / "control"))
                    connection.sendall(b'{"method":"org.varlink.service.GetInfo"}\0')
                    self.assertIn(b"WireGuard", connection.recv(4096))
                process.send_signal(signal.SIGTERM)
                self.assertEqual(process.wait(timeout=10 * SLACK), 0)
                self.assertEqual(sorted(path.name for path in folder.iterdir()), ["launch"])
            finally:
                process.kill()
                process.wait()


if __name__ == "__main__":
    unittest.main()
