"""Import and export lose nothing, and say what they do."""

import json
import os
import shutil
import subprocess
import unittest

from lab import PROGRAMS, Lab, WireGuardGo, conf, genkey, genpsk, ping, pubkey


class Import(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("imp")
        self.addCleanup(self.lab.close)
        self.a, self.b = self.lab.pair()
        self.daemon = self.lab.tunneld(self.a)

    def test_what_export_writes_without_secrets_is_imported_over_it_without_losing_one(self):
        private, psk = genkey(), genpsk()
        peer = WireGuardGo(self.lab, self.b)
        peer.peer(pubkey(private), "10.20.0.1/32", psk=psk)
        peer.address("10.20.0.2/24")
        text = conf(private, ["10.20.0.1/24"], [
            {"PublicKey": peer.public, "PresharedKey": psk, "AllowedIPs": "10.20.0.2/32",
             "Endpoint": "10.99.0.2:51820"}])
        self.daemon.import_text("home", text)
        exported = self.daemon.ctl("export", "home").stdout
        self.assertNotIn(psk, exported)
        report = self.daemon.import_text("home", exported, "--replace").stdout
        self.assertIn("PresharedKey", report)
        self.daemon.ctl("up", "home")
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        self.assertIn(psk, self.daemon.ctl("export", "home", "--with-secrets").stdout)
        # A file with a private key says all that counts; what it gives up is told.
        report = self.daemon.import_text("home", text.replace(f"PresharedKey = {psk}\n", ""), "--replace").stdout
        self.assertIn("given up", report)
        self.assertNotIn(psk, self.daemon.ctl("export", "home", "--with-secrets").stdout)

    def test_a_folder_goes_on_past_a_bad_file_and_nothing_of_that_is_saved(self):
        folder = self.lab.folder / "wireguard"
        folder.mkdir()
        section = {"PublicKey": pubkey(genkey()), "AllowedIPs": "10.20.0.2/32"}
        (folder / "good.conf").write_text(conf(genkey(), ["10.20.0.1/24"], [section]))
        (folder / "bad.conf").write_text(conf("nonsense", ["10.20.0.1/24"], [section], Tabel="off"))
        result = self.daemon.ctl("import", folder, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertEqual([entry["name"] for entry in self.daemon.json("list")], ["good"])
        # All faults of the file at once, with the nearest key.
        self.assertIn("PrivateKey", result.stderr)
        self.assertIn("Table", result.stderr)

    def test_hooks_are_kept_and_never_run(self):
        marker = self.lab.folder / "hook-ran"
        peer = WireGuardGo(self.lab, self.b)
        private = genkey()
        peer.peer(pubkey(private), "10.20.0.1/32")
        self.daemon.import_text("home", conf(private, ["10.20.0.1/24"], [
            {"PublicKey": peer.public, "AllowedIPs": "10.20.0.2/32", "Endpoint": "10.99.0.2:51820"}],
            PreUp=f"touch {marker}", PostUp=f"touch {marker}", PostDown=f"touch {marker}"))
        self.daemon.ctl("up", "home")
        self.daemon.ctl("down", "home")
        self.assertFalse(marker.exists())
        self.assertIn(f"PostUp = touch {marker}", self.daemon.ctl("export", "home").stdout)

    def test_without_a_provider_beside_tunneld_the_import_works_and_the_start_names_what_is_missing(self):
        alone = self.lab.folder / "alone"
        alone.mkdir()
        for name in ("tunneld", "tunnelctl"):
            shutil.copy2(PROGRAMS / name, alone / name)
        daemon = self.lab.tunneld(self.a, "alone", programs=alone)
        private, psk = genkey(), genpsk()
        text = conf(private, ["10.20.0.1/24"], [
            {"PublicKey": pubkey(genkey()), "PresharedKey": psk, "AllowedIPs": "10.20.0.2/32"}])
        report = daemon.import_text("home", text).stdout
        for part in ("org.tunneld.wireguard", "tunnel-provider-wireguard", str(alone), "/usr/lib/tunneld/providers"):
            self.assertIn(part, report)
        self.assertNotIn(private, "".join(path.read_text() for path in daemon.state.glob("configurations/*")))
        exported = daemon.ctl("export", "home", "--with-secrets").stdout
        self.assertIn(private, exported)
        self.assertIn(psk, exported)
        refused = daemon.ctl("up", "home", check=False)
        self.assertEqual(refused.returncode, 1)
        for part in ("None is installed.", "tunnel-provider-wireguard", str(alone)):
            self.assertIn(part, refused.stderr)

    def test_a_file_is_named_by_its_bytes_and_taken_from_wherever_a_shell_can_have_it(self):
        text = conf(genkey(), ["10.20.0.1/24"], [{"PublicKey": pubkey(genkey()), "AllowedIPs": "10.20.0.2/32"}])
        name = os.fsencode(self.lab.folder) + b"/caf\xe9.conf"
        with open(name, "w") as file:
            file.write(text)
        refused = self.daemon.ctl("import", os.fsdecode(name), check=False)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("caf\\xE9.conf", refused.stderr)
        self.daemon.ctl("import", "-", "--name", "input", input=text)
        self.daemon.ctl("import", "/dev/stdin", "--name", "device", input=text)
        shell = 'exec "$0" import <(cat "$1") --name substituted'
        self.a.exec("bash", "-c", shell, PROGRAMS / "tunnelctl", os.fsdecode(name), env=self.daemon.environment)
        self.assertEqual([entry["name"] for entry in self.daemon.json("list")], ["device", "input", "substituted"])
        # What never ends is neither waited for nor taken into memory.
        os.mkfifo(self.lab.folder / "pipe.conf")
        for special in (self.lab.folder / "pipe.conf", "/dev/zero", self.daemon.socket):
            refused = self.daemon.ctl("import", special, check=False, timeout=10)
            self.assertEqual(refused.returncode, 1)
            self.assertIn("is neither a regular file nor a folder", refused.stderr)
        with open("/dev/zero", "rb") as endless:
            endless = subprocess.run(
                [PROGRAMS / "tunnelctl", "import", "-", "--name", "zero"], stdin=endless, capture_output=True, text=True,
                timeout=30, env=self.daemon.environment)
        self.assertEqual(endless.returncode, 1)
        self.assertIn("larger than the limit of 16 MiB", endless.stderr)

    def test_a_member_that_tunneld_does_not_know_is_refused_and_never_lost(self):
        text = conf(genkey(), ["10.20.0.1/24"], [{"PublicKey": pubkey(genkey()), "AllowedIPs": "10.20.0.2/32"}])
        self.daemon.import_text("home", text)
        identifier = self.daemon.json("list")[0]["identifier"]
        loaded = self.daemon.call("org.tunneld.Configurations.Load", {"identifier": identifier})
        configuration = loaded["parameters"]["configuration"]
        reply = self.daemon.call("org.tunneld.Configurations.Save", {
            "configuration": dict(configuration, starAtBoot=True), "generation": configuration["generation"]})
        self.assertEqual(reply["error"], "org.tunneld.ConfigurationInvalid")
        self.assertEqual(reply["parameters"]["field"], "starAtBoot")
        self.assertIn("startAtBoot", reply["parameters"]["remedy"])
        # A file of a newer tunneld survives this one, under another name, and so does the last good generation.
        self.daemon.terminate()
        path = self.daemon.state / "configurations" / f"{identifier}.json"
        newer = json.dumps(dict(json.loads(path.read_text()), killSwitch=True))
        path.write_text(newer)
        self.daemon.start()
        self.assertEqual(self.daemon.json("list"), [])
        self.assertIn("killSwitch", self.daemon.process.log_path.read_text())
        self.assertFalse(path.exists())
        self.assertEqual([aside.read_text() for aside in (self.daemon.state / "damaged").iterdir()], [newer])
        self.daemon.ctl("restore", "home", "1")
        self.daemon.ctl("export", "home", "--with-secrets")


if __name__ == "__main__":
    unittest.main()
