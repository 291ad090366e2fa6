"""Who may do what: by polkit where a system bus answers, else by the group, else by tunneld.conf."""

import json
import os
import shutil
import signal
import time
import unittest

from lab import ROOT, SLACK, Lab, conf, genkey, run, wait_for

# Users that every Debian has; no session of theirs is active here.
GAMES, NEWS = 5, 9

BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>system</type><listen>unix:path={path}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow user="*"/><allow own="*"/><allow send_type="method_call"/><allow send_type="signal"/>
<allow send_requested_reply="true" send_type="method_return"/><allow send_requested_reply="true" send_type="error"/>
<allow receive_type="method_call"/><allow receive_type="method_return"/><allow receive_type="error"/>
<allow receive_type="signal"/><allow send_destination="*"/></policy></busconfig>
"""

RULES = """
polkit.addRule(function (action, subject) {
    if (subject.user == "games" && (action.id == "org.tunneld.manage-own" || action.id == "org.tunneld.reveal")) {
        return polkit.Result.YES;
    }
    if (subject.user == "games" && action.id == "org.tunneld.control-system") { return polkit.Result.YES; }
    if (subject.user == "news" && action.id == "org.tunneld.manage-own") { return polkit.Result.NO; }
});
"""


class Permission(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("perm")
        self.addCleanup(self.lab.close)
        self.namespace = self.lab.namespace("a")
        self.bus = self.lab.folder / "bus"

    def daemon(self, settings=None):
        daemon = self.lab.tunneld(self.namespace, start=False)
        for folder in (daemon.runtime.parent, daemon.runtime):
            os.chmod(folder, 0o755)
        if settings:
            (daemon.configuration / "tunneld.conf").write_text(settings)
        daemon.environment["DBUS_SYSTEM_BUS_ADDRESS"] = f"unix:path={self.bus}"
        daemon.start()
        return daemon

    def start_bus(self):
        configuration = self.lab.folder / "bus.conf"
        configuration.write_text(BUS.format(path=self.bus))
        process = self.namespace.popen("dbus-daemon", f"--config-file={configuration}", "--nofork", "--nopidfile")
        wait_for("the bus", self.bus.exists, 10)
        return process

    def start_polkit(self):
        actions, rules = self.lab.folder / "actions", self.lab.folder / "rules"
        for folder in (actions, rules):
            folder.mkdir()
        shutil.copy(ROOT / "systemd/org.tunneld.policy", actions)
        shutil.copy(ROOT / "systemd/50-tunneld.rules", rules)
        (rules / "10-test.rules").write_text(RULES)
        run("chmod", "-R", "a+rX", actions, rules)
        return self.namespace.popen(
            "unshare", "--mount", "sh", "-c",
            f"mount --bind {actions} /usr/share/polkit-1/actions && mkdir -p /etc/polkit-1/rules.d && "
            f"mount -t tmpfs none /etc/polkit-1 && mkdir /etc/polkit-1/rules.d && cp {rules}/* /etc/polkit-1/rules.d && "
            "chmod -R a+rX /etc/polkit-1 && exec /usr/lib/polkit-1/polkitd --no-debug",
            log="polkitd", env=dict(os.environ, DBUS_SYSTEM_BUS_ADDRESS=f"unix:path={self.bus}"))

    def wait_for_polkit(self):
        wait_for("polkit", lambda: run(
            "busctl", f"--address=unix:path={self.bus}", "status", "org.freedesktop.PolicyKit1", check=False
        ).returncode == 0, 10)

    def new(self, daemon, user, name="own"):
        return daemon.ctl("new", name, "--address", "10.1.0.1/24", user=user, check=False)

    def refused(self, result, *words):
        self.assertEqual(result.returncode, 5, result.stdout + result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)

    def test_without_a_bus_the_group_decides_and_then_the_administrator(self):
        daemon = self.daemon()
        self.refused(self.new(daemon, GAMES), "group tunneld", "org.tunneld.manage-own", "usermod -aG tunneld")
        daemon.terminate()
        (daemon.configuration / "tunneld.conf").write_text("# everybody\nusers = allow\n")
        daemon.start()
        self.assertEqual(self.new(daemon, GAMES).returncode, 0)
        daemon.import_text("home", conf(genkey(), ["10.20.0.1/24"], []))
        # The system's can be seen by everybody, and one's own by nobody else.
        self.assertEqual([it["name"] for it in daemon.json("list", user=GAMES)], ["home", "own"])
        self.assertEqual([it["name"] for it in daemon.json("list", user=NEWS)], ["home"])
        self.refused(daemon.ctl("up", "home", user=GAMES, check=False), "org.tunneld.control-system")
        self.refused(daemon.ctl("set", "home", "username=x", user=GAMES, check=False), "org.tunneld.manage-system")
        self.refused(daemon.ctl("remove", "home", user=GAMES, check=False), "org.tunneld.manage-system")
        self.refused(daemon.ctl("export", "own", "--with-secrets", user=GAMES, check=False), "org.tunneld.reveal")

    def test_a_member_of_the_group_is_known_by_a_supplementary_group(self):
        groups = self.lab.folder / "group"
        groups.write_text("root:x:0:\ntunneld:x:7777:\n")
        daemon = self.lab.tunneld(self.namespace, start=False)
        daemon.prefix = ["unshare", "--mount", "sh", "-c", f"mount --bind {groups} /etc/group && exec \"$0\" \"$@\""]
        daemon.environment["DBUS_SYSTEM_BUS_ADDRESS"] = f"unix:path={self.bus}"
        for folder in (daemon.runtime.parent, daemon.runtime):
            os.chmod(folder, 0o755)
        daemon.start()

        def new(name, *groups):
            return self.namespace.exec(
                "setpriv", f"--reuid={GAMES}", f"--regid={GAMES}", *groups, daemon.programs / "tunnelctl", "new", name,
                env=daemon.environment, check=False)

        self.refused(new("a", "--groups=7776"), "group tunneld")
        member = new("b", "--groups=7776,7777")
        self.assertEqual(member.returncode, 0, member.stderr)
        primary = self.namespace.exec(
            "setpriv", f"--reuid={GAMES}", "--regid=7777", "--clear-groups", daemon.programs / "tunnelctl", "new", "c",
            env=daemon.environment, check=False)
        self.assertEqual(primary.returncode, 0, primary.stderr)

    def test_settings_that_cannot_be_read_stop_tunneld_with_the_line(self):
        daemon = self.lab.tunneld(self.namespace, start=False)
        (daemon.configuration / "tunneld.conf").write_text("users = group\nuser = allow\n")
        process = self.namespace.popen(daemon.programs / "tunneld", env=daemon.environment)
        self.assertEqual(process.wait(10), 1)
        self.assertIn("line 2: there is no setting `user`", process.log_path.read_text())

    def test_polkit_decides_where_it_answers(self):
        self.start_bus()
        self.start_polkit()
        self.wait_for_polkit()
        daemon = self.daemon("users = allow\n")
        daemon.import_text("home", conf(genkey(), ["10.20.0.1/24"], []))
        self.assertEqual(self.new(daemon, GAMES).returncode, 0)
        self.refused(self.new(daemon, NEWS), "polkit", "org.tunneld.manage-own")
        daemon.ctl("up", "own", user=GAMES)
        daemon.ctl("up", "home", user=GAMES)
        daemon.ctl("down", "home", user=GAMES)
        self.refused(daemon.ctl("up", "home", user=NEWS, check=False), "org.tunneld.control-system", "authentication")
        self.refused(daemon.ctl("set", "home", "username=x", user=GAMES, check=False), "org.tunneld.manage-system")
        self.assertIn("PrivateKey = ", daemon.ctl("export", "own", "--with-secrets", user=GAMES).stdout)
        self.refused(daemon.ctl("export", "home", "--with-secrets", user=GAMES, check=False), "Only root")

    def test_a_polkit_that_hangs_or_knows_nothing_of_us_leaves_it_to_the_group(self):
        bus = self.start_bus()
        daemon = self.daemon()
        begin = time.monotonic()
        self.refused(self.new(daemon, GAMES), "group tunneld")
        self.assertLess(time.monotonic() - begin, 1 * SLACK)
        bus.send_signal(signal.SIGSTOP)
        try:
            begin = time.monotonic()
            self.refused(self.new(daemon, GAMES), "group tunneld")
            self.assertLess(time.monotonic() - begin, 3 * SLACK)
            # Nobody else waits meanwhile.
            begin = time.monotonic()
            self.assertEqual(json.loads(daemon.ctl("list", "--json").stdout), [])
            self.assertLess(time.monotonic() - begin, 1 * SLACK)
        finally:
            bus.send_signal(signal.SIGCONT)
