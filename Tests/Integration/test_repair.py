"""`tunnelctl repair`: everything of tunneld's is taken back, with tunneld and without, and nothing of running tunnels."""

import fcntl
import json
import os
import struct
import unittest

from lab import SLACK, Lab, WireGuardGo, conf, genkey, ping, pubkey, wait_for


class Repair(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("re")
        self.addCleanup(self.lab.close)
        self.a, self.b = self.lab.pair()
        self.a.ip("route", "add", "default", "via", "10.99.0.2")
        self.b.ip("addr", "add", "198.51.100.1/32", "dev", "lo")
        self.daemon = self.lab.tunneld(self.a)
        self.before = self.a.snapshot()

    def up(self, **interface):
        private = genkey()
        self.peer = WireGuardGo(self.lab, self.b)
        self.peer.peer(pubkey(private), "10.20.0.1/32,fd20::1/128")
        self.peer.address("10.20.0.2/24", "fd20::2/64")
        self.daemon.import_text("home", conf(private, ["10.20.0.1/24", "fd20::1/64"], [
            {"PublicKey": self.peer.public, "AllowedIPs": "0.0.0.0/0, ::/0", "Endpoint": "10.99.0.2:51820"}], **interface))
        self.daemon.ctl("up", "home")

    def litter(self):
        """What a tunneld might have left: a rule, routes, a device, a journal that is no journal."""
        self.a.ip("rule", "add", "pref", "15000", "to", "192.0.2.0/24", "lookup", "1953852930", "protocol", "140")
        self.a.ip("-6", "rule", "add", "pref", "15001", "lookup", "main", "suppress_prefixlength", "0", "protocol", "140")
        self.a.ip("route", "add", "192.0.2.0/24", "dev", "eth0", "table", "1953852930", "proto", "140")
        self.a.ip("route", "add", "unreachable", "default", "table", "1953852930", "proto", "140", "metric", "9")
        self.a.ip("tuntap", "add", "stale0", "mode", "tun", "user", "2000000077")
        # Others' stays.
        self.a.ip("tuntap", "add", "other0", "mode", "tun")
        self.a.ip("rule", "add", "pref", "16000", "lookup", "main")
        (self.daemon.runtime / "journal" / "damaged.json").write_text("no journal")

    def others(self):
        self.a.ip("link", "del", "other0")
        self.a.ip("rule", "del", "pref", "16000")

    def test_with_tunneld_all_but_the_running_tunnel_is_taken_back(self):
        self.up()
        running = self.a.snapshot()
        self.litter()
        reply = self.daemon.json("repair")
        self.assertEqual(reply["failed"], [])
        for text in ("rule 15000 (IPv4, to 192.0.2.0/24)", "rule 15001 (IPv6)", "route 192.0.2.0/24 in table 1953852930",
                     "route 0.0.0.0/0 in table 1953852930", "interface stale0"):
            self.assertIn(text, reply["removed"])
        self.assertEqual(len(reply["removed"]), 6)
        self.others()
        self.assertEqual(self.a.snapshot(), running)
        self.assertEqual(ping(self.a, "198.51.100.1"), 3)
        self.assertEqual(self.daemon.status("home")["status"], "connected")
        self.assertEqual(self.daemon.ctl("repair").stdout, "Nothing of tunneld's was left behind.\n")
        denied = self.daemon.ctl("repair", check=False, user=4711)
        self.assertEqual(denied.returncode != 0 and "as root" in denied.stderr, True, denied.stderr)
        self.daemon.ctl("down", "home")
        self.assertEqual(self.a.snapshot(), self.before)

    def test_an_interface_that_somebody_is_attached_to_stays(self):
        def attach():
            device = os.open("/dev/net/tun", os.O_RDWR)
            fcntl.ioctl(device, 0x400454ca, struct.pack("16sH22x", b"held0", 0x1001))  # TUNSETIFF: IFF_TUN, IFF_NO_PI
            fcntl.ioctl(device, 0x400454cc, 2000000077)  # TUNSETOWNER
            return device

        device = self.a.inside(attach)
        self.addCleanup(os.close, device)
        self.a.ip("link", "set", "held0", "up")
        self.assertEqual(self.daemon.json("repair"), {"removed": [], "failed": []})
        self.assertIn("held0", self.a.ip("link").stdout)

    def test_without_tunneld_too(self):
        self.up()
        provider = self.daemon.status("home")["providerProcess"]
        self.daemon.kill()
        self.litter()
        refused = self.daemon.ctl("repair", check=False)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("A provider has home", refused.stderr)
        self.assertIn("--force", refused.stderr)
        text = self.daemon.ctl("repair", "--force").stdout
        self.assertIn("Removed rule 29995 (IPv4).", text)
        self.assertIn("Removed interface stale0.", text)
        self.others()
        wait_for("everything to be as before", lambda: self.a.snapshot() == self.before, SLACK)
        self.assertEqual(list((self.daemon.runtime / "journal").glob("*.json")), [])
        self.assertEqual(self.daemon.ctl("repair").stdout, "Nothing of tunneld's was left behind.\n")
        self.assertEqual(json.loads(self.daemon.ctl("repair", "--json").stdout), {"removed": [], "failed": []})
        wait_for("the provider to end", lambda: not self.alive(provider), SLACK)
        # The next tunneld finds nothing to go on with, and works.
        self.daemon.start()
        self.daemon.ctl("up", "home")
        self.assertEqual(ping(self.a, "198.51.100.1"), 3)

    def test_without_tunneld_the_block_and_the_name_servers_go_too(self):
        resolver = self.a.resolv_conf.read_text()
        self.up(DNS="10.20.0.2")
        self.daemon.ctl("down", "home")
        self.daemon.ctl("set", "home", "includeAllNetworks=true")
        self.daemon.ctl("up", "home")
        self.assertIn("10.20.0.2", self.a.resolv_conf.read_text())
        self.assertIn("table inet tunneld", self.a.exec("nft", "list", "tables").stdout)
        self.daemon.kill()
        # Also what no journal names any more.
        for path in (self.daemon.runtime / "journal").glob("*.json"):
            path.write_text("no journal")
        text = self.daemon.ctl("repair", "--force").stdout
        self.assertIn("Removed the block", text)
        self.assertIn("Removed name servers of tunnels", text)
        self.assertEqual(self.a.exec("nft", "list", "ruleset").stdout, "")
        self.assertEqual(self.a.resolv_conf.read_text(), resolver)
        wait_for("everything to be as before", lambda: self.a.snapshot() == self.before, SLACK)
        self.assertEqual(self.daemon.ctl("repair").stdout, "Nothing of tunneld's was left behind.\n")

    def test_the_tunnels_of_another_tunneld_stay(self):
        """With folders of its own, as the error of a second one on the same folders advises."""
        self.up()
        running = self.a.snapshot()
        other = self.lab.tunneld(self.a, "other")
        self.assertEqual(other.json("repair"), {"removed": [], "failed": []})
        self.assertEqual(self.a.snapshot(), running)
        # What nobody has goes by either.
        self.litter()
        self.assertEqual(len(other.json("repair")["removed"]), 5)
        self.others()
        self.assertEqual(self.a.snapshot(), running)
        self.assertNotIn("Put back", self.daemon.process.log_path.read_text())

    def test_name_servers_that_nobody_has_any_more(self):
        self.up(DNS="10.20.0.2")
        original, ours = "nameserver 192.0.2.53\n", self.a.resolv_conf.read_text()
        self.assertIn("10.20.0.2", ours)
        self.daemon.ctl("down", "home")
        self.a.resolv_conf.write_text(ours)
        self.assertEqual(self.daemon.json("repair"), {
            "removed": ["name servers of tunnels that are gone, in /etc/resolv.conf"], "failed": []})
        self.assertEqual(self.a.resolv_conf.read_text(), original)

    def test_what_can_not_be_taken_back_stays_known(self):
        self.up(DNS="10.20.0.2")
        self.daemon.kill()
        self.daemon.prefix = [
            "unshare", "--mount", "sh", "-c", 'mount -o remount,bind,ro /etc/resolv.conf && exec "$0" "$@"']
        refused = self.daemon.ctl("repair", "--force", check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("Can't remove name servers of home", refused.stdout)
        journals = list((self.daemon.runtime / "journal").glob("*.json"))
        self.assertEqual(len(journals), 1)
        self.daemon.prefix = []
        self.assertIn("Removed name servers of home", self.daemon.ctl("repair").stdout)
        self.assertEqual(self.a.resolv_conf.read_text(), "nameserver 192.0.2.53\n")
        self.assertFalse(journals[0].exists())

    def test_a_socket_that_is_anothers_by_now_is_left_alone(self):
        from lab import WG_SOCKETS
        self.up()
        sock = WG_SOCKETS / f"{self.daemon.status('home')['interface']}.sock"
        self.daemon.kill()
        sock.unlink()
        sock.write_text("another's")
        self.addCleanup(sock.unlink)
        self.assertNotIn(str(sock), self.daemon.ctl("repair", "--force").stdout)
        self.assertEqual(sock.read_text(), "another's")

    def alive(self, pid):
        from lab import name_of, reap
        reap()
        return name_of(pid) is not None


if __name__ == "__main__":
    unittest.main()
