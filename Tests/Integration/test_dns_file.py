"""Name servers without systemd-resolved: /etc/resolv.conf itself, a resolvconf, or nothing at all."""

import itertools
import os
import re
import shutil
import signal
import unittest

from dns_rig import DNSRig
from lab import SLACK, wait_for


class File(DNSRig):
    def setUp(self):
        super().setUp()
        self.a.write("# the network's own\nnameserver 10.99.0.2\nsearch lan.test\noptions timeout:1 trust-ad\n")
        self.daemon = self.a.tunneld()

    def servers(self):
        return [line.split()[1] for line in self.a.read().splitlines() if line.startswith("nameserver")]

    def crash(self):
        """tunneld and all its providers, at once."""
        pids = [self.daemon.status(entry["name"])["providerProcess"] for entry in self.daemon.json("list")
                if entry["status"] != "disconnected"]
        self.daemon.kill()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)

    def test_a_split_tunnels_server_comes_first_and_all_goes_back(self):
        before = self.a.shape()
        self.add(self.daemon, 1)
        self.up(self.daemon, "t1")
        dns = self.dns(self.daemon, "t1")
        self.assertEqual((dns["backend"], dns["applied"], dns["effective"]), ("resolv.conf", True, True))
        self.assertIn("can't say which names go where", dns["note"])
        text = self.a.read()
        self.assertTrue(text.startswith("# Written by tunneld"), text)
        self.assertEqual(self.servers(), ["10.21.0.2", "10.99.0.2"])
        self.assertIn("\nsearch corp1.test lan.test\noptions timeout:1\n", text)
        self.assertEqual(self.look_up("www.corp1.test"), "10.21.0.80")
        self.daemon.ctl("down", "t1")
        self.assertEqual(self.a.shape(), before)

    def test_what_a_crash_left_half_written_goes_with_the_next_start(self):
        before = self.a.shape()
        self.daemon.kill()
        self.a.sh("echo half > /etc/.resolv.conf.tunneld")
        self.daemon.start()
        self.assertEqual(self.a.shape(), before)

    def test_a_full_tunnels_server_is_the_only_one(self):
        self.a.ip("route", "add", "default", "via", "10.99.0.2")
        before = self.a.shape()
        self.add(self.daemon, 1, dns="10.21.0.2", allowed="0.0.0.0/0", endpoint="gateway.test")
        self.up(self.daemon, "t1")
        self.assertEqual(self.servers(), ["10.21.0.2"])
        self.assertIsNone(self.dns(self.daemon, "t1")["note"])
        self.goes_to("www.test", 1)
        # C057: the gateway itself is looked for at the servers that stood there before.
        self.asked()
        os.kill(self.daemon.status("t1")["providerProcess"], signal.SIGKILL)
        wait_for("the name to be asked for", lambda: "gateway.test" in self.inet.asked(), 10 * SLACK)
        self.daemon.wait_status("t1", "connected", 10 * SLACK)
        self.assertNotIn("gateway.test", self.behind[1].asked())
        self.daemon.ctl("down", "t1")
        self.assertEqual(self.a.shape(), before)

    def test_every_shape_comes_back_as_it_was(self):
        self.add(self.daemon, 1)
        plain = "printf 'nameserver 10.99.0.2\\n' > "
        for command in (f"{plain} /etc/resolv.conf; chmod 640 /etc/resolv.conf; chown 0:1 /etc/resolv.conf",
                        f"{plain} /etc/other; ln -s other /etc/resolv.conf",
                        "ln -s /run/systemd/resolve/stub-resolv.conf /etc/resolv.conf",
                        "printf 'nameserver 10.99.0.2\\n\\377\\000 no text' > /etc/resolv.conf",
                        "printf 'nameserver 10.99.0.2' > /etc/resolv.conf",
                        ": > /etc/resolv.conf", "true"):
            with self.subTest(command):
                self.a.sh(f"rm -f /etc/resolv.conf; {command}")
                other = self.a.sh("cat /etc/other 2>&1 || true")
                before = self.a.shape()
                self.up(self.daemon, "t1")
                self.assertEqual(self.servers()[0], "10.21.0.2")
                self.assertTrue(self.dns(self.daemon, "t1")["effective"])
                # What a link leads to is another program's.
                self.assertEqual(self.a.sh("cat /etc/other 2>&1 || true"), other)
                self.assertEqual(self.a.sh("stat -c %F /etc/resolv.conf").strip(), "regular file")
                self.daemon.ctl("down", "t1")
                self.assertEqual(self.a.shape(), before)

    def test_a_file_that_is_mounted_is_written_in_place(self):
        """As containers have it: it can't be replaced."""
        self.a.sh("cp /etc/resolv.conf /etc/mounted; mount --bind /etc/mounted /etc/resolv.conf")
        before = self.a.shape(), self.a.sh("stat -c %i /etc/resolv.conf")
        self.add(self.daemon, 1)
        for _ in range(3):
            self.up(self.daemon, "t1")
            self.assertEqual(self.servers(), ["10.21.0.2", "10.99.0.2"])
            self.daemon.ctl("down", "t1")
            self.assertEqual((self.a.shape(), self.a.sh("stat -c %i /etc/resolv.conf")), before)
        # What another program writes into it while the tunnel is up is taken up as well.
        self.up(self.daemon, "t1")
        self.a.sh("echo nameserver 10.99.0.9 > /etc/resolv.conf")
        wait_for("our servers", lambda: self.servers() == ["10.21.0.2", "10.99.0.9"], 2 * SLACK)
        self.daemon.ctl("down", "t1")
        self.assertEqual(self.a.read(), "nameserver 10.99.0.9\n")

    def test_what_dhcp_writes_meanwhile_stays(self):
        """C037: the network changed while the tunnel was up, so the old network's file must not come back."""
        self.add(self.daemon, 1)
        for number in range(3):
            self.up(self.daemon, "t1")
            new = f"# net {number}\nnameserver 10.99.0.2\nnameserver 10.98.{number}.1\n"
            self.a.write(new)
            if number:
                wait_for("our servers", lambda: self.servers()[0] == "10.21.0.2", 2 * SLACK)
                self.assertIn(f"10.98.{number}.1", self.servers())
            self.daemon.ctl("down", "t1")
            self.assertEqual(self.a.read(), new)

    def test_a_file_that_somebody_rewrites_on_and_on_is_theirs(self):
        self.add(self.daemon, 1)
        self.up(self.daemon, "t1")
        for number in range(40):
            self.a.write(f"nameserver 10.98.0.{number}\n")
        put_back = self.daemon.process.log_path.read_text().count("putting them back")
        self.assertLessEqual(put_back, 6)
        self.daemon.ctl("down", "t1")
        self.assertEqual(self.a.read(), "nameserver 10.98.0.39\n")

    def test_what_somebody_adds_by_hand_stays(self):
        before = self.a.read()
        self.add(self.daemon, 1)
        self.up(self.daemon, "t1")
        self.a.sh("echo 'options rotate' >> /etc/resolv.conf; echo 'nameserver 10.98.0.1' >> /etc/resolv.conf")
        self.daemon.ctl("down", "t1")
        self.assertEqual(self.a.read(), before + "options rotate\nnameserver 10.98.0.1\n")

    def test_a_file_whose_mark_is_taken_out_is_put_back_all_the_same(self):
        before = self.a.read()
        self.add(self.daemon, 1)
        for edit in ("/^# tunneld:/d", "s/^# tunneld: .*/# tunneld: damaged/"):
            self.up(self.daemon, "t1")
            self.a.sh(f"sed -i '{edit}' /etc/resolv.conf")
            wait_for("the servers and the mark", lambda: re.search("(?m)^# tunneld: {", self.a.read()), 5 * SLACK)
            self.assertEqual(self.servers()[0], "10.21.0.2")
            self.daemon.ctl("down", "t1")
            # What the file of ours hadn't kept outside of its mark (comments, the trust in answers) is lost with that.
            self.assertEqual(self.a.read(), "nameserver 10.99.0.2\nsearch lan.test\noptions timeout:1\n", edit)
            self.a.write(before)

    def test_two_tunnels_share_it_in_every_order(self):
        before = self.a.shape()
        self.add(self.daemon, 1)
        self.add(self.daemon, 2)
        for first, second in itertools.permutations((1, 2)):
            for stopped, left in itertools.permutations((1, 2)):
                self.up(self.daemon, f"t{first}")
                self.up(self.daemon, f"t{second}")
                self.assertEqual(self.servers(), [f"10.2{second}.0.2", f"10.2{first}.0.2", "10.99.0.2"])
                self.daemon.ctl("down", f"t{stopped}")
                self.assertEqual(self.servers(), [f"10.2{left}.0.2", "10.99.0.2"])
                self.assertIn(f"search corp{left}.test lan.test", self.a.read())
                self.daemon.ctl("down", f"t{left}")
                self.assertEqual(self.a.shape(), before)

    def test_a_crash_is_undone_or_gone_on_with_before_a_name_is_asked_for(self):
        """C035: what names the dead tunnel's server must not keep its own gateway from being found."""
        self.a.ip("route", "add", "default", "via", "10.99.0.2")
        before = self.a.shape()
        self.add(self.daemon, 1, dns="10.21.0.2", allowed="0.0.0.0/0", endpoint="gateway.test")
        for _ in range(3):
            self.up(self.daemon, "t1")
            self.crash()
            self.assertEqual(self.servers(), ["10.21.0.2"])
            self.asked()
            self.daemon.start()
            # It goes on: another provider, whose gateway is looked for at the network's own server.
            self.daemon.wait_status("t1", "connected", 10 * SLACK)
            self.assertIn("gateway.test", self.inet.asked())
            self.goes_to("www.test", 1)
            self.daemon.ctl("down", "t1")
            self.assertEqual(self.a.shape(), before)
            # Its configuration went meanwhile: then all is undone, before tunneld answers anybody.
            self.up(self.daemon, "t1")
            self.crash()
            kept = self.lab.folder / "kept"
            shutil.move(self.daemon.state / "configurations", kept)
            self.daemon.start()
            self.assertEqual(self.a.shape(), before)
            self.daemon.terminate()
            shutil.rmtree(self.daemon.state / "configurations")
            shutil.move(kept, self.daemon.state / "configurations")
            self.daemon.start()

    def test_a_new_start_of_the_machine_finds_the_original(self):
        before = self.a.shape()
        self.add(self.daemon, 1)
        self.add(self.daemon, 2)
        self.up(self.daemon, "t1")
        self.up(self.daemon, "t2")
        self.crash()
        for link in self.a.ip_json("link"):
            if link["ifname"] not in ("lo", "eth0"):
                self.a.ip("link", "del", link["ifname"], check=False)
        # The runtime directory doesn't outlive the machine, /etc does.
        for entry in self.daemon.runtime.iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        self.assertEqual(self.servers()[0], "10.22.0.2")
        self.daemon.start()
        self.assertEqual(self.a.shape(), before)

    def test_where_there_is_no_way_it_is_refused_before_a_link_is_made(self):
        """C034"""
        self.a.sh("mount --bind /etc/resolv.conf /etc/resolv.conf; mount -o remount,ro,bind /etc/resolv.conf")
        self.add(self.daemon, 1)
        self.add(self.daemon, 2, dns="")
        before = self.a.snapshot()
        result = self.daemon.ctl("up", "t1", check=False)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        error = self.daemon.status("t1")["lastDisconnectError"]
        self.assertEqual(error["message"], "The tunnel's name servers can't be put in force.")
        for word in ("systemd-resolved: the system bus can't be reached", "resolvconf: there is no such program",
                     "/etc/resolv.conf: Read-only file system"):
            self.assertIn(word, error["reason"])
        self.assertIn("dns = optional", error["remedy"])
        self.assertEqual(self.a.snapshot(), before)
        self.assertNotIn("Started provider", self.daemon.process.log_path.read_text())
        # One without name servers doesn't care.
        self.up(self.daemon, "t2")
        self.assertIsNone(self.dns(self.daemon, "t2"))

    def test_it_goes_on_without_where_the_administrator_says_so(self):
        """C034"""
        self.a.sh("mount --bind /etc/resolv.conf /etc/resolv.conf; mount -o remount,ro,bind /etc/resolv.conf")
        self.daemon.terminate()
        (self.daemon.configuration / "tunneld.conf").write_text("dns = optional\n")
        self.daemon.start()
        self.add(self.daemon, 1)
        self.assertIn("DNS not applied", self.up(self.daemon, "t1").stdout)
        status = self.daemon.status("t1")
        self.assertEqual((status["status"], status["dns"]["applied"], status["dns"]["backend"]), ("connected", False, None))
        self.assertIn("DNS not applied: The tunnel's name servers", status["dns"]["note"])
        self.assertIn(status["dns"]["note"], status["notes"])
        self.assertEqual(self.daemon.ctl("status", "t1", "--check", check=False).returncode, 0)
        self.assertIn("DNS = 10.21.0.2, corp1.test", self.daemon.ctl("export", "t1").stdout)
        self.daemon.ctl("down", "t1")

    def test_settings_of_tunneld_that_make_no_sense_are_told(self):
        self.daemon.terminate()
        (self.daemon.configuration / "tunneld.conf").write_text("dns = maybe\n")
        process = self.a.popen(self.daemon.programs / "tunneld", env=self.daemon.environment)
        self.assertEqual(process.wait(timeout=10 * SLACK), 1)
        self.assertIn("`dns` is `refuse`", process.log_path.read_text())


