"""A machine of its own: a namespace with an /etc, a /run/systemd and, where wanted, a system bus and systemd-resolved."""

import fcntl
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from lab import SLACK, Namespace, run, wait_for

# systemd-resolved isn't installed, for its package takes /etc/resolv.conf over; it is unpacked, once.
PACKAGE = Path("/var/tmp/tunneld-tests-resolved")

BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>system</type><listen>unix:path={path}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow user="*"/><allow own="*"/><allow send_destination="*"/><allow eavesdrop="true"/></policy>
</busconfig>
"""


def unpacked():
    """The folder with Debian's systemd-resolved of the same version as the library beside it."""
    PACKAGE.mkdir(exist_ok=True)
    with open(PACKAGE / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        tree, version = PACKAGE / "tree", run("dpkg-query", "-W", "-f", "${Version}", "systemd").stdout
        if (PACKAGE / "version").exists() and (PACKAGE / "version").read_text() == version:
            return tree
        for old in PACKAGE.glob("*.deb"):
            old.unlink()
        shutil.rmtree(tree, ignore_errors=True)
        result = subprocess.run(
            ["apt-get", "download", "-q", f"systemd-resolved={version}"], cwd=PACKAGE, capture_output=True, text=True)
        if result.returncode != 0:
            raise AssertionError(
                f"systemd-resolved {version} can't be had (try apt-get update):\n{result.stdout}{result.stderr}")
        run("dpkg-deb", "-x", next(PACKAGE.glob("*.deb")), tree)
        (PACKAGE / "version").write_text(version)
        return tree


class Box(Namespace):
    def __init__(self, lab, name="a"):
        super().__init__(lab, name)
        self.folder = lab.folder / f"box-{self.name}"
        self.folder.mkdir()
        self.bus, self.ready = self.folder / "bus", self.folder / "ready"
        self.environment = dict(os.environ, DBUS_SYSTEM_BUS_ADDRESS=f"unix:path={self.bus}")
        script = f"""
            mount -t tmpfs -o mode=755 tmpfs {self.folder} && mkdir {self.folder}/upper {self.folder}/work
            mount -t overlay overlay -o lowerdir=/etc,upperdir={self.folder}/upper,workdir={self.folder}/work /etc
            mkdir -p /run/systemd && mount -t tmpfs -o mode=755 tmpfs /run/systemd
            rm -f /etc/resolv.conf && echo 'nameserver 192.0.2.53' > /etc/resolv.conf
            chmod 644 /etc/resolv.conf
            mkdir -p /run/systemd/resolve && : > {self.ready} && exec sleep infinity"""
        self.holder = None
        self.holder = self.popen("unshare", "--mount", "--propagation", "private", "sh", "-ec", script, log="box")
        wait_for("the box", lambda: self.exec("test", "-e", self.ready, check=False).returncode == 0, 10)

    @property
    def enter(self):
        if self.__dict__.get("holder") is None:
            return super().enter
        return ["nsenter", "-t", str(self.holder.pid), "-m", "-n", "--"]

    def sh(self, text, **options):
        return self.exec("sh", "-ec", text, env=self.environment, **options).stdout

    # What stands at /etc/resolv.conf, or would be read there.

    def read(self):
        return self.sh("cat /etc/resolv.conf")

    def write(self, text):
        """As another program would: another file in place of what is there."""
        self.sh("cat > /etc/resolv.conf.other && chmod 644 /etc/resolv.conf.other && "
                "mv -f /etc/resolv.conf.other /etc/resolv.conf", input=text)

    def shape(self):
        """All that there is of /etc/resolv.conf: its kind, owner, mode and contents."""
        return self.sh("stat -c '%F %U %a %N' /etc/resolv.conf 2>&1 || true; base64 /etc/resolv.conf 2>&1 || true; ls -a /etc")

    # The bus and what is on it.

    def start_bus(self):
        (self.lab.folder / "bus.conf").write_text(BUS.format(path=self.bus))
        self.sh(f"rm -f {self.bus}")
        self.bus_process = self.popen(
            "dbus-daemon", f"--config-file={self.lab.folder / 'bus.conf'}", "--nofork", "--nopidfile")
        wait_for("the bus", lambda: self.exec("test", "-S", self.bus, check=False).returncode == 0, 10)

    def start_resolved(self, settings=""):
        tree = unpacked()
        self.resolved_program = tree / "lib/systemd/systemd-resolved"
        self.resolvectl_program = tree / "usr/bin/resolvectl"
        self.sh(f"systemd-sysusers {tree}/usr/lib/sysusers.d/systemd-resolve.conf; mkdir -p /etc/systemd; "
                f"printf '[Resolve]\nFallbackDNS=\n{settings}' > /etc/systemd/resolved.conf; "
                "chown systemd-resolve: /run/systemd/resolve; "
                "ln -sfn /run/systemd/resolve/stub-resolv.conf /etc/resolv.conf")
        self.run_resolved()

    def run_resolved(self):
        self.resolved = self.popen(self.resolved_program, log="resolved", env=self.environment)
        wait_for("systemd-resolved", lambda: self.exec(
            "busctl", "call", "org.freedesktop.resolve1", "/org/freedesktop/resolve1", "org.freedesktop.DBus.Peer", "Ping",
            env=self.environment, check=False).returncode == 0, 10)

    def stop_resolved(self):
        self.resolved.terminate()
        self.resolved.wait(timeout=10)

    def resolvectl(self, *arguments, **options):
        return self.exec(self.resolvectl_program, *arguments, env=self.environment, **options).stdout

    def tunneld(self, *, settings=None, bus=True, path=None, start=True):
        daemon = self.lab.tunneld(self, start=False)
        if bus:
            daemon.environment["DBUS_SYSTEM_BUS_ADDRESS"] = self.environment["DBUS_SYSTEM_BUS_ADDRESS"]
        if path:
            daemon.environment["PATH"] = f"{path}:{os.environ['PATH']}"
        if settings:
            (daemon.configuration / "tunneld.conf").write_text(settings)
        if start:
            daemon.start()
        return daemon


class NameServer:
    """A dnsmasq that answers every name below its domains with its own address, and keeps what it was asked."""

    def __init__(self, lab, namespace, address, answers):
        self.log = lab.folder / f"names-{namespace.name}-{address.replace(':', '_')}.queries"
        self.address = address
        self.process = namespace.popen(
            "dnsmasq", "-k", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--bind-interfaces",
            "--except-interface=lo", "--pid-file=", "--cache-size=0", "--user=root", f"--listen-address={address}",
            "--log-queries", f"--log-facility={self.log}",
            *(f"--address=/{domain}/{answer}" for domain, answer in answers.items()), log="dnsmasq")
        wait_for("dnsmasq", lambda: self.log.exists() and "started" in self.log.read_text(), 5 * SLACK)

    def asked(self):
        """The names that it was asked for."""
        time.sleep(0.05)
        return set(re.findall(r" query\[\w+\] (\S+) from", self.log.read_text()))

    def forget(self):
        with open(self.log, "r+") as log:
            log.truncate(0)
