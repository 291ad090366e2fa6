"""When the block ends and when it doesn't: every way in which a tunnel ends, a reboot, an upgrade, a sleep, look-ups."""

import os
import shutil
import signal
import socket
import threading
import time
import unittest

import test_block
from box import NameServer
from lab import PROGRAMS, SLACK, ping, wait_for
from logind import Logind
from test_block import BlockCase
from test_sleep import STOPPED, crash_until_given_up


class WithLogind(BlockCase):
    def setUp(self):
        super().setUp()
        self.logind = Logind(self.lab, self.a)
        self.logind.start_bus()
        self.logind.start()
        self.daemon.terminate()
        self.daemon.environment["DBUS_SYSTEM_BUS_ADDRESS"] = self.logind.environment["DBUS_SYSTEM_BUS_ADDRESS"]
        self.daemon.start()


class Ends(WithLogind):
    """C078: whatever ends a tunnel, there is one way in which everything is taken back."""

    def setUp(self):
        super().setUp()
        self.daemon.ctl("set", "home", 'provider.configuration.dns.servers=["10.20.0.2"]')
        self.daemon.ctl("up", "home")
        self.assertIn("10.20.0.2", self.a.resolv_conf.read_text())
        self.interface = self.daemon.status("home")["interface"]
        self.daemon.ctl("down", "home")
        self.before = self.shape()
        self.daemon.ctl("up", "home")
        self.logind.wait_for_locks(1)

    def shape(self):
        sysctls = self.a.exec("sysctl", "-a", "-r", r"^net\.ipv[46]\.(conf|neigh)\.").stdout.splitlines()
        # Sorted, for what went and came back may stand elsewhere.
        return sorted([*self.a.snapshot(), *self.a.exec("ip", "addrlabel").stdout.splitlines(), self.ruleset(),
                self.a.resolv_conf.read_text(), *sysctls,
                *(str(path) for path in sorted(self.daemon.runtime.rglob("*")))])

    def is_clean(self):
        wait_for("it to be as before", lambda: self.shape() == self.before, SLACK)

    def only_the_block_is_left(self):
        """Nobody said that traffic may pass: the block stays, and says who lifts it."""
        def rest(shape):
            return [line for line in shape if "table inet tunneld" not in line and not line.endswith("/block.json") and line]
        wait_for("it to be as before but for the block", lambda: rest(self.shape()) == rest(self.before), SLACK)
        block = self.block()
        self.assertEqual((block["inForce"], block["held"], block["holders"]), (True, True, ["home"]))
        self.assertIn("wasn't stopped by anybody", block["reason"])
        self.assertIn("`tunnelctl down home` lifts the block", block["remedy"])
        self.assertIn("tunnelctl down home", self.daemon.ctl("status", "home").stdout)
        self.assertEqual(ping(self.a, "10.99.0.2", count=1, wait=1), 0)
        self.daemon.ctl("down", "home")
        self.is_clean()
        self.assertEqual(ping(self.a, "10.99.0.2"), 3)

    def test_by_a_user(self):
        self.daemon.ctl("down", "home")
        self.is_clean()

    def test_by_a_user_after_the_path_was_lost(self):
        self.a.ip("link", "set", "eth0", "down")
        time.sleep(0.5)
        self.daemon.ctl("down", "home")
        self.a.ip("link", "set", "eth0", "up")
        self.a.ip("addr", "replace", "fd99::1/64", "dev", "eth0", "nodad")
        self.a.ip("route", "replace", "default", "via", "10.99.0.2")
        self.a.ip("-6", "route", "replace", "default", "via", "fd99::2")
        wait_for("carrier", lambda: "LOWER_UP" in self.a.ip("link", "show", "eth0").stdout, 5)
        self.is_clean()

    def test_by_the_removal_of_its_configuration(self):
        self.daemon.ctl("remove", "home", "--force")
        self.is_clean()

    def test_by_its_being_disabled(self):
        self.daemon.ctl("disable", "home")
        self.daemon.wait_status("home", "disconnected", 10 * SLACK)
        self.is_clean()

    def test_by_a_sleep(self):
        self.daemon.ctl("set", "home", "disconnectOnSleep=true")
        self.assertEqual(self.logind.sleep(), [])
        self.assertEqual(self.daemon.status("home")["reason"], STOPPED)
        self.logind.wake()
        self.only_the_block_is_left()

    def test_by_crashes_of_its_provider(self):
        crash_until_given_up(self.daemon, "home")
        self.only_the_block_is_left()


