"""The block through a hundred crashes of each process, fifty switches of profiles and two minutes without a path."""

import unittest

import test_block
import test_block_ends


class Crashes(test_block.BlockCase):
    rounds = 100
    handles = test_block.Leaks.handles
    test_tunneld_killed = test_block.Leaks.test_tunneld_killed_again_and_again
    test_the_provider_killed = test_block.Leaks.test_the_provider_killed_again_and_again


class Switches(test_block.BlockCase):
    rounds = 50
    test_profiles_switched = test_block.Switching.test_profiles_switched_under_probes


class Wakes(test_block_ends.WithLogind):
    """C076, at its full length."""
    away = 120
    test_two_minutes_without_a_path = test_block_ends.Sleeps.test_it_stays_through_a_sleep_and_a_wake_without_a_path


if __name__ == "__main__":
    unittest.main()
