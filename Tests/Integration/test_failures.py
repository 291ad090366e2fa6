"""What a person is told when a peer doesn't answer, by class; and that it connects by itself once mended."""

import os
import signal
import socket
import time
import unittest
from pathlib import Path

from lab import SLACK, Lab, Traces, WireGuardGo, conf, genkey, genpsk, name_of, ping, pubkey, run, tree, wait_for

# One back-off gap at its longest (60 s) and a handshake.
MENDED = 70


class Failures(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("fail")
        self.addCleanup(self.lab.close)
        self.a, self.b = self.lab.pair()
        self.daemon = self.lab.tunneld(self.a)
        self.private = genkey()

    def up(self, endpoint, public, psk=None, **more):
        section = {"PublicKey": public, "AllowedIPs": "10.20.0.2/32", "Endpoint": endpoint, **more}
        if psk:
            section["PresharedKey"] = psk
        self.daemon.import_text("home", conf(self.private, ["10.20.0.1/24"], [section]))
        started = time.monotonic()
        result = self.daemon.ctl("up", "home", "--timeout", "4", check=False)
        self.assertEqual(result.returncode, 3, result.stdout + result.stderr)
        self.assertLess(time.monotonic() - started, 5 * SLACK)
        return result

    def failure(self, kind, timeout=5 * SLACK):
        def told():
            status = self.daemon.status("home")
            self.assertEqual(status["status"], "connecting")
            failure = status["failure"]
            return failure and failure["kind"] == kind and failure
        failure = wait_for(f"the failure to be told as {kind}", told, timeout)
        self.assertTrue(failure["message"])
        self.assertTrue(failure["remedy"])
        return failure

    def attempts_grow(self):
        """The second handshake follows after 5 s."""
        before = self.daemon.status("home")["peers"][0]["attempts"]
        self.assertGreater(before, 0)
        wait_for("another attempt", lambda: self.daemon.status("home")["peers"][0]["attempts"] > before, 10 * SLACK)

    def connects(self):
        self.daemon.wait_status("home", "connected", MENDED)
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)

    def peer(self, psk=None):
        peer = WireGuardGo(self.lab, self.b)
        peer.peer(pubkey(self.private), "10.20.0.1/32", psk=psk)
        peer.address("10.20.0.2/24")
        return peer

    def test_wrong_public_key_is_silence(self):
        peer = self.peer()
        result = self.up("10.99.0.2:51820", pubkey(genkey()))
        self.assertIn("10.99.0.2:51820", result.stdout + result.stderr)
        self.assertIn("key", self.failure("silent")["remedy"])
        self.attempts_grow()
        # Mended where it can be: the right key is imported over it, and the running tunnel takes it.
        self.daemon.import_text("home", conf(self.private, ["10.20.0.1/24"], [
            {"PublicKey": peer.public, "AllowedIPs": "10.20.0.2/32", "Endpoint": "10.99.0.2:51820"}]), "--replace")
        self.connects()

    def test_key_unknown_to_the_peer_is_silence(self):
        peer = WireGuardGo(self.lab, self.b)
        peer.address("10.20.0.2/24")
        self.up("10.99.0.2:51820", peer.public)
        self.failure("silent")
        peer.peer(pubkey(self.private), "10.20.0.1/32")
        self.connects()

    def test_wrong_preshared_key_is_an_answer_that_does_not_open(self):
        peer = self.peer(psk=genpsk())
        psk = genpsk()
        self.up("10.99.0.2:51820", peer.public, psk=psk)
        self.assertIn("pre-shared key", self.failure("answeredNotAuthentic")["remedy"])
        self.attempts_grow()
        peer.peer(pubkey(self.private), "10.20.0.1/32", psk=psk)
        self.connects()

    def test_closed_port_is_refused(self):
        key = genkey()
        self.up("10.99.0.2:51820", pubkey(key))
        self.failure("refused")
        peer = WireGuardGo(self.lab, self.b, private=key)
        peer.peer(pubkey(self.private), "10.20.0.1/32")
        peer.address("10.20.0.2/24")
        self.connects()

    def test_filtered_port_is_silence(self):
        peer = self.peer()
        self.b.drop_udp(51820)
        self.up("10.99.0.2:51820", peer.public)
        self.failure("silent")
        self.b.pass_udp()
        self.connects()

    def test_up_tells_while_it_still_waits(self):
        peer = self.peer()
        self.b.drop_udp(51820)
        self.daemon.import_text("home", conf(self.private, ["10.20.0.1/24"], [
            {"PublicKey": peer.public, "AllowedIPs": "10.20.0.2/32", "Endpoint": "10.99.0.2:51820"}]))
        started = time.monotonic()
        up = self.daemon.popen("up", "home", "--timeout", "600", log="up")
        told = wait_for("what to check", lambda: "heck" in (text := up.log_path.read_text()) and text, 5 * SLACK)
        print(f"told after {time.monotonic() - started:.1f} s")
        self.assertIsNone(up.poll(), told)
        self.assertIn("10.99.0.2:51820", told)
        self.assertRegex(told, r"\b[1-9]\d* handshakes?\b")
        self.assertRegex(told, r"[Cc]heck .*(key|firewall|port)")
        self.b.pass_udp()
        self.assertEqual(up.wait(timeout=MENDED), 0, up.log_path.read_text())

    def test_attempts_at_a_filtered_port_back_off(self):
        peer = self.peer()
        self.b.drop_udp(51820)
        seen = self.b.inside(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800)))
        self.addCleanup(seen.close)
        self.daemon.import_text("home", conf(self.private, ["10.20.0.1/24"], [
            {"PublicKey": peer.public, "AllowedIPs": "10.20.0.2/32", "Endpoint": "10.99.0.2:51820"}]))
        self.daemon.popen("up", "home", log="up")
        times, end = [], time.monotonic() + 40
        polls = 0
        while time.monotonic() < end:
            seen.settimeout(1)
            try:
                packet, source = seen.recvfrom(2048)
            except TimeoutError:
                # Whoever asks again and again is no news either (C119).
                polls += self.daemon.status("home")["status"] == "connecting"
                continue
            # Incoming IPv4 UDP to the port, with an initiation in it.
            if source[2] != 4 and packet[9] == 17 and packet[22:24] == (51820).to_bytes(2, "big") and packet[28] == 1:
                times.append(time.monotonic())
        gaps = [later - earlier for earlier, later in zip(times, times[1:])]
        print("gaps: " + ", ".join(f"{gap:.1f} s" for gap in gaps))
        self.assertTrue(3 <= len(times) <= 12, times)
        # Not one every 5 s: nothing waits to be sent.
        self.assertGreater(gaps[-1], 1.5 * gaps[0])
        self.assertEqual(self.daemon.status("home")["peers"][0]["attempts"], len(times))
        self.assertGreater(polls, 20)
        lines = self.daemon.process.log_path.read_text().splitlines()
        self.assertLess(len(lines), 12, lines)
        for line in lines:
            self.assertRegex(line, r"^(error|warning|notice|info): \S.*?( \[TUNNEL_ID=[0-9a-f-]{36}( TUNNEL_NAME=\S+)?\])?$")

    def test_unreachable_endpoint(self):
        peer = self.peer()
        self.b.ip("addr", "add", "10.98.0.2/32", "dev", "lo")
        self.up("10.98.0.2:51820", peer.public)
        self.failure("unreachable")
        started = time.monotonic()
        self.a.ip("route", "add", "10.98.0.0/24", "via", "10.99.0.2")
        self.connects()
        # The network changed, so it tries at once.
        self.assertLess(time.monotonic() - started, 5 * SLACK)

    def use_names(self):
        """Has tunneld ask for names at 10.99.0.2."""
        self.a.resolv_conf.write_text("nameserver 10.99.0.2\n")

    def serve_names(self, *addresses):
        self.b.popen("dnsmasq", "-k", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--bind-interfaces",
                     "--listen-address=10.99.0.2", "--except-interface=lo", "--pid-file=",
                     *(f"--host-record=gateway.test,{address}" for address in addresses))

    def test_name_that_does_not_resolve_yet(self):
        self.use_names()
        peer = self.peer()
        self.up("gateway.test:51820", peer.public)
        self.assertIn("gateway.test", self.failure("name")["message"])
        self.serve_names("10.99.0.2")
        self.connects()

    def test_an_address_that_falls_silent_gives_way_to_the_names_other(self):
        """C102: what tells of the silence is the tunnel's own traffic; no helper and no capability is needed for it."""
        self.use_names()
        self.b.ip("addr", "add", "10.99.0.3/24", "dev", "eth0")
        self.serve_names("10.99.0.2", "10.99.0.3")
        peer = self.peer()
        self.daemon.import_text("home", conf(self.private, ["10.20.0.1/24"], [
            {"PublicKey": peer.public, "AllowedIPs": "10.20.0.2/32", "Endpoint": "gateway.test:51820"}]))
        self.daemon.ctl("up", "home")
        status = self.daemon.status("home")
        first = status["peers"][0]["endpoint"]
        [other] = {"10.99.0.2:51820", "10.99.0.3:51820"} - {first}
        capabilities = [line for line in Path(f"/proc/{status['providerProcess']}/status").read_text().splitlines()
                        if line.startswith(("CapPrm", "CapEff", "CapBnd", "CapAmb"))]
        self.assertEqual([int(line.split()[1], 16) for line in capabilities], [0] * 4)
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        self.b.exec("nft", "add table inet off; add chain inet off in { type filter hook input priority 0; }; "
                    f"add rule inet off in ip daddr {first.split(':')[0]} udp dport 51820 drop")
        pinger = self.a.popen("ping", "-n", "-i", "0.5", "10.20.0.2", log="ping")
        started = time.monotonic()
        # 15 s without an answer, 5 s for the handshake that follows, and the next address.
        wait_for("the other address", lambda: (s := self.daemon.status("home"))["status"] == "connected"
                 and s["peers"][0]["endpoint"] == other, 30 * SLACK)
        print(f"gone over after {time.monotonic() - started:.0f} s")
        pinger.kill()
        self.assertEqual(ping(self.a, "10.20.0.2"), 3)