class Sleeps(WithLogind):
    away = 12

    def test_it_stays_through_a_sleep_and_a_wake_without_a_path(self):
        """C076: attempts go on until the path is there, and nothing gets out meanwhile."""
        self.daemon.ctl("up", "home")
        self.logind.wait_for_locks(1)
        tap = self.tap()
        with self.probes(tap) as probes:
            self.assertEqual(self.logind.sleep(), [])
            self.a.ip("link", "set", "eth0", "down")
            self.logind.wake()
            time.sleep(self.away)
            self.assertTrue(self.block()["held"])
            self.a.ip("link", "set", "eth0", "up")
            self.a.ip("addr", "replace", "fd99::1/64", "dev", "eth0", "nodad")
            self.a.ip("route", "replace", "default", "via", "10.99.0.2")
            self.daemon.wait_status("home", "connected", 70)
            self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        self.check_tight(tap, probes)
        self.assertEqual(self.block()["restored"], 0)

    def test_one_that_is_stopped_for_the_sleep_leaks_nothing_after_the_wake(self):
        self.daemon.ctl("set", "home", "disconnectOnSleep=true")
        self.daemon.ctl("up", "home")
        self.logind.wait_for_locks(1)
        tap = self.tap()
        with self.probes(tap) as probes:
            self.assertEqual(self.logind.sleep(), [])
            self.logind.wake()
            time.sleep(0.5)
            # Neither does the next tunneld let anything out.
            self.daemon.kill()
            self.daemon.start()
            time.sleep(0.5)
            self.assertTrue(self.block()["held"])
            self.b.exec("ping", "-c", "1", "-W", "1", "10.99.0.1", check=False)
        self.check_tight(tap, probes)
        self.daemon.ctl("down", "home")
        self.assertFalse(self.is_blocked())


class Reboots(BlockCase):
    """C038: what blocks after a reboot does so because a configuration says so, and tells who and why."""
    reboot = test_block.Permanence.reboot
    block_at_boot = test_block.Permanence.block_at_boot

    def passes(self):
        """Whether anything gets past the tunnel."""
        return any(self.a.exec("ping", "-n", "-I", "eth0", "-c", "2", "-i", "0.2", "-W", "1", address,
                               check=False).returncode == 0 for address in ("10.99.0.2", "fd99::2"))

    def test_only_a_persistent_block_outlives_a_reboot(self):
        for persistent in (False, True):
            self.daemon.ctl("set", "home", f"persistentBlock={str(persistent).lower()}")
            self.daemon.ctl("up", "home")
            self.assertFalse(self.passes())
            self.reboot()
            self.block_at_boot()
            self.assertEqual(self.passes(), not persistent)
            self.daemon.start()
            self.assertEqual(self.passes(), not persistent)
            block = self.block()
            if not persistent:
                self.assertIsNone(block)
                continue
            self.assertEqual((block["inForce"], block["held"], block["holders"]), (True, True, ["home"]))
            self.assertIn("persistentBlock", block["reason"])
            self.assertIn("persistentBlock=false", block["remedy"])
            self.assertIn("persistentBlock", self.daemon.ctl("status", "home").stdout)
        self.daemon.ctl("set", "home", "persistentBlock=false")
        wait_for("traffic", self.passes, 5 * SLACK)


