"""The block through a hundred crashes of each process and fifty switches of profiles."""

import unittest

import test_block


class Crashes(test_block.BlockCase):
    rounds = 100
    handles = test_block.Leaks.handles
    test_tunneld_killed = test_block.Leaks.test_tunneld_killed_again_and_again
    test_the_provider_killed = test_block.Leaks.test_the_provider_killed_again_and_again


class Switches(test_block.BlockCase):
    rounds = 50
    test_profiles_switched = test_block.Switching.test_profiles_switched_under_probes


if __name__ == "__main__":
    unittest.main()
