"""Three tunnels at once in all 36 orders of starting and stopping them."""

import unittest

import test_several_tunnels


class EveryOrder(test_several_tunnels.Several):
    def orders(self):
        return test_several_tunnels.PAIRS


class EveryOrderOfFullAndSplit(test_several_tunnels.FullAndSplit):
    def orders(self):
        return test_several_tunnels.PAIRS


if __name__ == "__main__":
    unittest.main()
