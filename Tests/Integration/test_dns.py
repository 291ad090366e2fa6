"""Name servers through the real systemd-resolved: each name goes where it shall, against whoever undoes it."""

import os
import signal
import time
import unittest

from box import NameServer
from dns_rig import DNSRig
from lab import SLACK, wait_for


class ResolvedRig(DNSRig):
    settings = ""

    def setUp(self):
        super().setUp()
        self.a.start_bus()
        self.a.start_resolved(self.settings)
        self.a.resolvectl("dns", "eth0", "10.99.0.2")
        self.a.resolvectl("domain", "eth0", "~.")
        self.daemon = self.a.tunneld()

    def link(self, name):
        return self.daemon.status(name)["interface"]

    def of_link(self, interface):
        """What systemd-resolved has for a link, in its own words."""
        lines = self.a.resolvectl("status", interface).splitlines()
        return {key.strip(): value.strip() for key, _, value in (line.partition(": ") for line in lines)}

    def snapshot(self):
        return self.a.resolvectl("dns"), self.a.resolvectl("domain"), self.a.shape(), self.a.snapshot()


class Resolved(ResolvedRig):
    def test_names_of_the_match_domains_go_to_the_tunnels_server_and_all_others_elsewhere(self):
        before = self.snapshot()
        self.add(self.daemon, 1, dns="10.21.0.2, corp1.test, ~lab1.test")
        told = self.up(self.daemon, "t1").stdout
        self.assertNotIn("DNS not", told)
        dns = self.dns(self.daemon, "t1")
        self.assertEqual((dns["backend"], dns["applied"], dns["effective"], dns["note"]),
                         ("systemd-resolved", True, True, None))
        self.assertIn("by systemd-resolved", self.daemon.ctl("status", "t1").stdout)
        for name in ("www.corp1.test", "corp1.test", "a.b.lab1.test"):
            self.goes_to(name, 1)
        for name in ("www.test", "xcorp1.test", "corp2.test"):
            self.goes_to(name, "inet")
        # Short names: the search domain is tried, the other isn't.
        self.asked()
        self.assertEqual(self.look_up("intranet"), "10.21.0.80")
        self.assertIn("intranet.corp1.test", self.asked()[1])
        self.assertEqual(self.daemon.ctl("status", "t1", "--check", check=False).returncode, 0)
        self.daemon.ctl("down", "t1")
        self.goes_to("www.corp1.test", "inet")
        self.assertEqual(self.snapshot(), before)

    def test_two_tunnels_at_once_keep_their_domains_in_every_order(self):
        """C030: neither takes the other's names, whichever comes or goes first."""
        before = self.snapshot()
        self.add(self.daemon, 1)
        self.add(self.daemon, 2)
        for first, second in ((1, 2), (2, 1)):
            for last in (first, second):
                self.up(self.daemon, f"t{first}")
                self.up(self.daemon, f"t{second}")
                self.goes_to("www.corp1.test", 1)
                self.goes_to("www.corp2.test", 2)
                self.goes_to("www.test", "inet")
                self.daemon.ctl("down", f"t{3 - last}")
                self.goes_to(f"www.corp{last}.test", last)
                self.goes_to(f"www.corp{3 - last}.test", "inet")
                self.daemon.ctl("down", f"t{last}")
        self.assertEqual(self.snapshot(), before)

    def test_a_full_tunnel_takes_all_names_and_a_split_one_keeps_its_own(self):
        """C030: only a full tunnel without match domains gets the catch-all."""
        self.a.ip("route", "add", "default", "via", "10.99.0.2")
        self.add(self.daemon, 1, dns="10.21.0.2", allowed="0.0.0.0/0")
        self.add(self.daemon, 2)
        self.add(self.daemon, 3, dns="10.23.0.2, ~corp3.test", allowed="0.0.0.0/0")
        self.up(self.daemon, "t2")
        self.up(self.daemon, "t1")
        # The laptop's own network says nothing of names here, as most do.
        self.a.resolvectl("domain", "eth0", "")
        self.a.resolvectl("default-route", "eth0", "yes")
        self.assertEqual(self.of_link(self.link("t1"))["DNS Domain"], "~.")
        self.assertEqual(self.of_link(self.link("t2"))["DNS Domain"], "corp2.test")
        self.goes_to("www.test", 1)
        self.goes_to("www.corp2.test", 2)
        self.daemon.ctl("down", "t1")
        self.goes_to("www.test", "inet")
        self.up(self.daemon, "t3")
        self.assertEqual(self.of_link(self.link("t3"))["DNS Domain"], "~corp3.test")
        self.goes_to("www.corp3.test", 3)
        self.goes_to("www.test", "inet")

    def test_a_split_tunnel_without_domains_is_asked_beside_the_others(self):
        self.a.resolvectl("domain", "eth0", "")
        self.a.resolvectl("default-route", "eth0", "yes")
        self.add(self.daemon, 1, dns="10.21.0.2")
        self.up(self.daemon, "t1")
        self.assertNotIn("DNS Domain", self.of_link(self.link("t1")))
        self.asked()
        self.assertNotEqual(self.look_up("www.test"), "")
        self.assertTrue(all("www.test" in names for names in self.asked().values()))

    def test_a_restart_of_resolved_loses_nothing(self):
        self.add(self.daemon, 1)
        self.up(self.daemon, "t1")
        interface = self.link("t1")
        # More often within ten seconds than would be taken for a fight, were it somebody's doing.
        for _ in range(8):
            self.a.stop_resolved()
            # What it remembers of links itself goes as well, as it does with another version or by hand.
            self.a.sh("rm -rf /run/systemd/resolve/netif")
            self.a.run_resolved()
            # Nobody changes anything there meanwhile, which would be told: the restart itself is noticed.
            began = time.monotonic()
            wait_for("the domain", lambda: "corp1.test" in self.a.resolvectl("domain", interface), 2 * SLACK)
            print(f"back after {time.monotonic() - began:.2f} s")
            self.a.resolvectl("dns", "eth0", "10.99.0.2")
            self.a.resolvectl("domain", "eth0", "~.")
            wait_for("the rest", lambda: "10.21.0.2" in self.a.resolvectl("dns", interface)
                     and ": no" in self.a.resolvectl("default-route", interface), 2 * SLACK)
            self.goes_to("www.corp1.test", 1)
            self.goes_to("www.test", "inet")
        self.assertIsNone(self.dns(self.daemon, "t1")["note"])

    def test_what_another_manager_wipes_is_back_at_once(self):
        """C028: NetworkManager clears links that it doesn't own; so does anybody with resolvectl."""
        self.add(self.daemon, 1)
        self.up(self.daemon, "t1")
        interface = self.link("t1")

        def whole():
            return ("10.21.0.2" in self.a.resolvectl("dns", interface)
                    and "corp1.test" in self.a.resolvectl("domain", interface)
                    and ": no" in self.a.resolvectl("default-route", interface))

        for command in (["revert", interface], ["dns", interface, ""], ["domain", interface, ""],
                        ["domain", interface, "~."], ["default-route", interface, "yes"]):
            with self.subTest(" ".join(command[:1] + command[2:])):
                self.a.resolvectl(*command)
                began = time.monotonic()
                wait_for("what was set", whole, 2 * SLACK)
                print(f"{command[0]}: back after {time.monotonic() - began:.2f} s")
        self.goes_to("www.corp1.test", 1)
        self.assertTrue(self.dns(self.daemon, "t1")["effective"])

    def test_a_fight_is_told_and_not_fought(self):
        """C028: a loop of wipes ends in a warning, and in few calls."""
        self.add(self.daemon, 1)
        self.up(self.daemon, "t1")
        interface = self.link("t1")
        end = time.monotonic() + 6
        while time.monotonic() < end:
            self.a.resolvectl("revert", interface)
            time.sleep(0.05)
        put_back = self.daemon.process.log_path.read_text().count("putting them back")
        print(f"put back {put_back} times in 6 s")
        self.assertTrue(2 <= put_back <= 6, put_back)
        dns = self.dns(self.daemon, "t1")
        self.assertIn("keeps undoing", dns["note"])
        self.assertEqual(self.daemon.status("t1")["status"], "connected")
        # It is put back all the same once the other has given up.
        wait_for("what was set", lambda: "10.21.0.2" in self.a.resolvectl("dns", interface), 10 * SLACK)
        self.daemon.ctl("down", "t1")

    def test_a_bus_that_comes_back_is_listened_to_again(self):
        self.add(self.daemon, 1)
        self.up(self.daemon, "t1")
        interface = self.link("t1")
        self.a.bus_process.kill()
        self.a.bus_process.wait()
        wait_for("the bus to be missed", lambda: self.dns(self.daemon, "t1")["effective"] is False, 5 * SLACK)
        self.assertIn("can't be asked", self.dns(self.daemon, "t1")["note"])
        self.a.start_bus()
        self.a.stop_resolved()
        self.a.sh("rm -rf /run/systemd/resolve/netif")
        self.a.run_resolved()
        wait_for("the domain", lambda: "corp1.test" in self.a.resolvectl("domain", interface), 10 * SLACK)
        self.a.resolvectl("revert", interface)
        wait_for("the domain", lambda: "corp1.test" in self.a.resolvectl("domain", interface), 10 * SLACK)
        wait_for("it to be effective", lambda: self.dns(self.daemon, "t1")["effective"], 5 * SLACK)

    def test_a_tunneld_that_was_killed_is_followed_by_one_that_keeps_watch(self):
        before = self.snapshot()
        self.add(self.daemon, 1)
        self.up(self.daemon, "t1")
        interface = self.link("t1")
        self.daemon.kill()
        self.goes_to("www.corp1.test", 1)
        self.a.resolvectl("revert", interface)
        self.daemon.start()
        wait_for("the domain", lambda: "corp1.test" in self.a.resolvectl("domain", interface), 2 * SLACK)
        self.assertTrue(self.dns(self.daemon, "t1")["effective"])
        self.daemon.ctl("down", "t1")
        self.assertEqual(self.snapshot(), before)

    def test_settings_that_change_while_it_runs(self):
        self.add(self.daemon, 1)
        self.up(self.daemon, "t1")
        interface = self.link("t1")
        self.daemon.ctl("set", "t1", "provider.configuration.dns.searchDomains=[\"other.test\"]")
        wait_for("the domain", lambda: "other.test" in self.a.resolvectl("domain", interface), 5 * SLACK)
        self.goes_to("www.other.test", 1)
        self.goes_to("www.corp1.test", "inet")
        self.daemon.ctl("set", "t1", "provider.configuration.dns.servers=[]", "provider.configuration.dns.searchDomains=[]")
        wait_for("nothing", lambda: "10.21.0.2" not in self.a.resolvectl("dns", interface), 5 * SLACK)
        self.assertIsNone(self.dns(self.daemon, "t1"))
        self.goes_to("www.other.test", "inet")

    def test_a_gateways_name_is_never_asked_of_the_tunnel(self):
        """C057: a full tunnel with a name server behind it; the gateway's name goes to the network's own."""
        self.a.ip("route", "add", "default", "via", "10.99.0.2")
        self.add(self.daemon, 1, dns="10.21.0.2", allowed="0.0.0.0/0", endpoint="gateway.test")
        self.up(self.daemon, "t1")
        self.a.resolvectl("domain", "eth0", "")
        self.a.resolvectl("default-route", "eth0", "no")
        self.goes_to("www.test", 1)
        for _ in range(3):
            self.asked()
            os.kill(self.daemon.status("t1")["providerProcess"], signal.SIGKILL)
            wait_for("the name to be asked for", lambda: "gateway.test" in self.inet.asked(), 10 * SLACK)
            self.daemon.wait_status("t1", "connected", 10 * SLACK)
            self.assertNotIn("gateway.test", self.behind[1].asked())
        self.goes_to("www.test", 1)

    def test_a_name_server_that_has_a_link_local_address_alone_is_asked(self):
        """C057, with the usual router: it announces itself by the address that it has on the link."""
        self.b.ip("addr", "add", "fe80::53/64", "dev", "eth0", "nodad")
        router = NameServer(self.lab, self.b, "fe80::53", {"test": "10.99.0.2"})
        self.a.resolvectl("dns", "eth0", "fe80::53")
        self.add(self.daemon, 1, dns="10.21.0.2", endpoint="gateway.test")
        self.up(self.daemon, "t1")
        self.assertIn("gateway.test", router.asked())
        self.assertNotIn("gateway.test", self.inet.asked())
        self.assertEqual(self.daemon.status("t1")["peers"][0]["endpoint"], "10.99.0.2:51821")

    def test_a_resolvconf_that_is_resolveds_own_or_broken_is_not_asked(self):
        """C026"""
        folder = self.lab.folder / "programs"
        folder.mkdir()
        (folder / "resolvconf").write_text("#!/bin/sh\necho called >> $0.calls\nexit 1\n")
        (folder / "resolvconf").chmod(0o755)
        self.daemon.terminate()
        self.daemon.environment["PATH"] = f"{folder}:{os.environ['PATH']}"
        self.daemon.start()
        self.add(self.daemon, 1)
        self.up(self.daemon, "t1")
        self.assertEqual(self.dns(self.daemon, "t1")["backend"], "systemd-resolved")
        self.goes_to("www.corp1.test", 1)
        self.assertFalse((folder / "resolvconf.calls").exists())

    def shaped(self, command):
        self.a.sh(command)
        dns, check = self.dns(self.daemon, "t1"), self.daemon.ctl("status", "t1", "--check", check=False)
        self.assertEqual(check.returncode, 0 if dns["effective"] else 3, check.stderr)
        self.assertEqual(dns["note"] in self.daemon.ctl("status", "t1").stdout if dns["note"] else True, True)
        return dns["effective"], dns["note"]

    def test_it_is_told_when_programs_ask_elsewhere(self):
        """C032: five shapes of /etc/resolv.conf."""
        self.add(self.daemon, 1)
        self.up(self.daemon, "t1")
        stub = "ln -sfn /run/systemd/resolve/stub-resolv.conf /etc/resolv.conf"
        self.assertEqual(self.shaped(stub), (True, None))
        self.assertEqual(self.shaped("ln -sfn ../run/systemd/resolve/stub-resolv.conf /etc/resolv.conf"), (True, None))
        effective, note = self.shaped("ln -sfn /run/systemd/resolve/resolv.conf /etc/resolv.conf")
        self.assertFalse(effective)
        self.assertRegex(note, "^DNS not effective: .*ask the servers of all links directly")
        effective, note = self.shaped("echo nameserver 10.99.0.2 > /etc/other; ln -sfn /etc/other /etc/resolv.conf")
        self.assertFalse(effective)
        self.assertRegex(note, "^DNS not effective: .*leads to /etc/other, with which programs ask 10.99.0.2")
        effective, note = self.shaped("rm /etc/resolv.conf; echo nameserver 10.99.0.2 > /etc/resolv.conf")
        self.assertFalse(effective)
        self.assertRegex(note, "^DNS not effective: .*is a plain file, with which programs ask 10.99.0.2")
        self.assertEqual(self.shaped("echo nameserver 127.0.0.53 > /etc/resolv.conf"), (True, None))
        effective, note = self.shaped("rm /etc/resolv.conf")
        self.assertFalse(effective)
        self.assertRegex(note, "^DNS not effective: there is no /etc/resolv.conf")
        effective, note = self.shaped("echo nameserver 10.99.0.2 > /etc/resolv.conf; "
                                      "mount --bind /etc/resolv.conf /etc/resolv.conf; "
                                      "mount -o remount,ro,bind /etc/resolv.conf")
        self.assertFalse(effective)
        self.assertRegex(note, "^DNS not effective: .*plain file")
        self.assertEqual(self.shaped(f"umount /etc/resolv.conf; {stub}"), (True, None))


