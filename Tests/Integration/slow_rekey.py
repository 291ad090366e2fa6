"""Sessions are renewed after two minutes, in both roles, without losing a ping."""

import unittest

from lab import Lab, WireGuardGo, conf, genkey, ping, pubkey


class Rekey(unittest.TestCase):
    def test_no_ping_is_lost_through_a_rekey_in_either_role(self):
        with Lab("rek") as lab:
            runs = []
            for role in ("initiator", "responder"):
                a, b = lab.pair()
                daemon = lab.tunneld(a)
                private, peer = genkey(), WireGuardGo(lab, b)
                peer.peer(pubkey(private), "10.20.0.1/32",
                          endpoint="10.99.0.1:51821" if role == "responder" else None)
                peer.address("10.20.0.2/24")
                section = {"PublicKey": peer.public, "AllowedIPs": "10.20.0.2/32"}
                if role == "initiator":
                    section["Endpoint"] = "10.99.0.2:51820"
                daemon.import_text("home", conf(private, ["10.20.0.1/24"], [section], port=51821))
                daemon.ctl("up", "home")
                # Whoever sends first begins the handshake, and so its renewal.
                first, second, target = (a, b, "10.20.0.2") if role == "initiator" else (b, a, "10.20.0.1")
                self.assertEqual(ping(first, target), 3)
                before = daemon.status("home")["peers"][0]["latestHandshake"]
                pinger = first.popen("ping", "-n", "-i", "0.2", "-W", "2", "-c", "700", target, log=f"ping-{role}")
                runs.append((role, daemon, pinger, before))
            for role, daemon, pinger, before in runs:
                pinger.wait(timeout=200)
                self.assertIn("700 received", pinger.log_path.read_text(), role)
                self.assertNotEqual(daemon.status("home")["peers"][0]["latestHandshake"], before, role)


if __name__ == "__main__":
    unittest.main()
