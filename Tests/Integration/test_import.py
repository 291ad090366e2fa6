"""Import and export lose nothing, and say what they do."""

import unittest

from lab import Lab, WireGuardGo, conf, genkey, genpsk, ping, pubkey


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


if __name__ == "__main__":
    unittest.main()
