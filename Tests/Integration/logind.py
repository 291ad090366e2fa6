"""A private system bus with a fake logind on it, for one lab."""

import json
import os
import signal
import socket
from pathlib import Path

from lab import wait_for

BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>system</type><listen>unix:path={path}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow user="*"/><allow own="*"/><allow send_destination="*"/><allow eavesdrop="true"/></policy>
</busconfig>
"""


class Logind:
    """The bus and logind, each to be started and ended; a sleep is announced with `sleep` and ended with `wake`."""

    def __init__(self, lab, namespace):
        self.lab, self.namespace = lab, namespace
        self.path = lab.folder / "bus"
        self.control = lab.folder / "logind"
        self.environment = dict(os.environ, DBUS_SYSTEM_BUS_ADDRESS=f"unix:path={self.path}")
        self.bus = self.process = None

    def start_bus(self):
        configuration = self.lab.folder / "bus.conf"
        configuration.write_text(BUS.format(path=self.path))
        self.bus = self.namespace.popen("dbus-daemon", f"--config-file={configuration}", "--nofork", "--nopidfile")
        wait_for("the bus", self.path.exists, 10)

    def start(self):
        self.process = self.namespace.popen(
            "/usr/bin/python3", "-B", Path(__file__).with_name("fake_logind.py"), self.control, env=self.environment)
        wait_for("logind", self.control.exists, 10)
        return self

    @staticmethod
    def end(process):
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=10)

    def stop(self):
        self.end(self.process)
        self.control.unlink()

    def stop_bus(self):
        self.end(self.bus)
        self.path.unlink(missing_ok=True)

    def tell(self, **command):
        with socket.socket(socket.AF_UNIX) as connection, connection.makefile("rw") as file:
            connection.settimeout(30)
            connection.connect(str(self.control))
            file.write(json.dumps(command) + "\n")
            file.flush()
            return json.loads(file.readline())

    def locks(self):
        return self.tell()["locks"]

    def wait_for_locks(self, count, timeout=10):
        return wait_for(f"{count} locks", lambda: len(locks := self.locks()) == count and (locks or True), timeout)

    def sleep(self, patience=5):
        """Announces a sleep and waits for the locks as logind does; those that are left."""
        return self.tell(sleep=True, **{"await": patience})["locks"]

    def wake(self):
        self.tell(sleep=False)

    def stranger_sleeps(self):
        """Has somebody else announce a sleep, to everybody and to each connection by itself."""
        names = self.namespace.exec("busctl", f"--address=unix:path={self.path}", "--no-legend", "--unique", "list").stdout
        own = [line.split()[0] for line in names.splitlines()]
        if len(own) < 2:
            raise AssertionError(f"tunneld isn't on the bus:\n{names}")
        for destination in [[], *([f"--dest={name}"] for name in own)]:
            self.namespace.exec(
                "dbus-send", f"--bus=unix:path={self.path}", "--type=signal", *destination,
                "/org/freedesktop/login1", "org.freedesktop.login1.Manager.PrepareForSleep", "boolean:true")


