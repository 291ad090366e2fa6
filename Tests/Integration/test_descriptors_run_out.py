"""A process that may open no more descriptors leaves who waits at its door alone, and burns nothing meanwhile."""

import os
import socket
import time
import unittest
from pathlib import Path

from lab import SLACK, WG_SOCKETS, Lab, run, wait_for


LIMIT = 48


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class DescriptorsRunOut(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("nofile")
        self.addCleanup(self.lab.close)
        self.a, self.b, self.daemon, self.private, self.peer = self.lab.home()
        # The provider inherits the limit: another user's can't be changed everywhere.
        self.daemon.terminate()
        self.daemon.prefix = ["prlimit", f"--nofile={LIMIT}"]
        self.daemon.start()
        self.daemon.ctl("up", "home")
        self.status = self.daemon.status("home")

    def connected(self, path, kind):
        connection = socket.socket(socket.AF_UNIX, kind | socket.SOCK_NONBLOCK)
        folder = os.open(path.parent, os.O_PATH)
        try:
            connection.connect(f"/proc/self/fd/{folder}/{path.name}")
        finally:
            os.close(folder)
        return connection

    def check(self, pid, doors, wanted):
        # More than fit, at each of them.
        waiting = [self.connected(path, kind) for path, kind in doors for _ in range(LIMIT)]
        try:
            wait_for("the descriptors to run out", lambda: len(os.listdir(f"/proc/{pid}/fd")) >= wanted, 2 * SLACK)
            time.sleep(0.5)
            before = cpu_seconds(pid)
            time.sleep(3)
            self.assertLess(cpu_seconds(pid) - before, 0.5)
        finally:
            for connection in waiting:
                connection.close()

    def test_the_provider(self):
        folder = self.daemon.runtime / "providers" / self.status["identifier"]
        self.check(self.status["providerProcess"], [
            (WG_SOCKETS / f"{self.status['interface']}.sock", socket.SOCK_STREAM),
            (folder / "descriptors", socket.SOCK_SEQPACKET), (folder / "control", socket.SOCK_STREAM)], LIMIT)
        wait_for("the provider to answer", lambda: self.daemon.status("home")["status"] == "connected", 2 * SLACK)
        wait_for("wg to be answered", lambda: self.peer.public in run(
            "wg", "show", self.status["interface"], "peers", check=False).stdout, 2 * SLACK)

    def test_tunneld(self):
        # It refuses more connections while it has some descriptors left for its own work.
        self.check(self.daemon.pid, [(self.daemon.socket, socket.SOCK_STREAM)], LIMIT * 3 // 4)
        wait_for("tunneld to answer", lambda: self.daemon.status("home")["status"] == "connected", 2 * SLACK)


if __name__ == "__main__":
    unittest.main()
