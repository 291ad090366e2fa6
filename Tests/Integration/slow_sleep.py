"""A wake with two minutes without a way to the peer, and what a lock costs while nothing happens."""

import os
import time
import unittest

import test_sleep
from lab import context_switches


class SlowSleep(unittest.TestCase):
    setUp = test_sleep.Sleep.setUp
    start_tunneld, tunnel = test_sleep.Sleep.start_tunneld, test_sleep.Sleep.tunnel
    out_of_reach = test_sleep.Sleep.out_of_reach

    def test_two_minutes_without_a_way_after_the_wake(self):
        self.tunnel("home")
        self.out_of_reach(120, attempts=7)

    def test_a_lock_that_is_held_wakes_nobody(self):
        self.tunnel("home")
        self.logind.wait_for_locks(1)
        time.sleep(40)
        tasks = sorted(os.listdir(f"/proc/{self.daemon.pid}/task"))
        before = context_switches(self.daemon.pid)
        time.sleep(60)
        self.assertEqual(sorted(os.listdir(f"/proc/{self.daemon.pid}/task")), tasks)
        self.assertLessEqual(context_switches(self.daemon.pid) - before, 5)


if __name__ == "__main__":
    unittest.main()