class Upgrades(BlockCase):
    """C079, C085: the programs are replaced and tunneld started anew, as the package's scripts do it."""
    handles = test_block.Leaks.handles

    def setUp(self):
        super().setUp()
        self.installed = self.lab.folder / "installed"
        self.installed.mkdir()
        self.install()
        self.daemon.terminate()
        self.daemon.programs = self.installed
        self.daemon.start()

    def install(self):
        """Each under another name first, and then in place of the old one: the running program keeps its file."""
        for name in ("tunneld", "tunnelctl", "tunnel-provider-wireguard", "tunnel-block"):
            shutil.copy2(PROGRAMS / name, self.installed / f"{name}.new")
            os.rename(self.installed / f"{name}.new", self.installed / name)

    def test_programs_are_replaced_under_probes(self):
        self.daemon.ctl("up", "home")
        handles, provider = self.handles(), self.daemon.status("home")["providerProcess"]
        tap = self.tap()
        with self.probes(tap, rate=1000, kinds=["user", "root", "mark", "pack"]) as probes:
            for end in (self.daemon.terminate, self.daemon.kill) * 2:
                self.install()
                end()
                time.sleep(0.2)
                self.daemon.start()
                self.assertEqual(ping(self.a, "10.20.0.2", count=1), 1)
                # C081: taken over, not built anew.
                self.assertEqual(self.handles(), handles)
                status = self.daemon.status("home")
                self.assertEqual((status["providerProcess"], status["block"]["restored"]), (provider, 0))
            # Removed, and installed once more.
            self.daemon.terminate()
            for program in self.installed.iterdir():
                program.unlink()
            time.sleep(0.5)
            self.install()
            self.daemon.start()
            self.assertEqual(ping(self.a, "10.20.0.2"), 3)
        self.check_tight(tap, probes, least=1000)
        self.daemon.ctl("down", "home")
        self.assertFalse(self.is_blocked())


class Truncating:
    """A name server that says over UDP that its answer is too long for that, and gives it over TCP: 10.99.0.2."""

    def __init__(self):
        self.connections = 0
        self.udp, self.tcp = socket.socket(type=socket.SOCK_DGRAM), socket.create_server(("10.99.0.2", 53))
        self.udp.bind(("10.99.0.2", 53))
        for loop in self.short, self.long:
            threading.Thread(target=loop, daemon=True).start()

    def answer(self, query, flags, records):
        end = query.index(b"\0", 12) + 5
        has_address = records and query[end - 4:end - 2] == b"\0\1"
        record = b"\xc0\x0c\0\1\0\1\0\0\0\0\0\4" + socket.inet_aton("10.99.0.2") if has_address else b""
        return query[:2] + flags + b"\0\1" + bytes([0, int(has_address)]) + bytes(4) + query[12:end] + record

    def short(self):
        try:
            while True:
                query, sender = self.udp.recvfrom(1000)
                self.udp.sendto(self.answer(query, b"\x87\x80", False), sender)
        except OSError:
            return

    def long(self):
        try:
            while True:
                connection, _ = self.tcp.accept()
                self.connections += 1
                threading.Thread(target=self.serve, args=(connection,), daemon=True).start()
        except OSError:
            return

    def serve(self, connection):
        with connection, connection.makefile("rb") as queries:
            while len(size := queries.read(2)) == 2:
                reply = self.answer(queries.read(int.from_bytes(size, "big")), b"\x85\x80", True)
                connection.sendall(len(reply).to_bytes(2, "big") + reply)

    def close(self):
        for s in self.udp, self.tcp:
            s.shutdown(socket.SHUT_RDWR) if s is self.tcp else None
            s.close()


