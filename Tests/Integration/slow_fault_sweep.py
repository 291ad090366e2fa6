"""tunneld fails, or is killed, at every single step of a start, a change and a stop; and so with systemd-resolved."""

import unittest

import test_fault_sweep


class EveryStep(test_fault_sweep.Sweep):
    def chosen(self, steps):
        return steps

    def share(self, steps, first, every):
        return steps


class WithResolved(test_fault_sweep.Sweep):
    resolved = True


if __name__ == "__main__":
    unittest.main()
