"""The programs with the Swift runtime inside run where no Swift is installed."""

import os
import subprocess
import unittest
from pathlib import Path

from lab import ROOT, Lab, WireGuardGo, conf, genkey, ping, pubkey, run

STATIC = Path(os.environ.get("TUNNELD_STATIC_PROGRAMS", ROOT / ".build/static/release"))
SWIFT = Path(run("sh", "-c", "readlink -f \"$(command -v swift)\"").stdout.strip()).parents[2]


class Static(unittest.TestCase):
    def test_no_program_needs_a_swift_library(self):
        for name in ("tunneld", "tunnelctl", "tunnel-provider-wireguard"):
            libraries = run("ldd", STATIC / name).stdout
            self.assertNotIn("swift", libraries.lower(), name)
            self.assertNotIn("not found", libraries, name)

    def test_the_main_job_with_the_swift_runtime_out_of_reach(self):
        with Lab("stat") as lab:
            a, b = lab.pair()
            programs = lab.folder / "programs"
            programs.mkdir()
            # Each program starts in a mount namespace where the toolchain's folder is empty.
            for name in ("tunneld", "tunnelctl", "tunnel-provider-wireguard"):
                run("cp", STATIC / name, programs / name)
            daemon = lab.tunneld(a, programs=programs, hidden=SWIFT)
            private = genkey()
            peer = WireGuardGo(lab, b)
            peer.peer(pubkey(private), "10.20.0.1/32")
            peer.address("10.20.0.2/24")
            daemon.import_text("home", conf(private, ["10.20.0.1/24"], [
                {"PublicKey": peer.public, "AllowedIPs": "10.20.0.2/32", "Endpoint": "10.99.0.2:51820"}]))
            daemon.ctl("up", "home")
            self.assertEqual(ping(a, "10.20.0.2"), 3)
            provider = daemon.status("home")["providerProcess"]
            for pid in (daemon.pid, provider):
                self.assertEqual(os.listdir(f"/proc/{pid}/root{SWIFT}"), [])
            daemon.ctl("down", "home")


if __name__ == "__main__":
    unittest.main()
