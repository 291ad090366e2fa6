"""The kernel's own WireGuard as the peer, in a virtual machine with Debian's kernel."""

import os
import re
import subprocess
import unittest

from lab import ROOT


class VirtualMachine(unittest.TestCase):
    def test_the_suite_of_the_guest_passes(self):
        result = subprocess.run(
            [str(ROOT / "Tests/VirtualMachine/run"), "/usr/bin/python3", "-B", "Tests/Integration/run.py", "--guest"],
            cwd=ROOT, capture_output=True, text=True, timeout=1500, env=dict(os.environ, LIMIT="1400"))
        print(result.stdout[-8000:])
        self.assertEqual(result.returncode, 0, result.stderr[-2000:])
        self.assertRegex(result.stdout, r"(?m)^[1-9]\d* passed, 0 failed$")


if __name__ == "__main__":
    unittest.main()
