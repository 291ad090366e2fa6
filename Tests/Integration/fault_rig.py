"""A tunnel with everything that one can have, on a tunneld that fails or dies at whatever step it is told to.

The steps come from the program itself: a debug build says which ones it passes (`Sources/LinuxSystem/FaultPoint.swift`), so
one that is new is tried without anybody's having to remember it.
"""

import itertools
import os
import re
import unittest
from pathlib import Path

from box import Box
from lab import ROOT, SLACK, WG_SOCKETS, Lab, WireGuardGo, conf, genkey, ping, pubkey, wait_for

DEBUG_PROGRAMS = Path(os.environ.get("TUNNELD_DEBUG_PROGRAMS", ROOT / ".build/debug"))
UP = ["up", "home", "--timeout", "20"]
DOWN = ["down", "home"]


class FaultRig(unittest.TestCase):
    resolved = False

    def setUp(self):
        self.lab = Lab("fp")
        self.addCleanup(self.lab.close)
        self.a, self.b = Box(self.lab, "a"), self.lab.namespace("b")
        self.lab.veth(self.a, self.b)
        self.a.ip("route", "add", "default", "via", "10.99.0.2")
        self.a.ip("-6", "route", "add", "default", "via", "fd99::2")
        # So that a sysctl of the tunnel's link is to be written.
        self.a.sysctl("net.ipv6.conf.default.disable_ipv6", 1)
        if self.resolved:
            self.a.start_bus()
            self.a.start_resolved()
            self.a.resolvectl("dns", "eth0", "10.99.0.2")
        self.faults = self.lab.folder / "faults"
        self.faults.mkdir()
        self.serial = itertools.count(1)
        self.assertTrue((DEBUG_PROGRAMS / "tunneld").exists(), "There is no debug build: swift build")
        self.daemon = self.lab.tunneld(self.a, programs=DEBUG_PROGRAMS, start=False)
        self.daemon.environment["TUNNELD_FAULTS"] = str(self.faults)
        if self.resolved:
            self.daemon.environment["DBUS_SYSTEM_BUS_ADDRESS"] = self.a.environment["DBUS_SYSTEM_BUS_ADDRESS"]
        self.daemon.start()
        private = genkey()
        self.peer = WireGuardGo(self.lab, self.b)
        self.peer.peer(pubkey(private), "10.20.0.1/32,10.20.0.3/32,fd20::1/128")
        self.peer.address("10.20.0.2/24", "fd20::2/64")
        self.daemon.import_text("home", conf(private, ["10.20.0.1/24", "fd20::1/64"], [
            {"PublicKey": self.peer.public, "AllowedIPs": "0.0.0.0/0, ::/0", "Endpoint": "10.99.0.2:51820"}],
            DNS="10.20.0.2, corp.test"))
        self.daemon.ctl("set", "home", "includeAllNetworks=true", "excludeLocalNetworks=true")
        self.settle()
        self.before = self.shape()

    # MARK: What there is

    def shape(self):
        """Everything on the machine that tunneld touches, a line each."""
        sysctls = self.a.exec("sysctl", "-a", "-r", r"^net\.ipv[46]\.(conf|neigh)\.").stdout
        found = self.a.snapshot()
        found += self.a.exec("ip", "addrlabel").stdout.splitlines()
        found += [f"nft {line}" for line in self.a.exec("nft", "list", "ruleset").stdout.splitlines()]
        found += [f"resolver {line}" for line in self.a.shape().splitlines()]
        if self.resolved:
            # It learns of a link's end from the kernel, as we do.
            found += [f"resolved {line}" for question in ("dns", "domain", "default-route", "dnsovertls", "dnssec")
                      for line in self.a.resolvectl(question).splitlines()]
        # What the tunnel's own link has goes with it, and is nobody else's.
        found += [f"sysctl {line}" for line in sysctls.splitlines() if f".{self.interface}." not in line]
        found += [f"socket {path.name}" for path in WG_SOCKETS.glob(f"{self.interface}.sock")]
        # A write that was cut short stays under its temporary name until the file is written the next time.
        found += [f"file {path.relative_to(self.daemon.runtime)}" for path in sorted(self.daemon.runtime.rglob("*"))
                  if path.name not in ("control", "control.lock", "epoch", "lock") and path.suffix != ".new"]
        return found

    # What a block is seen by that was left in force, and what only the next tunneld clears away.
    BLOCK, FILES = ("nft ", "file block.json"), ("file ",)

    def differences(self, wanted=None, ignoring=()):
        wanted, found = ([line for line in lines if not line.startswith(ignoring)]
                         for lines in (self.before if wanted is None else wanted, self.shape()))
        return [f"+ {line}" for line in found if line not in wanted] + [f"- {line}" for line in wanted if line not in found]

    def check_equal(self, what, wanted=None, ignoring=()):
        """Equal to what it was; what others (the kernel, resolved) finish a moment later may take a moment."""
        found = []

        def is_equal():
            found[:] = self.differences(wanted, ignoring)
            return not found

        try:
            wait_for("it to be as before", is_equal, SLACK)
        except AssertionError:
            self.fail(f"{what}:\n" + "\n".join(found[:20]))

    def settle(self):
        """Has everything happened once that stays for good, such as the time stamp and the socket's folder."""
        self.daemon.ctl(*UP)
        self.interface = self.daemon.status("home")["interface"]
        self.assertEqual(ping(self.a, "10.20.0.2", count=1), 1)
        self.daemon.ctl(*DOWN)

    # MARK: Steps

    def arm(self, order="watch"):
        (self.faults / "steps").unlink(missing_ok=True)
        path = self.faults / "fault"
        path.with_suffix(".new").write_text(f"{next(self.serial)} {order}")
        path.with_suffix(".new").rename(path)

    def disarm(self):
        (self.faults / "fault").unlink(missing_ok=True)

    def passed(self):
        path = self.faults / "steps"
        return path.read_text().splitlines() if path.exists() else []

    def steps(self, *command):
        """The steps of a command that works."""
        self.arm()
        self.daemon.ctl(*command)
        steps = self.passed()
        self.disarm()
        return steps

    @staticmethod
    def kind(step):
        """What kind of step it is, whatever file or number it has."""
        return re.sub(r"/\S*/(?=[^/ ]+$)", "", re.sub(r"[0-9a-f-]{36}", "ID", step.split("#")[0]))

    def one_of_each(self, steps):
        """The last of each kind: most has been done by then."""
        return list({self.kind(step): step for step in steps}.values())

    def killed_at(self, step, *command):
        """tunneld dies at a step of a command; whether the step was reached."""
        self.arm(f"kill {step}")
        # It would wait for the next tunneld.
        client = self.daemon.popen(*command)
        wait_for("tunneld to die, or the command to end", lambda: self.daemon.process.poll() is not None
                 or client.poll() is not None, 30 * SLACK)
        client.kill()
        client.wait()
        self.disarm()
        if step not in self.passed():
            return False
        self.daemon.process.wait(timeout=10)
        return True