class Resolvconf(DNSRig):
    """Another program that mixes what all interfaces bring along; a stand-in that keeps its records and its calls."""

    def setUp(self):
        super().setUp()
        self.folder = self.lab.folder / "programs"
        self.records = self.lab.folder / "records"
        for folder in (self.folder, self.records):
            folder.mkdir()
        self.program = self.folder / "resolvconf"
        self.program.write_text(f"""#!/bin/sh
echo "$@" >> {self.folder}/calls
case $1 in
-a) cat > {self.records}/$2;;
-d) rm -f {self.records}/$2;;
*) echo "what is $1?" >&2; exit 99;;
esac
cat {self.records}/tun.* {self.records}/eth0 > /etc/resolv.conf 2>/dev/null
exit 0
""")
        self.program.chmod(0o755)
        (self.records / "eth0").write_text("nameserver 10.99.0.2\n")
        self.a.sh(f"cat {self.records}/eth0 > /etc/resolv.conf")
        self.daemon = self.a.tunneld(path=self.folder)

    def calls(self):
        path = self.folder / "calls"
        return path.read_text().splitlines() if path.exists() else []

    def test_it_is_told_and_told_back(self):
        before = self.a.read()
        self.add(self.daemon, 1)
        self.up(self.daemon, "t1")
        interface = self.daemon.status("t1")["interface"]
        dns = self.dns(self.daemon, "t1")
        self.assertEqual((dns["backend"], dns["effective"]), ("resolvconf", True))
        self.assertIn(f"-a tun.{interface}", self.calls())
        self.assertEqual((self.records / f"tun.{interface}").read_text(), "nameserver 10.21.0.2\nsearch corp1.test\n")
        self.assertEqual(self.look_up("www.corp1.test"), "10.21.0.80")
        self.daemon.ctl("down", "t1")
        self.assertEqual(self.calls()[-1], f"-d tun.{interface}")
        self.assertEqual(self.a.read(), before)

    def test_a_crash_is_told_back_too(self):
        before = self.a.read()
        self.add(self.daemon, 1)
        self.up(self.daemon, "t1")
        provider = self.daemon.status("t1")["providerProcess"]
        self.daemon.kill()
        os.kill(provider, signal.SIGKILL)
        self.daemon.start()
        self.daemon.wait_status("t1", "connected", 10 * SLACK)
        self.daemon.ctl("down", "t1")
        self.assertEqual(self.a.read(), before)

    def test_a_crash_before_it_has_answered_is_told_back_too(self):
        before, text = self.a.read(), self.program.read_text()
        self.add(self.daemon, 1)
        self.program.write_text(text.replace("exit 0\n", "[ $1 = -a ] && kill -9 $PPID\nexit 0\n"))
        self.daemon.popen("up", "t1", log="up")
        self.daemon.process.wait(timeout=10 * SLACK)
        self.assertNotEqual(self.a.read(), before)
        self.program.write_text(text)
        self.daemon.kill()
        self.daemon.start()
        wait_for("what stood there before", lambda: self.a.read() == before, 2 * SLACK)
        self.assertEqual(list(self.records.glob("tun.*")), [])

    def test_the_gateway_is_looked_for_at_the_others_servers(self):
        self.a.ip("route", "add", "default", "via", "10.99.0.2")
        self.add(self.daemon, 1, dns="10.21.0.2", allowed="0.0.0.0/0", endpoint="gateway.test")
        self.up(self.daemon, "t1")
        self.asked()
        os.kill(self.daemon.status("t1")["providerProcess"], signal.SIGKILL)
        wait_for("the name to be asked for", lambda: "gateway.test" in self.inet.asked(), 10 * SLACK)
        self.daemon.wait_status("t1", "connected", 10 * SLACK)

    def test_one_that_fails_or_hangs_says_why(self):
        before = self.a.snapshot()
        self.add(self.daemon, 1)
        for body, words in (("echo no room >&2; exit 7", "exited with status 7: no room"), ("sleep 60", "killed after 5 s")):
            self.program.write_text(f"#!/bin/sh\n{body}\n")
            result = self.daemon.ctl("up", "t1", check=False)
            self.assertEqual(result.returncode, 1)
            self.assertIn(words, self.daemon.status("t1")["lastDisconnectError"]["reason"])
            self.assertEqual(self.a.snapshot(), before)

    def test_one_that_nobody_heeds_is_told(self):
        self.program.write_text("#!/bin/sh\nexit 0\n")
        self.add(self.daemon, 1)
        self.up(self.daemon, "t1")
        dns = self.dns(self.daemon, "t1")
        self.assertEqual((dns["applied"], dns["effective"]), (True, False))
        self.assertIn("DNS not effective: /etc/resolv.conf names 10.99.0.2 and none of the tunnel's", dns["note"])


if __name__ == "__main__":
    unittest.main()