class NothingIsLeft(unittest.TestCase):
    """After an `up` that failed, with the real provider, the host is as it was before."""

    def setUp(self):
        self.lab = Lab("left")
        self.addCleanup(self.lab.close)
        self.a, self.b = self.lab.pair()
        for family, gateway in (("-4", "10.99.0.2"), ("-6", "fd99::2")):
            self.a.ip(family, "route", "add", "default", "via", gateway)
        self.private = genkey()
        self.peer = WireGuardGo(self.lab, self.b)
        self.peer.peer(pubkey(self.private), "10.20.0.1/32")

    def begin(self, allowed="10.20.0.2/32", port=None, settings=None):
        self.daemon = self.lab.tunneld(self.a, start=settings is None)
        if settings:
            (self.daemon.configuration / "tunneld.conf").write_text(settings)
            self.daemon.start()
        self.daemon.import_text("home", conf(self.private, ["10.20.0.1/24", "fd20::1/64"], [
            {"PublicKey": self.peer.public, "AllowedIPs": allowed, "Endpoint": "10.99.0.2:51820"}], port=port))

    def fails(self, code, message, meanwhile=lambda: None):
        """An `up` that ends so and says so; then everything is as before, and a second time too."""
        # What went wrong is told until the next start, also by the next tunneld.
        traces = Traces(self.daemon, self.b, stays=["state/last-errors"])
        for _ in range(2):
            up = self.daemon.popen("up", "home", log="up")
            meanwhile()
            self.assertEqual(up.wait(timeout=20 * SLACK), code, up.log_path.read_text())
            self.assertIn(message, up.log_path.read_text())
            self.assertEqual(self.daemon.status("home")["status"], "disconnected")
            self.assertEqual(traces.difference(), [])

    def in_the_end_it_connects(self):
        """The positive control: it was that and nothing else."""
        traces = Traces(self.daemon, stays=["state/last-errors"])
        self.daemon.ctl("up", "home")
        self.assertGreater(len(traces.difference()), 5)

    def providers(self):
        return [pid for pid in tree(self.daemon.pid) if name_of(pid) == "tunnel-provider-wireguard"]

    def test_a_listen_port_that_is_taken(self):
        def taken():
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.bind(("0.0.0.0", 51999))
            return s
        with self.a.inside(taken):
            self.begin(port=51999)
            self.fails(1, "51999")
        self.in_the_end_it_connects()

    def test_a_route_that_is_taken(self):
        self.a.ip("route", "add", "10.55.0.0/16", "via", "10.99.0.2")
        self.begin("10.20.0.2/32, 10.55.0.0/16")
        self.fails(1, "10.55.0.0/16")
        self.a.ip("route", "del", "10.55.0.0/16")
        self.in_the_end_it_connects()

    def test_a_route_that_is_taken_beside_a_full_tunnel(self):
        self.a.ip("route", "add", "10.55.0.0/16", "via", "10.99.0.2")
        self.begin("0.0.0.0/0, ::/0, 10.55.0.0/16")
        self.fails(1, "10.55.0.0/16")
        self.a.ip("route", "del", "10.55.0.0/16")
        self.in_the_end_it_connects()

    def kill_every(self, ready, least, most):
        """Kills each provider that is `ready`, until tunneld gives up."""
        killed, end = set(), time.monotonic() + 20 * SLACK
        while (status := self.daemon.status("home"))["status"] != "disconnected" or not killed:
            for pid in self.providers():
                if pid not in killed and ready(status, pid):
                    try:
                        os.kill(pid, signal.SIGKILL)
                        killed.add(pid)
                    except ProcessLookupError:
                        pass
            self.assertLess(time.monotonic(), end, "it never gives up")
            time.sleep(0.002)
        self.assertTrue(least <= len(killed) <= most, killed)

    def test_a_provider_that_is_killed_before_it_is_ready(self):
        self.begin("0.0.0.0/0, ::/0")
        self.fails(1, "The tunnel's provider ended.", lambda: self.kill_every(lambda *_: True, 1, 5))
        self.in_the_end_it_connects()

    def test_a_provider_that_is_killed_again_and_again(self):
        self.begin("0.0.0.0/0, ::/0")
        self.b.drop_udp(51820)
        self.fails(1, "The tunnel broke 5 times within 60 seconds", lambda: self.kill_every(
            lambda status, pid: status["stage"] == "handshakeSent" and status["providerProcess"] == pid, 5, 5))
        self.b.pass_udp()
        self.in_the_end_it_connects()

    def test_a_provider_that_hangs_until_the_limit_of_a_start(self):
        self.begin("0.0.0.0/0, ::/0", settings="start-timeout = 2\n")

        def stop():
            wait_for("a provider", self.providers, 5 * SLACK)
            os.kill(self.providers()[0], signal.SIGSTOP)

        self.fails(1, "within 2 seconds", stop)
        self.in_the_end_it_connects()


if __name__ == "__main__":
    unittest.main()
