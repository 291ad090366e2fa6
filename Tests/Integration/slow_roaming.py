"""Roaming, the whole of it: a long time without a way, and 20 moves during 200 MB."""

import unittest

from lab import Lab
from test_roaming import Roaming, transfer_through_moves
from two_paths import TwoPaths


class SlowRoaming(unittest.TestCase):
    lost_and_back = Roaming.lost_and_back
    check_same_provider = Roaming.check_same_provider

    def setUp(self):
        self.lab = Lab("roam")
        self.addCleanup(self.lab.close)

    def test_a_cable_is_pulled_for_long(self):
        for seconds in (60, 200):
            with self.subTest(seconds=seconds):
                rig = TwoPaths(self.lab)
                self.before = rig.up()
                rig.leave("eth1")
                self.lost_and_back(rig, seconds, lambda: rig.r.ip("link", "set", "eth0", "down"),
                                   lambda: rig.r.ip("link", "set", "eth0", "up"))
                rig.daemon.ctl("down", "home")

    def test_a_transfer_goes_on_through_20_moves(self):
        transfer_through_moves(self, moves=20, size=200 << 20)


if __name__ == "__main__":
    unittest.main()
