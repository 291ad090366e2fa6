"""The keychain through the real programs: items, owners, seals, failures, and what a person is told."""

import base64
import fcntl
import os
import pty
import signal
import subprocess
import termios
import unittest

from keychain_rig import call, call_as, unbundle
from lab import Lab, WireGuardGo, conf, genkey, ping, pubkey, run

ALICE, BOB = 41001, 41002


class Keychain(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("key")
        self.addCleanup(self.lab.close)
        self.a, self.b = self.lab.pair()
        self.daemon = self.lab.tunneld(self.a, level="debug")

    def call(self, method, parameters=None, secrets=None, user=None, raw=None):
        if user is not None:
            return call_as(user, self.daemon.socket, method, parameters, secrets)
        return call(self.daemon.socket, method, parameters, secrets, raw)[0]

    def add(self, name="vpn", secret=b"wolf", kind="password", user=None, **more):
        reply = self.call("Keychain.Add", {"name": name, "kind": kind, **more}, {"secret": secret}, user)
        return reply["parameters"]["reference"]

    def error(self, reply, name):
        self.assertEqual(reply.get("error"), f"org.tunneld.{name}", reply)
        return reply["parameters"]

    def reveal(self, reference):
        reply, data = call(self.daemon.socket, "Keychain.Reveal", {"reference": reference})
        self.assertNotIn("error", reply, reply)
        return unbundle(data)

    def allow_users(self):
        (self.daemon.configuration / "tunneld.conf").write_text("users = allow\n")
        self.daemon.terminate()
        self.daemon.start()

    def configuration(self, reference, name="home", user=0, **more):
        return {"version": 1, "identifier": "", "generation": 0, "name": name, "owner": {"user": user},
                "type": "provider", "enabled": True, "exclusive": False, "startAtBoot": False,
                "includeAllNetworks": False, "excludeLocalNetworks": False, "enforceRoutes": False,
                "persistentBlock": False, "disconnectOnSleep": False, "onDemand": {"enabled": False, "rules": []},
                "provider": {"identifier": "org.tunneld.wireguard", "configuration": {
                    "privateKeyReference": reference, "addresses": ["10.20.0.1/24"], "peers": [
                        {"publicKey": pubkey(genkey()), "allowedIPs": ["10.20.0.2/32"]}]}}, **more}

    def save(self, configuration, generation=0, user=None):
        return self.call("Configurations.Save", {"configuration": configuration, "generation": generation}, user=user)

    # Items

    def test_an_item_keeps_its_reference_through_restarts_replacement_and_renaming(self):
        reference = self.add()
        self.daemon.kill()
        self.daemon.start()
        found = self.call("Keychain.Find", {"name": "vpn"})["parameters"]
        self.assertEqual(found["reference"], reference)
        self.assertEqual(found["item"], {
            "reference": reference, "name": "vpn", "kind": "password", "scope": "system", "user": 0,
            "partOfConfiguration": False, "usedBy": [], "problem": None})
        self.assertNotIn("error", self.call("Keychain.Replace", {"reference": reference}, {"secret": b"sheep"}))
        self.assertEqual(self.reveal(reference), {reference: b"sheep"})
        self.assertNotIn("error", self.call("Keychain.Replace", {"reference": reference, "name": "office"}))
        self.assertEqual(self.reveal(reference), {reference: b"sheep"})
        self.assertEqual(self.call("Keychain.Find", {"name": "office"})["parameters"]["reference"], reference)
        self.error(self.call("Keychain.Find", {"name": "vpn"}), "NotFound")
        self.assertNotIn("error", self.call("Keychain.Remove", {"reference": reference}))
        self.error(self.call("Keychain.Remove", {"reference": reference}), "NotFound")
        self.assertEqual(self.call("Keychain.List")["parameters"], {"items": []})

    def test_what_is_no_secret_is_refused_by_its_field_and_not_echoed(self):
        marker = "c0ffee-marker-secret"
        cases = [
            ({"name": "a", "kind": "password"}, {"secret": b""}, "secret"),
            ({"name": "a", "kind": "password"}, {}, "secret"),
            ({"name": "a", "kind": "password"}, None, "secret"),
            ({"name": "a", "kind": "pass"}, {"secret": b"x"}, "kind"),
            ({"name": "", "kind": "password"}, {"secret": b"x"}, "name"),
            ({"name": "a", "kind": "password", "scope": "all"}, {"secret": b"x"}, "scope"),
            ({"name": "a", "kind": "password", "user": -1}, {"secret": b"x"}, "user"),
            ({"name": "a", "kind": "password"}, {"secret": marker.encode(), "more": b"x"}, "secret"),
            ({"name": "a", "kind": "password"}, {"secret": b"x" * (1 << 18) + b"y"}, "secret"),
        ]
        for parameters, secrets, field in cases:
            reply = self.call("Keychain.Add", parameters, secrets)
            self.assertEqual(self.error(reply, "InvalidParameter")["field"], field, reply)
            self.assertNotIn(marker, str(reply))
        # Nothing of a message is taken for the secret.
        reply = self.call("Keychain.Add", {"name": "a", "kind": "password", "secret": marker})
        self.assertTrue(reply["error"].endswith(".InvalidParameter"), reply)
        self.assertNotIn(marker, str(reply))
        self.error(self.call("Keychain.Add", {"name": "a", "kind": "password"}, raw=marker.encode()), "InvalidParameter")
        for method in ("Remove", "Replace", "Reveal"):
            reply = self.call(f"Keychain.{method}", {"reference": marker})
            self.error(reply, "NotFound")
            self.assertNotIn(marker, str(reply))
        self.add("a")
        self.error(self.call("Keychain.Add", {"name": "a", "kind": "password"}, {"secret": b"x"}), "NameTaken")
        self.assertNotIn(marker, self.daemon.process.log_path.read_text())

    def test_an_item_is_its_owners_and_nobody_elses(self):
        self.error(self.call("Keychain.Add", {"name": "a", "kind": "password"}, {"secret": b"x"}, ALICE),
                   "PermissionDenied")
        self.allow_users()
        hers, theirs = self.add("vpn", b"wolf", user=ALICE), self.add("vpn", b"sheep")
        # Another user's reference looks like one that was never given.
        never = "keychain:" + "0" * 32
        for method, more in (("Remove", {}), ("Replace", {"name": "x"}), ("Reveal", {})):
            answers = [self.call(f"Keychain.{method}", {"reference": reference, **more}, user=BOB)
                       for reference in (hers, never)]
            self.assertEqual(answers[0], answers[1])
            self.error(answers[0], "NotFound")
        for reference in (hers, never):
            self.error(self.save(self.configuration(reference, user=BOB), user=BOB), "SecretUnavailable")
        self.assertEqual(self.save(self.configuration(hers, user=BOB), user=BOB),
                         self.save(self.configuration(never, user=BOB), user=BOB))
        self.assertEqual([item["reference"] for item in self.call("Keychain.List", user=BOB)["parameters"]["items"]],
                         [theirs])
        # Root sees all; the system's item isn't for a user's configuration, nor hers for the system's.
        self.assertEqual({item["reference"] for item in self.call("Keychain.List")["parameters"]["items"]},
                         {hers, theirs})
        self.error(self.save(self.configuration(theirs, user=ALICE), user=ALICE), "SecretUnavailable")
        self.error(self.save(self.configuration(hers)), "SecretUnavailable")
        # What she may not: the system's items, and secrets out.
        for reply in (self.call("Keychain.Remove", {"reference": theirs}, user=ALICE),
                      self.call("Keychain.Add", {"name": "x", "kind": "password", "scope": "system"},
                                {"secret": b"x"}, ALICE),
                      self.call("Keychain.Add", {"name": "x", "kind": "password", "user": BOB},
                                {"secret": b"x"}, ALICE),
                      self.call("Keychain.Reveal", {"reference": hers}, user=ALICE)):
            self.error(reply, "PermissionDenied")
        # Root may add for her, and she finds her own before the system's.
        self.assertEqual(self.call("Keychain.Find", {"name": "vpn"}, user=ALICE)["parameters"]["reference"], hers)
        self.assertEqual(self.call("Keychain.Find", {"name": "vpn", "scope": "system"},
                                   user=ALICE)["parameters"]["reference"], theirs)
        self.assertTrue(self.add("more", user=None, **{"scope": "user"}))
        reply = self.call("Keychain.Add", {"name": "gift", "kind": "password", "user": ALICE}, {"secret": b"x"})
        self.assertIn(reply["parameters"]["reference"],
                      [item["reference"] for item in self.call("Keychain.List", user=ALICE)["parameters"]["items"]])

    def test_an_item_in_use_is_removed_by_force_alone_and_its_configuration_stays(self):
        key = base64.b64decode(genkey())
        reference = self.add("key", key, "privateKey")
        saved = self.save(self.configuration(reference))["parameters"]
        refused = self.error(self.call("Keychain.Remove", {"reference": reference}), "InUse")
        self.assertIn("home", refused["reason"])
        self.assertEqual(self.call("Keychain.List")["parameters"]["items"][0]["usedBy"], ["home"])
        result = self.daemon.ctl("keychain", "remove", "key", check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("home", result.stderr)
        self.daemon.ctl("keychain", "remove", "key", "--force")
        self.assertEqual([entry["name"] for entry in self.daemon.json("list")], ["home"])
        self.unavailable("home", "has no item")
        self.assertEqual(self.call("Configurations.Load", {"identifier": saved["identifier"]})
                         ["parameters"]["configuration"]["generation"], 1)

    def test_an_added_item_outlives_its_configuration_and_an_imported_one_does_not(self):
        reference = self.add("key", base64.b64decode(genkey()), "privateKey")
        self.save(self.configuration(reference))
        self.daemon.import_text("other", conf(genkey(), ["10.21.0.1/24"], [{"PublicKey": pubkey(genkey())}]))
        items = self.call("Keychain.List")["parameters"]["items"]
        self.assertEqual([(item["partOfConfiguration"], item["usedBy"]) for item in items],
                         [(False, ["home"]), (True, ["other"])])
        self.daemon.ctl("remove", "home")
        self.daemon.ctl("remove", "other")
        self.assertEqual([item["reference"] for item in self.call("Keychain.List")["parameters"]["items"]], [reference])

    # At rest

    def test_items_are_sealed_and_another_host_key_concerns_only_those_of_the_first(self):
        key = self.daemon.state / "host-key"
        self.assertEqual((key.stat().st_size, key.stat().st_mode & 0o777), (32, 0o600))
        private = genkey()
        self.daemon.import_text("home", conf(private, ["10.20.0.1/24"], [{"PublicKey": pubkey(genkey())}]))
        files = list((self.daemon.state / "keychain").iterdir())
        self.assertEqual(len(files), 1)
        self.assertNotIn(base64.b64decode(private), files[0].read_bytes())
        self.daemon.terminate()
        former = key.read_bytes()
        key.write_bytes(os.urandom(32))
        self.daemon.start()
        self.daemon.wait_for_text("sealed under another host key")
        self.unavailable("home", "another host key")
        self.assertIn("another host key", self.daemon.ctl("keychain", "list").stdout)
        # All else works.
        self.daemon.import_text("other", conf(genkey(), ["10.21.0.1/24"], [{"PublicKey": pubkey(genkey())}]))
        self.daemon.ctl("up", "other", "--no-wait")
        self.assertEqual(sorted(entry["name"] for entry in self.daemon.json("list")), ["home", "other"])
        self.daemon.ctl("down", "other")
        self.daemon.terminate()
        key.write_bytes(former)
        self.daemon.start()
        self.assertIn(private, self.daemon.ctl("export", "home", "--with-secrets").stdout)

    def test_the_host_key_is_a_credential_where_there_is_one(self):
        self.daemon.terminate()
        credentials = self.lab.folder / "credentials"
        credentials.mkdir()
        (credentials / "tunneld.host-key").write_bytes(os.urandom(32))
        (self.daemon.state / "host-key").unlink()
        self.daemon.environment["CREDENTIALS_DIRECTORY"] = str(credentials)
        self.daemon.start()
        reference = self.add()
        self.assertFalse((self.daemon.state / "host-key").exists())
        self.daemon.terminate()
        self.daemon.start()
        self.assertEqual(self.reveal(reference), {reference: b"wolf"})
        (credentials / "tunneld.host-key").write_bytes(b"short")
        self.daemon.terminate()
        self.daemon.start()
        refused = self.error(self.call("Keychain.Add", {"name": "b", "kind": "password"}, {"secret": b"x"}),
                             "SecretUnavailable")
        self.assertIn("tunneld.host-key", refused["reason"])

    def test_items_of_the_format_before_are_sealed_at_the_next_start(self):
        private = genkey()
        self.daemon.import_text("home", conf(private, ["10.20.0.1/24"], [{"PublicKey": pubkey(genkey())}]))
        (item,) = (self.daemon.state / "keychain").iterdir()
        self.daemon.terminate()
        label, key = b"home: new:private-key", base64.b64decode(private)
        item.write_bytes(b"TNKI\1\2" + len(label).to_bytes(2, "little") + bytes(4) + len(key).to_bytes(4, "little")
                         + label + key)
        self.daemon.start()
        self.assertNotIn(key, item.read_bytes())
        self.assertIn(private, self.daemon.ctl("export", "home", "--with-secrets").stdout)

    # Failures

    def unavailable(self, name, why):
        """Starts it in vain, and looks that this is told, before and after, and changes nothing."""
        self.assertIn(why, " ".join(self.daemon.status(name)["notes"]))
        problems = [item["problem"] for item in self.daemon.json("keychain", "list") if name in item["usedBy"]]
        self.assertTrue(not problems or why in problems[0], problems)
        result = self.daemon.ctl("up", name, "--timeout", "5", check=False)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn(why, result.stderr)
        status = self.daemon.status(name)
        self.assertEqual(status["status"], "disconnected")
        self.assertTrue(status["enabled"])
        self.assertEqual(status["lastDisconnectError"]["name"], "SecretUnavailable")
        self.assertIn(why, status["lastDisconnectError"]["reason"])
        self.assertTrue(status["lastDisconnectError"]["remedy"])

    def test_a_keychain_that_fails_costs_no_configuration_and_may_recover(self):
        private = genkey()
        peer = WireGuardGo(self.lab, self.b)
        peer.peer(pubkey(private), "10.20.0.1/32")
        peer.address("10.20.0.2/24")
        self.daemon.import_text("home", conf(private, ["10.20.0.1/24"], [
            {"PublicKey": peer.public, "AllowedIPs": "10.20.0.2/32", "Endpoint": "10.99.0.2:51820"}]))
        (item,) = (self.daemon.state / "keychain").iterdir()
        whole, before = item.read_bytes(), self.daemon.json("show", "home")

        def works():
            self.assertEqual(self.daemon.json("show", "home"), before)
            self.assertEqual(self.daemon.status("home")["notes"], [])
            self.daemon.ctl("up", "home")
            self.assertEqual(ping(self.a, "10.20.0.2"), 3)
            self.daemon.ctl("down", "home")

        # Busy: somebody holds a lease on the file.
        holder = os.open(item, os.O_RDWR)
        fcntl.fcntl(holder, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        former = signal.signal(signal.SIGIO, signal.SIG_IGN)
        try:
            self.unavailable("home", "EAGAIN")
        finally:
            os.close(holder)
            signal.signal(signal.SIGIO, former)
        works()
        # Damaged.
        item.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        self.unavailable("home", "damaged")
        # What isn't concerned may be changed meanwhile.
        self.daemon.ctl("rename", "home", "home2")
        self.daemon.ctl("rename", "home2", "home")
        before = self.daemon.json("show", "home")
        item.write_bytes(whole)
        works()
        # Missing.
        item.rename(item.with_suffix(".away"))
        self.unavailable("home", "has no item")
        self.daemon.terminate()
        self.daemon.start()
        self.assertEqual([entry["name"] for entry in self.daemon.json("list")], ["home"])
        item.with_suffix(".away").rename(item)
        works()

    def test_a_denied_item_is_told_as_such(self):
        self.daemon.terminate()
        self.daemon.prefix = ["capsh", "--drop=cap_dac_override,cap_dac_read_search", "--", "-c", "exec \"$0\" \"$@\""]
        self.daemon.start()
        self.daemon.prefix = []
        self.daemon.import_text("home", conf(genkey(), ["10.20.0.1/24"], [{"PublicKey": pubkey(genkey())}]))
        (item,) = (self.daemon.state / "keychain").iterdir()
        os.chown(item, ALICE, ALICE)
        self.unavailable("home", "EACCES")
        os.chown(item, 0, 0)
        self.daemon.ctl("up", "home", "--no-wait")

    # References in configurations

    def test_a_secret_where_a_reference_belongs_is_refused_and_not_echoed(self):
        secret = genkey()
        for value in (secret, {"$data": secret}, [secret], 7, base64.b64decode(secret).hex()):
            error = self.error(self.save(self.configuration(value)), "ConfigurationInvalid")
            self.assertEqual(error["field"], "provider.configuration.privateKeyReference")
            self.assertNotIn(secret, str(error))
        for value in (secret, {"$data": secret}):
            error = self.error(self.save(self.configuration(self.add(os.urandom(8).hex()), passwordReference=value)),
                               "ConfigurationInvalid")
            self.assertEqual(error["field"], "passwordReference")
            self.assertNotIn(secret, str(error))
        error = self.error(self.save(self.configuration("keychain:" + "a" * 32)), "SecretUnavailable")
        self.assertIn("the look-up may have run before the item was written", error["reason"])
        self.assertEqual(self.daemon.json("list"), [])
        self.assertNotIn(secret, self.daemon.process.log_path.read_text())

    # Identities

    def identity(self, name, *options):
        key, certificate, file = (self.lab.folder / f"{name}.{end}" for end in ("key", "pem", "p12"))
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key,
            "-out", certificate, "-subj", "/CN=laptop", "-days", 30)
        run("openssl", "pkcs12", "-export", "-inkey", key, "-in", certificate, "-out", file,
            "-passout", "pass:wolf", *options)
        os.chmod(file, 0o600)
        return file

    def test_an_identity_is_opened_before_it_is_kept(self):
        good, old = self.identity("good"), self.identity("old", "-legacy")
        password = self.lab.folder / "password"
        password.write_text("wolf\n")
        os.chmod(password, 0o600)

        def add(name, file, **options):
            return self.daemon.ctl("keychain", "add", name, "--kind", "identity", "--file", file,
                                   "--password-file", password, check=False, **options)

        result = add("laptop", good)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("CN=laptop", result.stdout)
        self.assertEqual(add("older", old).returncode, 0)
        reference = self.daemon.json("keychain", "find", "laptop")["reference"]
        self.assertEqual(self.reveal(reference), {reference: good.read_bytes(), f"{reference}.password": b"wolf"})
        # Its password from standard input.
        self.daemon.ctl("keychain", "add", "third", "--kind", "identity", "--file", good, input="wolf\n")
        password.write_text("sheep\n")
        self.assertIn("password of the PKCS#12 file is wrong", add("wrong", good).stderr)
        password.write_text("wolf\n")
        cut = self.lab.folder / "cut.p12"
        cut.write_bytes(good.read_bytes()[:-9])
        os.chmod(cut, 0o600)
        self.assertIn("no PKCS#12 file, or damaged", add("cut", cut).stderr)
        self.assertIn("no private key", add("keyless", self.identity("keyless", "-nokeys")).stderr)
        names = [item["name"] for item in self.daemon.json("keychain", "list")]
        self.assertEqual(names, ["laptop", "older", "third"])
        # The same where it comes with a configuration.
        key = self.add("key", base64.b64decode(genkey()), "privateKey")
        wanted = self.configuration(key, passwordReference="new:id")
        described = {"configuration": wanted, "generation": 0,
                     "secrets": [{"placeholder": "new:id", "kind": "identity"}]}
        wrong = self.call("Configurations.Save", described, {"new:id": good.read_bytes(), "new:id.password": b"sheep"})
        self.assertIn("password of the PKCS#12 file is wrong", self.error(wrong, "ConfigurationInvalid")["reason"])
        self.assertEqual(self.daemon.json("list"), [])
        saved = self.call("Configurations.Save", described, {"new:id": good.read_bytes(), "new:id.password": b"wolf"})
        self.assertNotIn("error", saved)
        _, data = call(self.daemon.socket, "Keychain.Reveal", {"identifier": saved["parameters"]["identifier"]})
        self.assertEqual(sorted(unbundle(data).values(), key=len)[0], b"wolf")
        self.assertIn(good.read_bytes(), unbundle(data).values())

    # A person

    def test_a_secret_is_read_from_a_file_or_standard_input_or_typed_unseen(self):
        self.daemon.ctl("keychain", "add", "piped", input="wolf\n")
        file = self.lab.folder / "secret"
        file.write_bytes(b"two\nlines\n")
        os.chmod(file, 0o600)
        self.daemon.ctl("keychain", "add", "filed", "--file", file)
        private, psk = genkey(), genkey()
        self.daemon.ctl("keychain", "add", "key", "--kind", "private-key", input=private + "\n")
        self.daemon.ctl("keychain", "add", "psk", "--kind", "shared-secret", "--base64", input=psk + "\n")
        self.daemon.ctl("keychain", "add", "text", "--kind", "shared-secret", input=psk + "\n")
        wanted = {"piped": b"wolf", "filed": b"two\nlines", "key": base64.b64decode(private),
                  "psk": base64.b64decode(psk), "text": psk.encode()}
        for name, secret in wanted.items():
            reference = self.daemon.ctl("keychain", "find", name).stdout.strip()
            self.assertEqual(self.reveal(reference), {reference: secret}, name)
        result = self.daemon.ctl("keychain", "add", "empty", input="\n", check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("empty", result.stderr)
        self.typed("typed", [b"wolf\r", b"wolf\r"], 0)
        reference = self.daemon.ctl("keychain", "find", "typed").stdout.strip()
        self.assertEqual(self.reveal(reference), {reference: b"wolf"})
        self.typed("corrected", [b"xx\x15wolx\x7ff\r", b"wolf\r"], 0)
        self.typed("other", [b"wolf\r", b"wolves\r"], 1)
        self.typed("other", [b"wolf\x03"], 1)
        self.assertNotIn("other", self.daemon.ctl("keychain", "list").stdout)

    def typed(self, name, answers, code):
        """Adds an item with a secret typed at a terminal, and looks that it isn't shown and the terminal is as before."""
        main, secondary = pty.openpty()
        self.addCleanup(os.close, main)
        self.addCleanup(os.close, secondary)
        before = termios.tcgetattr(secondary)
        process = subprocess.Popen(
            [self.daemon.programs / "tunnelctl", "keychain", "add", name], env=self.daemon.environment,
            stdin=secondary, stdout=secondary, stderr=secondary)
        shown = b""
        for prompt, answer in zip((b"Password: ", b"Password again: "), answers):
            while not shown.endswith(prompt):
                shown += os.read(main, 4096)
            os.write(main, answer)
        self.assertEqual(process.wait(timeout=30), code, shown)
        shown += os.read(main, 4096)
        self.assertNotIn(b"wol", shown)
        self.assertEqual(termios.tcgetattr(secondary), before)

    def test_wrong_usage_is_told(self):
        for arguments, text in ((["ad", "x"], "Did you mean"), (["add"], "NAME is missing"), (["list", "x"], "no name"),
                                (["add", "x", "--kind", "pass"], "--kind takes"), (["list", "--force"], "no option"),
                                (["add", "x", "--kind", "identity"], "--file FILE")):
            result = self.daemon.ctl("keychain", *arguments, check=False)
            self.assertEqual((result.returncode, text in result.stderr), (2, True), result.stderr)


if __name__ == "__main__":
    unittest.main()
