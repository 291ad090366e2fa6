"""The block where a configuration is lost, or a switch or a disabling is cut short, while no tunneld runs."""

import shutil
import time
import unittest

from lab import SLACK, ping, wait_for
from test_block import BlockCase


class Lost(BlockCase):
    def identifier(self, name="home"):
        return self.daemon.status(name)["identifier"]

    def outside(self):
        return ping(self.a, "10.99.0.2", count=1, wait=1)

    def lose(self, damage, *settings):
        """Up, then damaged while no tunneld runs."""
        if settings:
            self.daemon.ctl("set", "home", *settings)
        self.daemon.ctl("up", "home")
        identifier = self.identifier()
        tap = self.tap()
        with self.probes(tap) as probes:
            self.daemon.kill()
            damage(self.daemon.state / f"configurations/{identifier}.json")
            self.daemon.start()
            self.assertTrue(self.is_blocked())
            self.assertEqual(self.outside(), 0)
            time.sleep(0.5)
        self.check_tight(tap, probes, least=20)
        return identifier

    def test_a_file_that_is_damaged_removed_or_emptied_lifts_nothing(self):
        for damage in (lambda path: path.write_text("{bad"), lambda path: path.unlink(), lambda path: path.write_text(""),
                       lambda path: shutil.move(path.parent, path.parent.with_name("elsewhere"))):
            identifier = self.lose(damage)
            text = self.daemon.ctl("down", "home", check=False).stderr
            self.assertIn("lost", text)
            self.assertIn("lifts the block", text)
            generation = self.daemon.json("history", identifier)["generations"][-1]["generation"]
            self.daemon.ctl("restore", identifier, generation)
            self.assertEqual(self.outside(), 0, "nobody has stopped it yet")
            self.daemon.ctl("down", "home")
            self.assertEqual((self.is_blocked(), self.outside()), (False, 1))

    def test_a_persistent_one_stays_through_a_repair_until_it_is_given_up(self):
        identifier = self.lose(lambda path: path.write_text(""), "persistentBlock=true")
        self.assertTrue((self.daemon.state / "block.nft").exists())
        self.daemon.ctl("repair")
        self.assertEqual((self.is_blocked(), self.outside()), (True, 0))
        self.daemon.kill()
        self.daemon.start()
        self.assertEqual((self.is_blocked(), self.outside()), (True, 0))
        self.daemon.ctl("remove", identifier)
        wait_for("the block to be lifted", lambda: not self.is_blocked(), SLACK)
        self.assertEqual(self.outside(), 1)
        self.assertFalse((self.daemon.state / "block.nft").exists())

    def test_one_that_is_lost_while_it_is_down_is_blocked_for_until_it_is_given_up(self):
        self.daemon.ctl("set", "home", "persistentBlock=true")
        wait_for("the block", self.is_blocked, SLACK)
        identifier = self.identifier()
        (self.daemon.state / f"configurations/{identifier}.json").unlink()
        wait_for("the loss to be noticed", lambda: not self.daemon.json("list"), SLACK)
        time.sleep(0.3)
        self.assertEqual((self.is_blocked(), self.outside()), (True, 0))
        self.daemon.ctl("remove", identifier)
        wait_for("the block to be lifted", lambda: not self.is_blocked(), SLACK)


class CutShort(BlockCase):
    def setUp(self):
        super().setUp()
        self.configure("work", 51821, 21)

    def cut(self, moment, *command):
        """tunneld is killed so long after a command was given, and another started."""
        process = self.daemon.popen(*command, log="cut")
        time.sleep(moment)
        self.daemon.kill()
        process.wait(timeout=30)
        self.daemon.start()

    def test_a_switch_keeps_the_block(self):
        for moment in (0.0, 0.02, 0.03, 0.035, 0.04, 0.045, 0.05, 0.06, 0.08, 0.12):
            self.daemon.ctl("enable", "home")
            self.daemon.ctl("up", "home")
            self.cut(moment, "enable", "work")
            self.assertTrue(self.is_blocked(), moment)
            states = {name: self.daemon.status(name) for name in ("home", "work")}
            self.assertEqual([state["enabled"] for state in states.values()].count(True), 1, (moment, states))
            wait_for("the disabled one to be down", lambda: all(
                s["enabled"] or s["status"] == "disconnected" for s in map(self.daemon.status, states)), 2 * SLACK)
            self.assertTrue(self.is_blocked(), moment)
            if self.daemon.status("home")["status"] == "disconnected":
                self.assertEqual(ping(self.a, "10.99.0.2", count=1, wait=1), 0, moment)
            self.daemon.ctl("down", "work")
            self.daemon.ctl("down", "home")
            self.assertFalse(self.is_blocked(), moment)

    def test_a_disabled_one_does_not_run_on(self):
        for moment in (0.02, 0.03, 0.04, 0.05, 0.06, 0.08):
            self.daemon.ctl("enable", "home")
            self.daemon.ctl("up", "home")
            self.cut(moment, "disable", "home")
            state = self.daemon.status("home")
            self.assertEqual(state["enabled"], state["status"] == "connected", (moment, state))
            self.assertEqual(state["enabled"], self.is_blocked(), moment)
            self.daemon.ctl("down", "home")


if __name__ == "__main__":
    unittest.main()
