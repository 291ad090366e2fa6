"""The store: what a person sets, what is kept, and what is told of it."""

import json
import unittest

from lab import Lab


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
            assert any("includeAllNetworks is NOT in force" in warning for warning in done["warnings"])
            stored = daemon.json("show", "home")
            assert stored["includeAllNetworks"] and stored["startAtBoot"] and stored["username"] == "eva"
            assert stored["onDemand"] == {"enabled": True, "rules": [{"action": "connect", "interfaceTypeMatch": "wiFi"}]}
            assert stored["provider"]["configuration"]["mtu"] == 1400
            assert any("includeAllNetworks is NOT in force" in note for note in daemon.status("home")["notes"])

            up = daemon.ctl("up", "home").stdout
            assert "includeAllNetworks is NOT in force" in up, up
            assert "includeAllNetworks is NOT in force" in daemon.process.log_path.read_text()
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
