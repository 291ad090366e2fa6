"""What others delete is back each of 50 times (C042)."""

import unittest

from test_meddlers import Meddlers


class FiftyRounds(unittest.TestCase):
    ROUNDS = 50
    setUp = Meddlers.setUp
    network = Meddlers.network
    meddle = Meddlers.meddle
    is_back = Meddlers.is_back
    lines = Meddlers.lines
    test_what_is_deleted_is_back_each_time = Meddlers.test_what_is_deleted_is_back_each_time


if __name__ == "__main__":
    unittest.main()