class Names(BlockCase):
    """C087: no port is open for everybody; names are looked up by tunneld alone, and only those of gateways."""

    def setUp(self):
        super().setUp()
        self.server = NameServer(self.lab, self.b, "10.99.0.2", {"test": "10.99.0.2"})
        self.a.resolv_conf.write_text("nameserver 10.99.0.2\noptions timeout:1 attempts:1\n")
        self.daemon.ctl("set", "home", "provider.configuration.peers[0].endpoint=gateway.test:51820")

    def look_up(self, name):
        return self.a.exec("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "getent", "ahosts", name,
                           check=False).stdout

    def test_only_the_gateways_name_is_asked_for(self):
        self.assertIn("10.99.0.2", self.look_up("before.test"))
        self.assertIn("before.test", self.server.asked())
        # So that nothing goes through the tunnel either.
        self.b.drop_udp(51820)
        self.daemon.ctl("up", "home", "--no-wait")
        wait_for("the block", self.is_blocked, 5 * SLACK)
        self.server.forget()
        tap = self.tap(ports=(51820, 53))
        with self.probes(tap) as probes:
            for name in ("one.test", "two.test"):
                self.assertEqual(self.look_up(name), "")
            for port in (53, 853, 443):
                for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
                    with self.assertRaises(OSError, msg=f"{kind} {port}"):
                        self.a.inside(lambda: self.reach(kind, port))
            # It is looked for again, which goes on under the block.
            os.kill(self.daemon.status("home")["providerProcess"], signal.SIGKILL)
            wait_for("the name to be asked for", lambda: "gateway.test" in self.server.asked(), 10 * SLACK)
        self.check_tight(tap, probes)
        self.assertEqual(self.server.asked(), {"gateway.test"})
        self.b.pass_udp()
        self.daemon.wait_status("home", "connected", 70)
        self.daemon.ctl("down", "home")
        self.assertIn("10.99.0.2", self.look_up("after.test"))

    def test_a_name_servers_port_is_no_way_in(self):
        """Only a look-up that runs has answers, and only from the server that it asked."""
        listeners = {address: self.a.inside(lambda: self.listener(address)) for address in ("10.99.0.1", "fd99::1")}
        for address, listener in listeners.items():
            self.assertTrue(self.comes_in(listener, address), "the probe itself gets there")
        self.daemon.ctl("up", "home", "--timeout", "30")
        for address, listener in listeners.items():
            self.assertFalse(self.comes_in(listener, address), address)
        self.b.drop_udp(53)
        os.kill(self.daemon.status("home")["providerProcess"], signal.SIGKILL)
        wait_for("a look-up that waits", self.asks, 10 * SLACK)
        for address, listener in listeners.items():
            self.assertFalse(self.comes_in(listener, address), address)
        self.b.pass_udp()
        self.daemon.wait_status("home", "connected", 70)

    def asks(self):
        return "10.99.0.2:53" in self.a.exec("ss", "-Hun", "state", "established").stdout

    def test_a_name_is_found_by_tcp_where_the_answer_is_too_long_for_udp(self):
        self.server.process.kill()
        self.server.process.wait()
        server = self.b.inside(Truncating)
        self.addCleanup(server.close)
        self.daemon.ctl("up", "home", "--timeout", "30")
        self.assertGreater(server.connections, 0)

    def listener(self, address):
        s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(s.close)
        s.bind((address, 40053))
        s.settimeout(0.5)
        return s

    def comes_in(self, listener, address):
        """Whether anything that says it comes from a name server's port reaches a program."""
        sender = "from socket import *; import sys; s = socket(AF_INET6 if ':' in sys.argv[1] else AF_INET, SOCK_RAW, 17); " \
            "s.sendto(bytes([0, 53, 40053 >> 8, 40053 & 255, 0, 12, 0, 0]) + b'call', (sys.argv[1], 0))"
        if ":" in address:
            # Its checksum can't be left out.
            sender = "from socket import *; import sys; s = socket(AF_INET6, SOCK_DGRAM); " \
                "s.bind(('fd99::2', 53)); s.sendto(b'call', (sys.argv[1], 40053))"
        self.b.exec("/usr/bin/python3", "-c", sender, address)
        try:
            return listener.recv(100) == b"call"
        except TimeoutError:
            return False

    def reach(self, kind, port):
        with socket.socket(socket.AF_INET, kind) as s:
            s.setsockopt(socket.SOL_SOCKET, 25, b"eth0")
            s.settimeout(1)
            s.connect(("10.99.0.2", port))
            s.send(b"LEAKname\0\0\0\1")


if __name__ == "__main__":
    unittest.main()
