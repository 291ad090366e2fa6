"""A wall clock that is set by years, under everything that runs. Runs inside the virtual machine, whose clock it is."""

import os
import signal
import time
import unittest

from guest_kernel_wireguard import PATIENCE, Joined
from lab import ping, wait_for

TEN_YEARS = 3652 * 86400


class ClockSteps(Joined, unittest.TestCase):
    def set_clock(self, seconds):
        """By so much against what it would be."""
        time.clock_settime(time.CLOCK_REALTIME, self.wall + time.monotonic() - self.began + seconds)

    def setUp(self):
        super().setUp()
        self.wall, self.began = time.time(), time.monotonic()
        self.addCleanup(self.set_clock, 0)

    def replace_provider(self):
        before = self.daemon.status("home")["providerProcess"]
        os.kill(before, signal.SIGKILL)
        wait_for("another provider", lambda: (s := self.daemon.status("home"))["status"] == "connected"
                 and s["providerProcess"] != before, PATIENCE)

    def test_ten_years_there_and_back_cost_nothing(self):
        self.join(4)
        session = self.daemon.status("home")["session"]
        watch = self.daemon.popen("watch", "home", "--json", log="watch")
        wait_for("watch to begin", lambda: '"kind":"ready"' in watch.log_path.read_text(), PATIENCE)
        generation = 1
        for step in (TEN_YEARS, -TEN_YEARS, 0):
            with self.subTest(step=step):
                told = len(watch.log_path.read_text().splitlines())
                self.set_clock(step)
                self.assertEqual(ping(self.a, "10.20.0.2", count=5, wait=10), 5)
                status = self.daemon.status("home")
                self.assertEqual((status["status"], status["session"]), ("connected", session))
                self.assertEqual(len(watch.log_path.read_text().splitlines()), told, "no transition was invented")
                # The peer refuses what looks older than the newest that it has seen.
                self.replace_provider()
                self.assertEqual(ping(self.a, "10.20.0.2", count=5, wait=10), 5)
                self.daemon.kill()
                self.daemon.start()
                status = self.daemon.status("home")
                self.assertEqual((status["status"], status["session"]), ("connected", session))
                # A configuration's generations are no times.
                self.daemon.ctl("set", "home", f"serverAddress={generation}.example")
                generation += 1
                self.assertEqual(self.daemon.json("show", "home")["generation"], generation)
                self.daemon.ctl("status", "home")
                self.daemon.ctl("history", "home")
                self.daemon.ctl("restore", "home", str(generation - 1))
                generation += 1
        self.daemon.ctl("down", "home")
        self.daemon.ctl("up", "home", "--timeout", str(PATIENCE), timeout=2 * PATIENCE)
        self.assertEqual(ping(self.a, "10.20.0.2", count=5, wait=10), 5)


if __name__ == "__main__":
    unittest.main()
