"""Runs the integration tests: `run.py [--slow | --guest] [NAME…]`, one line a test, and at the end `N passed, N failed`.

A name is a module, a class or a test ("test_status", "Status.test_idle_is_never_a_failure"). Nothing is skipped.
"""

import io
import os
import subprocess
import sys
import time
import traceback
import unittest
from contextlib import redirect_stdout
from pathlib import Path

HERE = Path(__file__).resolve().parent


def tests(suite):
    for entry in suite:
        if isinstance(entry, unittest.TestSuite):
            yield from tests(entry)
        else:
            yield entry


class Result(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.passed = 0
        self.failed = []

    def startTest(self, test):
        super().startTest(test)
        self.started = time.monotonic()
        self.buffered = io.StringIO()
        self.bad = False
        self.redirect = redirect_stdout(self.buffered)
        self.redirect.__enter__()

    def stopTest(self, test):
        super().stopTest(test)
        self.redirect.__exit__(None, None, None)
        took = time.monotonic() - self.started
        if self.bad:
            self.failed.append(str(test.id()))
            print(f"FAILED {test.id()} ({took:.1f} s)")
            print(self.buffered.getvalue())
        else:
            self.passed += 1
            print(f"ok     {test.id()} ({took:.1f} s)")
            for line in self.buffered.getvalue().splitlines():
                print("       " + line)
        sys.stdout.flush()

    def note(self, test, error):
        self.bad = True
        self.buffered.write("".join(traceback.format_exception(*error)))
        lab = getattr(test, "lab", None) or getattr(type(test), "lab", None)
        if lab and lab.folder.exists():
            lab.print_logs()

    def addError(self, test, error):
        if not hasattr(test, "_testMethodName"):  # setUpClass failed
            print(f"FAILED {test.id()}")
            traceback.print_exception(*error)
            self.failed.append(str(test.id()))
            return
        self.note(test, error)

    def addFailure(self, test, error):
        self.note(test, error)

    def addSkip(self, test, reason):
        # Nothing is skipped in silence: a missing tool or privilege is a failure.
        self.bad = True
        self.buffered.write(f"skipped: {reason}\n")

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.note(test, error)


def leftovers():
    """Whatever of the tests is still there: processes, namespaces, sockets, folders."""
    found = []
    prefix = f"tl{os.getpid() % 100000}"
    found += [line for line in subprocess.run(["ip", "netns"], capture_output=True, text=True).stdout.splitlines()
              if line.startswith(prefix)]
    found += [str(path) for path in Path("/etc/netns").glob(f"{prefix}*")]
    found += [str(path) for path in Path("/tmp").glob(f"tunneld-lab-{os.getpid()}-*")]
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                name = Path(os.readlink(entry / "exe")).name
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
            if name in ("tunneld", "tunnel-provider-wireguard", "wireguard-go") and parent == os.getpid():
                found.append(f"process {entry.name} ({name})")
    return found


def main():
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    slow = "--slow" in sys.argv
    if os.geteuid() != 0:
        sys.exit("The integration tests make network namespaces: run them as root (sudo).")
    sys.path.insert(0, str(HERE))
    pattern = "guest_*.py" if "--guest" in sys.argv else "slow_*.py" if slow else "test_*.py"
    suite = unittest.TestLoader().discover(str(HERE), pattern=pattern)
    selected = [test for test in tests(suite)
                if not arguments or any(name in test.id() for name in arguments)]
    result = Result()
    # Grouped by class, so that setUpClass and tearDownClass run once each.
    unittest.TestSuite(selected).run(result)
    left = leftovers()
    if left:
        print("FAILED leftovers: " + ", ".join(left))
        result.failed.append("leftovers")
    if result.failed:
        print("Failed tests:\n  " + "\n  ".join(result.failed))
    print(f"{result.passed} passed, {len(result.failed)} failed")
    sys.exit(1 if result.failed or not result.passed else 0)


if __name__ == "__main__":
    main()
