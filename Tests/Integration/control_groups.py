"""Control groups of our own for the tests, in whichever of the two hierarchies the machine has (cgroups(7))."""

import os
import tempfile
from pathlib import Path

from lab import run, wait_for

_ROOT = Path("/sys/fs/cgroup")


class MemoryGroup:
    """A group whose processes get no more memory from the moment when that is asked for."""

    def __init__(self):
        self.unified = not (_ROOT / "memory").is_dir()
        self.above = _ROOT if self.unified else _ROOT / "memory"
        if self.unified and "memory" not in (self.above / "cgroup.subtree_control").read_text().split():
            (self.above / "cgroup.subtree_control").write_text("+memory")
        self.path = self.above / f"tl{os.getpid()}"
        self.path.mkdir()
        # In the unified hierarchy the root alone may hold processes beside groups.
        self.home = Path("/proc/self/cgroup").read_text().splitlines()[-1].partition("::")[2] if self.unified else "/"

    def close(self):
        wait_for("the group to be empty", lambda: removed(self.path), 10)

    def take(self, process):
        (self.path / "cgroup.procs").write_text(str(process))

    def give_back(self, process):
        """A process goes to where we are ourselves."""
        (self.above / self.home.lstrip("/") / "cgroup.procs").write_text(str(process))

    def processes(self):
        return [int(line) for line in (self.path / "cgroup.procs").read_text().split()]

    def limit(self):
        """No byte more than is in use. What is in use changes beside us: until the kernel takes it."""
        name, used = (("memory.max", "memory.current") if self.unified
                      else ("memory.limit_in_bytes", "memory.usage_in_bytes"))

        def taken():
            try:
                (self.path / name).write_text(str(int((self.path / used).read_text())))
            except OSError:
                return False
            return True
        wait_for("the limit to be taken", taken, 10)


class Freezer:
    """A group whose processes don't run, and don't die either, until they are thawed: the old hierarchy's."""

    def __init__(self):
        self.mounted = None
        above = _ROOT / "freezer"
        if not above.is_dir():
            above = self.mounted = Path(tempfile.mkdtemp(prefix="tunneld-freezer-"))
            run("mount", "-t", "cgroup", "-o", "freezer", "none", above)
        self.path = above / f"tl{os.getpid()}"
        self.path.mkdir()

    def freeze(self, process):
        (self.path / "cgroup.procs").write_text(str(process))
        (self.path / "freezer.state").write_text("FROZEN")

    def thaw(self):
        (self.path / "freezer.state").write_text("THAWED")

    def close(self):
        self.thaw()
        wait_for("the group to be empty", lambda: removed(self.path), 10)
        if self.mounted:
            run("umount", self.mounted)
            self.mounted.rmdir()


def removed(group):
    try:
        group.rmdir()
    except OSError:
        return False
    return True
