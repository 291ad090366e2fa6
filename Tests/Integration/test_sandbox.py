"""A provider has no privilege, and nobody else gets at what is its own."""

import os
import re
import subprocess
import unittest
from pathlib import Path

from lab import Lab, WireGuardGo, conf, genkey, pubkey, run, tree


def as_user(user, command, namespace=None, **options):
    """Runs a command as a user id without groups and capabilities."""
    prefix = ["ip", "netns", "exec", namespace.name] if namespace else []
    return subprocess.run([*prefix, "setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups",
                           "--inh-caps=-all", "--bounding-set=-all", *command],
                          capture_output=True, text=True, timeout=30, **options)


ATTACH = """
import fcntl, os, struct, sys
try:
    handle = os.open(sys.argv[2], os.O_RDWR) if sys.argv[2] != "0" else 0
    fcntl.ioctl(handle, 0x400454ca, struct.pack("16sH22x", sys.argv[1].encode(), 0x5001))
    print("attached")
except OSError as error:
    print("refused", error.errno)
"""


class Sandbox(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = Lab("sand")
        cls.addClassCleanup(cls.lab.close)
        cls.a, cls.b = cls.lab.pair()
        cls.daemon = cls.lab.tunneld(cls.a)
        cls.private = genkey()
        cls.psk = run("wg", "genpsk").stdout.strip()
        cls.peer = WireGuardGo(cls.lab, cls.b)
        cls.peer.peer(pubkey(cls.private), "10.20.0.1/32", psk=cls.psk)
        cls.peer.address("10.20.0.2/24")
        cls.daemon.import_text("home", conf(cls.private, ["10.20.0.1/24"], [
            {"PublicKey": cls.peer.public, "PresharedKey": cls.psk, "AllowedIPs": "10.20.0.2/32",
             "Endpoint": "10.99.0.2:51820"}]))
        cls.daemon.ctl("up", "home")
        cls.status = cls.daemon.status("home")
        cls.provider = cls.status["providerProcess"]
        cls.user = int(re.search(r"Uid:\s+(\d+)", Path(f"/proc/{cls.provider}/status").read_text()).group(1))

    def test_every_thread_is_without_capabilities_and_with_no_new_privs(self):
        tasks = list(Path(f"/proc/{self.provider}/task").iterdir())
        self.assertGreater(len(tasks), 0)
        for task in tasks:
            text = (task / "status").read_text()
            for field in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
                self.assertRegex(text, rf"{field}:\s+0000000000000000\n")
            self.assertRegex(text, r"NoNewPrivs:\s+1\n")
            self.assertRegex(text, rf"Uid:\s+{self.user}\s+{self.user}\s+{self.user}\s+{self.user}\n")
            self.assertRegex(text, rf"Gid:\s+(\d+)\s+\1\s+\1\s+\1\n")
            self.assertRegex(text, r"Groups:\s*\n")
        self.assertGreaterEqual(self.user, 1000)

    def test_another_users_attach_is_refused(self):
        name = self.status["interface"]
        # A node opened elsewhere would ask for a device of that namespace.
        with self.a.inside(lambda: open("/dev/net/tun", "r+b", buffering=0)) as node:
            for user in (65534, self.user + 1):
                result = as_user(user, ["/usr/bin/python3", "-c", ATTACH, name, "0"], self.a, stdin=node)
                self.assertEqual(result.stdout, "refused 1\n", result.stderr)  # EPERM
            # The positive control: its own user gets past the question of who it is, to a device that is in use.
            result = as_user(self.user, ["/usr/bin/python3", "-c", ATTACH, name, "0"], self.a, stdin=node)
            self.assertEqual(result.stdout, "refused 16\n", result.stderr)  # EBUSY

    def test_the_provider_cannot_open_roots_files_the_store_or_the_keychain(self):
        secret = self.lab.folder / "root-only"
        secret.write_text("x")
        os.chmod(secret, 0o600)
        targets = [secret, Path("/etc/shadow"), *self.daemon.state.rglob("*"), *self.daemon.runtime.glob("journal/*")]
        self.assertGreater(len(targets), 4)
        for target in targets:
            if target.is_file():
                result = as_user(self.user, ["cat", str(target)])
                self.assertNotEqual(result.returncode, 0, target)
        for folder in (self.daemon.state / "keychain", self.daemon.state / "configurations"):
            self.assertNotEqual(as_user(self.user, ["ls", str(folder)]).returncode, 0, folder)
            self.assertNotEqual(as_user(self.user, ["touch", str(folder / "x")]).returncode, 0, folder)

    def test_files_are_readable_only_by_whom_they_concern(self):
        for path in self.daemon.state.rglob("*"):
            mode = path.stat().st_mode & 0o777
            self.assertEqual(mode & 0o077, 0, f"{path} {mode:o}")
        folder = self.daemon.runtime / "providers" / self.status["identifier"]
        self.assertEqual(folder.stat().st_uid, self.user)
        self.assertEqual(folder.stat().st_mode & 0o777, 0o700)

    def test_no_secret_stands_where_it_must_not(self):
        secrets = [self.private, self.psk]
        import base64
        forms = [form for s in secrets for raw in [base64.b64decode(s)] for form in (s.encode(), raw, raw.hex().encode())]
        places = {}
        for pid in (self.provider, self.daemon.pid):
            for name in ("cmdline", "environ"):
                places[f"{pid}/{name}"] = Path(f"/proc/{pid}/{name}").read_bytes()
        for path in self.lab.folder.glob("*.log"):
            places[path.name] = path.read_bytes()
        for path in self.daemon.state.rglob("*"):
            if path.is_file() and "keychain" not in path.parts:
                places[str(path)] = path.read_bytes()
        for path in self.daemon.runtime.rglob("*"):
            if path.is_file():
                places[str(path)] = path.read_bytes()
        for command in (["show", "home"], ["export", "home"], ["status", "home", "--json"], ["list", "--json"],
                        ["show", "home", "--json"], ["stats", "home", "--json"]):
            result = self.daemon.ctl(*command)
            places[" ".join(command)] = (result.stdout + result.stderr).encode()
        for place, content in places.items():
            for form in forms:
                self.assertNotIn(form, content, place)
        # The positive control: with --with-secrets they do come out.
        text = self.daemon.ctl("export", "home", "--with-secrets").stdout
        self.assertIn(self.private, text)
        self.assertIn(self.psk, text)

    def test_the_processes_are_undumpable(self):
        for pid in (self.provider, self.daemon.pid):
            # An undumpable process's /proc files belong to root.
            self.assertEqual(os.stat(f"/proc/{pid}/environ").st_uid, 0)

    def test_no_descendant_holds_a_descriptor_that_it_was_not_given(self):
        links = {}
        for descriptor in Path(f"/proc/{self.provider}/fd").iterdir():
            try:
                links[descriptor.name] = os.readlink(descriptor)
            except OSError:
                continue
        for target in links.values():
            self.assertNotIn("netlink", target)
            self.assertFalse(target.startswith(str(self.daemon.state)), target)

    def test_another_user_may_not_control_the_tunnel(self):
        result = self.daemon.ctl("down", "home", user=65534, check=False)
        self.assertEqual(result.returncode, 5, result.stdout + result.stderr)
        self.assertEqual(self.daemon.ctl("export", "home", "--with-secrets", user=65534, check=False).returncode, 5)
        # Reading the system's state is everybody's right.
        self.assertEqual(self.daemon.ctl("status", "home", user=65534).returncode, 0)
        self.assertEqual(self.daemon.status("home")["status"], "connected")


if __name__ == "__main__":
    unittest.main()
