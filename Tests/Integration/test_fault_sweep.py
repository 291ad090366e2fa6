"""tunneld fails, or is killed, at each kind of step that a start, a change and a stop have: nothing stays that wasn't there.

What is compared: links, addresses, address labels, rules and routes of both families, the nft ruleset, the resolver, the
sysctls of all links, `wg` sockets and the run-time files. `slow_fault_sweep.py` takes every single step.
"""

import re
import unittest

from fault_rig import DEBUG_PROGRAMS, DOWN, UP, FaultRig
from lab import PROGRAMS, ping

CHANGE = ["set", "home", 'provider.configuration.addresses=["10.20.0.3/24","fd20::1/64"]',
          'provider.configuration.dns.servers=["10.20.0.2","10.20.0.4"]', "excludeLocalNetworks=false"]
BACK = ["set", "home", 'provider.configuration.addresses=["10.20.0.1/24","fd20::1/64"]',
        'provider.configuration.dns.servers=["10.20.0.2"]', "excludeLocalNetworks=true"]


class Sweep(FaultRig):
    def chosen(self, steps):
        """The steps that are tried, of all that there are."""
        return self.one_of_each(steps)

    def share(self, steps, first, every):
        """A part of them, for ways of taking back that have much in common: all parts together are all steps."""
        return steps[first::every]

    def steps_to_try(self, *command):
        steps = self.chosen(self.steps(*command))
        print(f"{command[0]}: {len(steps)} steps")
        return steps

    def status(self):
        return self.daemon.status("home")["status"]

    def each(self, steps, body, mended=lambda: None):
        """Tries each; all that went wrong is told at the end, and the next begins from a clean slate, `mended`."""
        wrong = []
        for step in steps:
            try:
                body(step)
            except AssertionError as error:
                wrong.append(f"{self.kind(step)} ({step.rsplit('#')[-1]}): {error}")
                self.start_over()
                mended()
        if wrong:
            self.fail(f"{len(wrong)} of {len(steps)}:\n" + "\n".join(wrong))

    def start_over(self):
        self.disarm()
        if self.daemon.process.poll() is not None:
            self.daemon.start()
        self.daemon.ctl(*DOWN, check=False)
        self.daemon.kill()
        self.daemon.ctl("repair", "--force", check=False)
        self.daemon.start()
        self.before = self.shape()

    def is_up(self):
        self.daemon.ctl(*UP)
        self.assertEqual(ping(self.a, "10.20.0.2", count=1), 1)

    # MARK: A start

    def test_a_start_that_fails_at_a_step(self):
        def fails(step):
            self.arm(f"fail {step}")
            up = self.daemon.ctl(*UP, check=False)
            self.disarm()
            self.assertIn(step, self.passed())
            if up.returncode == 0:
                # It does without that.
                self.assertEqual(self.status(), "connected")
                return self.ends(step)
            self.assertEqual(up.returncode, 1, up.stdout + up.stderr)
            self.assertEqual(self.status(), "disconnected")
            # The block stays until somebody says otherwise.
            self.check_equal("after the start that failed", ignoring=self.BLOCK)
            if self.daemon.status("home")["block"]:
                self.assertIn("Traffic stays blocked", up.stderr)
                self.assertIn("tunnelctl down home", up.stderr)
            self.ends(step)
        self.each([step for step in self.steps_of_a_start() if step.startswith("effect")], fails)
        self.is_up()

    def steps_of_a_start(self):
        steps = self.steps_to_try(*UP)
        self.daemon.ctl(*DOWN)
        self.check_equal("after a start and a stop")
        return steps

    def ends(self, step):
        self.daemon.ctl(*DOWN)
        self.check_equal("after down")

    def test_a_crash_at_a_step_of_a_start_and_the_next_tunneld(self):
        def crashes(step):
            self.assertTrue(self.killed_at(step, *UP), "it wasn't reached")
            self.daemon.start()
            self.is_up()
            self.ends(step)
        self.each(self.share(self.steps_of_a_start(), 0, 2), crashes)

    def test_a_crash_at_a_step_of_a_start_and_a_repair_by_the_next_tunneld(self):
        def crashes(step):
            self.assertTrue(self.killed_at(step, *UP), "it wasn't reached")
            self.daemon.start()
            if self.status() != "disconnected":
                # What runs is not to be repaired.
                self.daemon.ctl("repair")
                self.assertNotEqual(self.status(), "disconnected")
                return self.ends(step)
            self.daemon.ctl("repair")
            self.check_equal("after repair")
        self.each(self.share(self.steps_of_a_start(), 1, 4), crashes)

    def test_a_crash_at_a_step_of_a_start_and_a_repair_without_tunneld(self):
        def crashes(step):
            self.assertTrue(self.killed_at(step, *UP), "it wasn't reached")
            self.daemon.ctl("repair", "--force")
            self.check_equal("after repair", ignoring=self.FILES)
            self.daemon.start()
            # The endpoints that the session remembered are of no session by now.
            self.check_equal("with the next tunneld", ignoring=("file journal/",))
        self.each(self.share(self.steps_of_a_start(), 3, 4), crashes)

    # MARK: A change

    def test_a_change_that_fails_at_a_step_and_a_crash_at_it(self):
        self.is_up()
        old = self.shape()
        self.change(CHANGE)
        new = self.shape()
        self.assertNotEqual(old, new)
        steps = [step for step in self.chosen(self.change(BACK)) if self.network_step(step)]
        self.assertEqual(self.differences(old), [])
        print(f"change: {len(steps)} steps")

        def fails(step):
            self.arm(f"fail {step}")
            self.daemon.ctl(*CHANGE, check=False)
            reached = step in self.passed()
            self.disarm()
            self.assertEqual(self.status(), "connected")
            self.daemon.ctl(*BACK)
            self.check_equal("back again" + ("" if reached else " (not reached)"), old)

        def crashes(step):
            self.killed_at(step, *CHANGE)
            if self.daemon.process.poll() is not None:
                self.daemon.start()
            self.daemon.ctl(*BACK)
            self.check_equal("back again", old)

        def each(step):
            for body in (fails, crashes):
                body(step)

        def is_back():
            self.daemon.ctl(*BACK)
            self.is_up()
        self.each(steps, each, is_back)
        self.ends(None)

    def network_step(self, step):
        return not re.search(r"configurations|history|pending|keychain|removed|timestamps|endpoints", step)

    def change(self, command):
        """Changes the running tunnel; the steps, once all of it is in force."""
        steps = self.steps(*command)
        return steps

    # MARK: A stop

    def test_a_crash_at_a_step_of_a_stop(self):
        self.is_up()
        steps = self.steps_to_try(*DOWN)

        def crashes(step):
            self.is_up()
            self.assertTrue(self.killed_at(step, *DOWN), "it wasn't reached")
            self.daemon.start()
            if self.status() != "disconnected":
                # It wasn't written down yet that it is to end.
                self.assertIn(step, steps[:2])
                self.daemon.ctl(*DOWN)
            self.check_equal("with the next tunneld")
        self.each(steps, crashes)

    def test_a_stop_that_fails_at_a_step_and_a_repair(self):
        self.is_up()
        steps = [step for step in self.steps_to_try(*DOWN) if step.startswith("effect")]

        def fails(step):
            self.is_up()
            self.arm(f"fail {step}")
            self.daemon.ctl(*DOWN, check=False)
            self.disarm()
            self.assertEqual(self.status(), "disconnected")
            self.daemon.ctl("repair")
            # A file that can't be removed stays; by none of them anything comes back.
            self.check_equal("after repair", ignoring=(*self.FILES, "socket "))
            self.daemon.kill()
            self.daemon.start()
            self.check_equal("with the next tunneld", ignoring=(*self.FILES, "socket "))
        self.each(steps, fails)


class Production(FaultRig):
    def test_a_release_build_has_none_of_it(self):
        """Nobody makes an installed tunneld fail: what tells a debug build to isn't even read."""
        self.daemon.kill()
        self.daemon.programs = PROGRAMS
        self.daemon.start()
        self.arm("kill moment write the session's journal#1")
        self.daemon.ctl(*UP)
        self.assertEqual(self.passed(), [])
        for name in ("tunneld", "tunnelctl", "tunnel-provider-wireguard", "tunnel-block"):
            self.assertNotIn(b"TUNNELD_FAULTS", (PROGRAMS / name).read_bytes())
        self.assertIn(b"TUNNELD_FAULTS", (DEBUG_PROGRAMS / "tunneld").read_bytes())


if __name__ == "__main__":
    unittest.main()
