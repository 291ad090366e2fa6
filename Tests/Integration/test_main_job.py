"""The main job: from a `.conf` to traffic, both roles, both families, with another implementation."""

import unittest

from lab import WG_SOCKETS, Lab, Traces, WireGuardGo, conf, genkey, genpsk, ping, pubkey, wait_for


class WithWireGuardGo(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("main")
        self.addCleanup(self.lab.close)
        self.a, self.b = self.lab.pair()
        self.daemon = self.lab.tunneld(self.a)
        self.private = genkey()

    def join(self, outer, psk=None, initiate=True, keepalive=None):
        """One peer each; inner 10.20.0.1 and fd20::1 here, .2 and ::2 there."""
        peer = WireGuardGo(self.lab, self.b)
        here, there = ("10.99.0.1", "10.99.0.2") if outer == 4 else ("[fd99::1]", "[fd99::2]")
        peer.peer(pubkey(self.private), "10.20.0.1/32,fd20::1/128",
                  endpoint=None if initiate else f"{here}:51821", psk=psk)
        peer.address("10.20.0.2/24", "fd20::2/64")
        section = {"PublicKey": peer.public, "AllowedIPs": "10.20.0.2/32, fd20::2/128"}
        if initiate:
            section["Endpoint"] = f"{there}:51820"
        if psk:
            section["PresharedKey"] = psk
        if keepalive:
            section["PersistentKeepalive"] = keepalive
        self.daemon.import_text(
            "home", conf(self.private, ["10.20.0.1/24", "fd20::1/64"], [section], port=51821))
        return peer

    def both_families(self):
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        self.assertEqual(ping(self.a, "fd20::2"), 3)

    def test_initiator_over_ipv4_with_preshared_key(self):
        self.join(4, psk=genpsk())
        self.daemon.ctl("up", "home")
        status = self.daemon.status("home")
        self.assertEqual(status["status"], "connected")
        self.assertEqual(status["peers"][0]["endpoint"], "10.99.0.2:51820")
        self.assertIsNotNone(status["peers"][0]["latestHandshake"])
        self.both_families()

    def test_initiator_over_ipv6_without_preshared_key(self):
        self.join(6)
        self.daemon.ctl("up", "home")
        self.assertEqual(self.daemon.status("home")["peers"][0]["endpoint"], "[fd99::2]:51820")
        self.both_families()

    def test_responder_over_ipv4_learns_the_endpoint(self):
        peer = self.join(4, initiate=False, psk=genpsk())
        self.daemon.ctl("up", "home")
        # No peer has an endpoint: a gateway is connected when it is ready.
        self.assertEqual(self.daemon.status("home")["status"], "connected")
        self.assertEqual(ping(self.b, "10.20.0.1"), 3)
        self.assertEqual(self.daemon.status("home")["peers"][0]["endpoint"], f"10.99.0.2:{peer.port}")
        self.both_families()

    def test_responder_over_ipv6(self):
        self.join(6, initiate=False)
        self.daemon.ctl("up", "home")
        self.assertEqual(ping(self.b, "fd20::1"), 3)
        self.both_families()

    def test_traffic_of_size_both_ways(self):
        self.join(4, psk=genpsk())
        self.daemon.ctl("up", "home")
        server = self.b.popen("iperf3", "-s")
        wait_for("iperf3", lambda: ":5201" in self.b.exec("ss", "-ltn").stdout, 5)
        for direction in ([], ["-R"]):
            for address in ("10.20.0.2", "fd20::2"):
                result = self.a.exec("iperf3", "-J", "-c", address, "-n", "50M", *direction, timeout=60)
                self.assertIn('"bytes"', result.stdout)
        server.kill()
        counters = self.daemon.json("stats", "home")
        self.assertGreater(counters["peers"][0]["sentBytes"], 100_000_000)
        self.assertGreater(counters["peers"][0]["receivedBytes"], 100_000_000)

    def test_down_takes_everything_back(self):
        self.join(4)
        traces = Traces(self.daemon)
        for _ in range(2):
            self.daemon.ctl("up", "home")
            made = "\n".join(traces.difference())
            # The comparison has eyes: of each kind there is something to take back.
            for what in (": ", "socket -uanp: ", "socket -xlp: ", "process ", "file run/journal/", "file run/providers/",
                         "descriptor "):
                self.assertIn(f"+ {self.a.name}: " if what == ": " else f"+ {what}", made)
            path = WG_SOCKETS / f"{self.daemon.status('home')['interface']}.sock"
            self.assertTrue(path.exists())
            self.daemon.ctl("down", "home")
            self.assertEqual(traces.difference(), [])
            self.assertFalse(path.exists())
            self.assertEqual(self.daemon.status("home")["status"], "disconnected")
        # The positive control of what may stay.
        stays = [path.parent.relative_to(self.daemon.state.parent) for path in self.daemon.state.glob("timestamps/*")]
        self.assertEqual([str(path) for path in stays], ["state/timestamps"])

    def test_sixty_four_peers(self):
        peer = WireGuardGo(self.lab, self.b)
        peer.peer(pubkey(self.private), "10.20.0.1/32", endpoint="10.99.0.1:51821")
        peer.address("10.20.0.2/32")
        self.b.ip("route", "add", "10.20.0.0/16", "dev", peer.name)
        peers = [{"PublicKey": pubkey(genkey()), "AllowedIPs": f"10.20.1.{n}/32"} for n in range(63)]
        peers.insert(31, {"PublicKey": peer.public, "AllowedIPs": "10.20.0.2/32", "Endpoint": "10.99.0.2:51820"})
        self.daemon.import_text("home", conf(self.private, ["10.20.0.1/16"], peers, port=51821))
        self.daemon.ctl("up", "home")
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        self.assertEqual(len(self.daemon.status("home")["peers"]), 64)

    def test_two_daemons_join_each_other(self):
        other = self.lab.tunneld(self.b, "e")
        psk, key = genpsk(), genkey()
        self.daemon.import_text("home", conf(self.private, ["10.20.0.1/24", "fd20::1/64"], [
            {"PublicKey": pubkey(key), "PresharedKey": psk, "AllowedIPs": "10.20.0.2/32, fd20::2/128",
             "Endpoint": "10.99.0.2:51820"}]))
        other.import_text("office", conf(key, ["10.20.0.2/24", "fd20::2/64"], [
            {"PublicKey": pubkey(self.private), "PresharedKey": psk, "AllowedIPs": "10.20.0.1/32, fd20::1/128"}],
            port=51820))
        other.ctl("up", "office")
        self.daemon.ctl("up", "home")
        self.both_families()
        self.assertEqual(other.status("office")["peers"][0]["state"], "alive")

    def test_the_name_of_the_interface_is_unique_and_shown(self):
        self.join(4)
        self.daemon.ctl("up", "home")
        name = self.daemon.status("home")["interface"]
        self.assertLessEqual(len(name), 15)
        self.assertTrue(name.startswith("home-"), name)
        self.assertIn(name, self.a.ip("link").stdout)
        first = name
        self.daemon.ctl("down", "home")
        self.daemon.ctl("up", "home")
        self.assertEqual(self.daemon.status("home")["interface"], first)


class TwoTunnels(unittest.TestCase):
    def test_stopping_one_is_not_noticed_by_the_other(self):
        with Lab("two") as lab:
            a, b = lab.pair()
            daemon = lab.tunneld(a)
            for number, name in ((1, "one"), (2, "two")):
                key, peer = genkey(), WireGuardGo(lab, b, port=51820 + number)
                peer.peer(pubkey(key), f"10.2{number}.0.1/32")
                peer.address(f"10.2{number}.0.2/24")
                daemon.import_text(name, conf(key, [f"10.2{number}.0.1/24"], [
                    {"PublicKey": peer.public, "AllowedIPs": f"10.2{number}.0.0/24",
                     "Endpoint": f"10.99.0.2:{51820 + number}"}]))
            daemon.ctl("up", "two")
            before = daemon.status("two")
            only_two = a.snapshot()
            daemon.ctl("up", "one")
            pinger = a.popen("ping", "-n", "-i", "0.05", "-c", "60", "10.22.0.2", log="ping")
            self.assertNotEqual(daemon.status("one")["session"], before["session"])
            daemon.ctl("down", "one")
            self.assertEqual(pinger.wait(timeout=30), 0)
            self.assertIn("60 received", pinger.log_path.read_text())
            self.assertEqual(a.snapshot(), only_two)
            after = daemon.status("two")
            for key in ("status", "session", "providerProcess", "since", "interface"):
                self.assertEqual(after[key], before[key], key)
            self.assertEqual(daemon.status("one")["status"], "disconnected")


if __name__ == "__main__":
    unittest.main()