class ResolvedOverTLS(ResolvedRig):
    settings = "DNSOverTLS=yes\nDNSSEC=yes\n"

    def test_what_is_set_for_all_links_does_not_hold_for_the_tunnel(self):
        """C031: its server speaks no TLS, and its names are signed by nobody."""
        self.add(self.daemon, 1)
        self.up(self.daemon, "t1")
        lines = self.a.resolvectl("dnsovertls") + self.a.resolvectl("dnssec")
        self.assertRegex(lines, rf"\({self.link('t1')}\): no\n(.*\n)*.*\({self.link('t1')}\): no")
        self.assertIsNone(self.dns(self.daemon, "t1")["note"])
        self.goes_to("www.corp1.test", 1)
        self.daemon.ctl("set", "t1", "provider.configuration.dns.dnsOverTLS=opportunistic",
                        "provider.configuration.dns.dnssec=allow-downgrade")
        wait_for("the modes", lambda: f"({self.link('t1')}): opportunistic" in self.a.resolvectl("dnsovertls")
                 and f"({self.link('t1')}): allow-downgrade" in self.a.resolvectl("dnssec"), 5 * SLACK)
        refused = self.daemon.ctl("set", "t1", "provider.configuration.dns.dnssec=perhaps", check=False)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("allow-downgrade", refused.stderr)


if __name__ == "__main__":
    unittest.main()
