"""No secret stands where none belongs.

A whole session with marker secrets, at the highest log level: import, items of every kind, traffic, export, errors. Then
every output, log and file, the arguments and environment of every process, and the memory of tunneld and its provider are
searched for each marker: raw, in hex of both cases, and in base64 at each alignment.

What holds afterwards: tunneld has none, in no form. The provider has its own private key and the pre-shared keys, raw,
in its locked memory (smaps: lo and dd) and nowhere else, until it ends. Files have none, sealed items among them.
"""

import base64
import os
import subprocess
import unittest
from pathlib import Path

from keychain_rig import call, occurrences, search_memory
from lab import Lab, WireGuardGo, conf, genpsk, ping, pubkey, run, tree, wait_for


def marker_key():
    """32 random bytes whose text in base64 `wg` takes for a private key: markers can't be met by chance."""
    return run("wg", "genkey").stdout.strip()


def run_bytes(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, check=True, timeout=60).stdout


class Markers(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("mark")
        self.addCleanup(self.lab.close)
        self.outputs = []

    def note(self, result):
        self.outputs.append(result.stdout + result.stderr)
        return result

    def test_no_marker_secret_is_found_where_none_belongs(self):
        a, b = self.lab.pair()
        daemon = self.lab.tunneld(a, level="debug")
        private, psk = marker_key(), genpsk()
        password, shared, pkcs12 = (os.urandom(12).hex().encode() for _ in range(3))
        secrets = {"private": base64.b64decode(private), "psk": base64.b64decode(psk), "password": password,
                   "shared": shared, "pkcs12": pkcs12, "spare": base64.b64decode(marker_key())}
        peer = WireGuardGo(self.lab, b)
        peer.peer(pubkey(private), "10.20.0.1/32", psk=psk)
        peer.address("10.20.0.2/24")

        def ctl(*arguments, **options):
            return self.note(daemon.ctl(*arguments, check=False, **options))

        # In: an import, and items of every kind.
        text = conf(private, ["10.20.0.1/24"], [{
            "PublicKey": peer.public, "PresharedKey": psk, "AllowedIPs": "10.20.0.2/32",
            "Endpoint": "10.99.0.2:51820"}])
        self.note(daemon.import_text("home", text))
        self.assertEqual(ctl("keychain", "add", "pw", input=password.decode()).returncode, 0)
        self.assertEqual(ctl("keychain", "add", "ss", "--kind", "shared-secret", input=shared.decode()).returncode, 0)
        key, certificate, file = (self.lab.folder / f"identity.{end}" for end in ("key", "pem", "p12"))
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key,
            "-out", certificate, "-subj", "/CN=marker", "-days", 30)
        run("openssl", "pkcs12", "-export", "-inkey", key, "-in", certificate, "-out", file, "-passout", "stdin",
            input=pkcs12.decode())
        os.chmod(file, 0o600)
        result = ctl("keychain", "add", "id", "--kind", "identity", "--file", file, input=pkcs12.decode())
        self.assertEqual(result.returncode, 0, result.stderr)
        # The scalar of the private key, behind 7 bytes of ASN.1, and a piece of the file.
        secrets["identity"] = run_bytes("openssl", "ec", "-in", key, "-outform", "DER")[7:39]
        secrets["file"] = file.read_bytes()[200:232]
        for path in (key, certificate, file):
            path.unlink()

        # Use, and errors of all sorts.
        self.note(daemon.ctl("up", "home"))
        self.assertEqual(ping(a, "10.20.0.2", count=10), 10)
        for arguments in (["status", "home"], ["status", "home", "--json"], ["show", "home"], ["show", "home", "--json"],
                          ["list", "--json"], ["export", "home"], ["export", "home", "--json"], ["stats", "home"],
                          ["doctor"], ["keychain", "list"], ["keychain", "list", "--json"], ["keychain", "find", "pw"],
                          ["keychain", "remove", "nothing"], ["up", "nothing"]):
            ctl(*arguments)
        ctl("keychain", "add", "pw", input=password.decode())
        ctl("keychain", "add", "bad", "--base64", input=shared.decode() + "!")
        ctl("keychain", "replace", "pw", input=password.decode())
        spare = base64.b64encode(secrets["spare"]).decode()
        for broken in (text.replace("PrivateKey", "PrivatKey"), text.replace(private, spare[:-2] + "="),
                       text.replace(psk, spare + "x"), text + f"\nJunk = {spare}\n", f"{spare}\n{text}"):
            path = self.lab.folder / "broken.conf"
            path.write_text(broken)
            os.chmod(path, 0o600)
            result = ctl("import", path, "--name", "broken")
            self.assertNotEqual(result.returncode, 0)
            path.unlink()
        identifier = daemon.status("home")["identifier"]
        loaded = call(daemon.socket, "Configurations.Load", {"identifier": identifier})[0]["parameters"]["configuration"]
        for change in ({"privateKeyReference": spare}, {"privateKey": spare}, {"privateKeyReference": {"$data": spare}}):
            wrong = dict(loaded, provider=dict(loaded["provider"], configuration={
                **loaded["provider"]["configuration"], **change}))
            reply, _ = call(daemon.socket, "Configurations.Save", {
                "configuration": wrong, "generation": loaded["generation"]})
            self.assertIn("error", reply)
            self.outputs.append(str(reply))
        reply, _ = call(daemon.socket, "Keychain.Remove", {"reference": spare})
        self.outputs.append(str(reply))
        # Out, to whom it belongs; this text is the one that may have them.
        self.assertIn(private, daemon.ctl("export", "home", "--with-secrets").stdout)

        # The provider is lost, and the next one has the secrets again.
        before = daemon.status("home")["providerProcess"]
        os.kill(before, 9)
        wait_for("another provider", lambda: daemon.status("home")["providerProcess"] not in (None, before), 30)
        daemon.wait_status("home", "connected", 30)
        self.assertEqual(ping(a, "10.20.0.2"), 3)

        provider = daemon.status("home")["providerProcess"]
        self.check_processes(daemon, provider, secrets)
        self.check_files(daemon, secrets)
        ctl("down", "home")
        # tunneld still runs; nothing came back with the end of the session.
        self.check_memory_of_tunneld(daemon, secrets)
        self.check_outputs(daemon, secrets)

    # What is searched

    def check_processes(self, daemon, provider, secrets):
        tunneld = daemon.process.pid
        daemon_pid = next(pid for pid in tree(tunneld) if os.readlink(f"/proc/{pid}/exe").endswith("tunneld"))
        self.daemon_pid = daemon_pid
        for pid in (daemon_pid, provider):
            for name in ("cmdline", "environ"):
                self.nothing(Path(f"/proc/{pid}/{name}").read_bytes(), secrets, f"{name} of {pid}")
            # Neither may be dumped, and no secret waits in an open memfd.
            self.assertEqual(os.stat(f"/proc/{pid}/mem").st_uid, 0)
            memfds = [link for entry in Path(f"/proc/{pid}/fd").iterdir()
                      if "memfd:" in (link := os.readlink(entry))]
            self.assertEqual(memfds, [])
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                for name in ("cmdline", "environ"):
                    try:
                        data = (entry / name).read_bytes()
                    except OSError:
                        continue
                    self.nothing(data, secrets, f"{name} of {entry.name}")
        self.check_memory_of_tunneld(daemon, secrets)
        # The provider: its own keys, raw, in locked memory, and there alone.
        own = {"private", "psk"}
        found = {name: search_memory(provider, secret) for name, secret in secrets.items()}
        for name in own:
            self.assertTrue(found[name], f"{name}: the search itself finds nothing")
            for is_arena, form, line in found[name]:
                self.assertTrue(is_arena and form == "raw", f"{name} as {form} in {line}")
        for name in secrets.keys() - own - {"spare"}:
            self.assertEqual(found[name], [], name)

    def check_memory_of_tunneld(self, daemon, secrets):
        for name, secret in secrets.items():
            # Whoever writes a secret into a message has it in a text that nobody can wipe; it is refused, and not echoed.
            if name == "spare":
                continue
            self.assertEqual(search_memory(self.daemon_pid, secret), [], f"{name} in tunneld")

    def check_files(self, daemon, secrets):
        count = 0
        for folder in (daemon.state, daemon.runtime, daemon.configuration, self.lab.folder):
            for path in folder.rglob("*"):
                # What the peer's own program needs isn't ours.
                if path.is_file() and not path.is_symlink() and not path.name.startswith("tmp"):
                    self.nothing(path.read_bytes(), secrets, path)
                    count += 1
        self.assertGreater(count, 8)
        self.assertEqual(len([path for path in (daemon.state / "keychain").iterdir()]), 5)

    def check_outputs(self, daemon, secrets):
        log = daemon.process.log_path.read_bytes()
        self.assertIn(b"connected", log)
        self.nothing(log, secrets, "tunneld's log")
        self.assertGreater(len(self.outputs), 20)
        for output in self.outputs:
            self.nothing(output.encode(), secrets, output[:200])
        # No run of eight bytes either, as text or as bytes (C137).
        for name, secret in secrets.items():
            for form in (secret, base64.b64encode(secret), secret.hex().encode()):
                for start in range(0, len(form) - 8):
                    run_of_eight = form[start:start + 8]
                    self.assertNotIn(run_of_eight, log, name)
                    for output in self.outputs:
                        self.assertNotIn(run_of_eight, output.encode(), name)

    def nothing(self, data, secrets, where):
        for name, secret in secrets.items():
            self.assertEqual(occurrences(data, secret), [], f"{name} in {where}")

    def test_the_search_finds_what_is_there(self):
        secret = os.urandom(32)
        for form in (secret, secret.hex().encode(), secret.hex().upper().encode(), base64.b64encode(secret),
                     base64.b64encode(b"a" + secret + b"b"), base64.b64encode(b"ab" + secret)):
            self.assertTrue(occurrences(b"x" + form + b"y", secret), form)
        self.assertEqual(occurrences(os.urandom(1 << 16), secret), [])
        process = subprocess.Popen(["python3", "-c", "import sys; s = sys.stdin.buffer.read(32); print(1, flush=True);"
                                    "import time; time.sleep(60)"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        process.stdin.write(secret)
        process.stdin.flush()
        process.stdout.readline()
        self.assertTrue(search_memory(process.pid, secret))
        process.stdin.close()
        process.stdout.close()

    def test_memory_that_may_not_be_locked_is_told(self):
        a, _ = self.lab.pair()
        daemon = self.lab.tunneld(a, start=False)
        daemon.prefix = ["capsh", "--drop=cap_ipc_lock,cap_sys_resource", "--", "-c",
                         "ulimit -l 0; exec \"$0\" \"$@\""]
        daemon.start()
        daemon.wait_for_text("Secrets may be swapped to disk, going on without locked memory: mlock: ")
        daemon.prefix = []


if __name__ == "__main__":
    unittest.main()
