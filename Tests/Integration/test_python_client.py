"""The Python `varlink` package (PyPI) calls tunneld: the interfaces are Varlink, not just something like it."""

import os
import subprocess
import sys
import unittest

from lab import Lab, ROOT, WireGuardGo, conf, genkey, pubkey

PROGRAM = """
import json, sys, varlink
address, identifier = sys.argv[1:]
with varlink.Client.new_with_address(address) as client:
    service = client.open("org.varlink.service")
    answer = service.GetInfo()
    print("interfaces", " ".join(sorted(answer["interfaces"])))
    for name in answer["interfaces"]:
        text = service.GetInterfaceDescription(name)["description"]
        varlink.Interface(text)
        print("described", name)
    service.close()
    with client.open("org.tunneld.Configurations") as configurations:
        loaded = configurations.Load(identifier)["configuration"]
        print("loaded", loaded["name"], loaded["generation"])
    with client.open("org.tunneld.Sessions") as sessions:
        print("started", bool(sessions.Start(identifier)["session"]))
    with client.open("org.tunneld.Sessions") as sessions:
        for event in sessions.Monitor(identifier, _more=True):
            # The package leaves out keys that are null.
            print("event", event["kind"], event.get("status"))
            if event.get("status") == "connected":
                break
    with client.open("org.tunneld.Sessions") as sessions:
        try:
            sessions.Start("none")
        except varlink.VarlinkError as error:
            print("error", error.error(), error.parameters()["code"])
"""


class PythonClient(unittest.TestCase):
    def test_get_info_descriptions_load_start_and_monitor(self):
        with Lab("py") as lab:
            a, b = lab.pair()
            daemon = lab.tunneld(a)
            private = genkey()
            peer = WireGuardGo(lab, b)
            peer.peer(pubkey(private), "10.20.0.1/32")
            daemon.import_text("home", conf(private, ["10.20.0.1/24"], [
                {"PublicKey": peer.public, "AllowedIPs": "10.20.0.2/32", "Endpoint": "10.99.0.2:51820"}]))
            identifier = daemon.json("list")[0]["identifier"]
            python = os.environ.get("TUNNELD_PYTHON", str(ROOT / ".build/python/bin/python"))
            result = subprocess.run([python, "-c", PROGRAM, f"unix:{daemon.socket}", identifier],
                                    capture_output=True, text=True, timeout=60)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            lines = result.stdout.splitlines()
            self.assertIn("org.tunneld.Sessions", lines[0])
            for name in ("Configurations", "Sessions", "Keychain", "Diagnostics"):
                self.assertIn(f"described org.tunneld.{name}", lines)
            self.assertIn("loaded home 1", lines)
            self.assertIn("started True", lines)
            # The present state first, then each change, up to the connection.
            events = [line for line in lines if line.startswith("event ")]
            self.assertRegex(events[0], "^event present (connecting|connected)$")
            self.assertRegex(events[-1], "^event (status|present) connected$")
            self.assertIn("error org.tunneld.ConfigurationUnknown 6", lines)


if __name__ == "__main__":
    unittest.main()
