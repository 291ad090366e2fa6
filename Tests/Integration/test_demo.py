"""The demo does what the README promises, and leaves nothing behind, whether it ends by itself or is ended."""

import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
import unittest
from pathlib import Path

from lab import ROOT, SLACK, WG_SOCKETS, Lab, run, tree, wait_for

ROWS = ["handshake", "round trip to 10.20.0.2", "round trip to fd20::2", "TCP laptop to gateway", "TCP gateway to laptop",
        "both providers together", "resident memory, laptop: tunneld", "resident memory, laptop: provider",
        "resident memory, gateway: tunneld", "resident memory, gateway: provider"]


def program_of(pid):
    try:
        return Path(os.readlink(f"/proc/{pid}/exe")).name
    except OSError:
        return None


def born(pid):
    """What tells a process from a later one with its number."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19]
    except OSError:
        return None


class Host:
    """What the demo must not change, without what other labs of this machine have at the moment."""

    @staticmethod
    def snapshot():
        links = {link["ifname"]: link for link in json.loads(run("ip", "-d", "-j", "link").stdout)}
        # The ends of another lab's veth, before they go into its namespaces.
        texts = sorted(f"{name} {link['flags']} {link['mtu']} {link.get('linkinfo')}" for name, link in links.items()
                       if not re.fullmatch(r"v\d+[ab]\d+", name))
        for family in ("-4", "-6"):
            texts += run("ip", family, "rule").stdout.splitlines()
            texts += re.sub(r"expires \S+", "", run("ip", family, "route", "show", "table", "all").stdout).splitlines()
        return texts


class Demo:
    """A demo (or another script that makes labs) that runs, and all that it was seen to make."""

    def __init__(self, lab, pipe=False, script=("Scripts/demo.py",), **environment):
        self.log = lab.folder / f"demo-{len(lab.processes)}.log"
        with open(self.log, "wb") as output:
            self.process = subprocess.Popen(
                ["/usr/bin/python3", "-B", *map(str, script)], cwd=ROOT, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if pipe else output, stderr=output, env=dict(os.environ, **environment))
        lab.processes.append(self.process)
        self.lab_folders = f"tunneld-lab-{self.process.pid}-"
        self.namespace_prefix = f"tl{self.process.pid % 100000}"
        self.processes, self.programs, self.interfaces = {}, set(), set()
        self.watcher = threading.Thread(target=self.watch)
        self.watcher.start()
        lab.cleanups.append(self.sweep)

    def watch(self):
        while self.process.poll() is None:
            for pid in tree(self.process.pid)[1:]:
                self.processes[pid] = born(pid)
                self.programs.add(program_of(pid))
            for name in self.namespaces():
                found = run("ip", "-n", name, "-j", "link", check=False).stdout
                self.interfaces.update(link["ifname"] for link in json.loads(found or "[]"))
            time.sleep(0.2)

    def namespaces(self):
        return [line.split()[0] for line in run("ip", "netns", "list").stdout.splitlines()
                if line.startswith(self.namespace_prefix)]

    def text(self):
        return self.log.read_text(errors="replace")

    def wait(self, timeout):
        result = self.process.wait(timeout=timeout)
        self.watcher.join()
        return result

    def left(self):
        """What is there of it now that it has ended."""
        found = self.namespaces()
        found += [str(path) for path in Path("/tmp").glob(f"{self.lab_folders}*")]
        found += [f"{pid} {program_of(pid)}" for pid, start in self.processes.items() if start and born(pid) == start]
        for entry in os.listdir("/proc"):
            try:
                words = Path(f"/proc/{entry}/cmdline").read_bytes() + Path(f"/proc/{entry}/environ").read_bytes()
            except OSError:
                continue
            if self.lab_folders.encode() in words:
                found.append(f"{entry} {program_of(entry)}")
        found += [name for name in self.interfaces if (WG_SOCKETS / f"{name}.sock").exists()]
        found += [link["ifname"] for link in json.loads(run("ip", "-j", "link").stdout)
                  if re.fullmatch(rf"v{self.process.pid % 100000}[ab]\d+", link["ifname"])]
        return found


    def sweep(self):
        """A demo that fails its test must not be in the way of the next one."""
        for name in self.namespaces():
            for pid in run("ip", "netns", "pids", name, check=False).stdout.split():
                os.kill(int(pid), signal.SIGKILL)
            run("ip", "netns", "del", name, check=False)
        for path in Path("/tmp").glob(f"{self.lab_folders}*"):
            shutil.rmtree(path, ignore_errors=True)
        for name in self.interfaces:
            (WG_SOCKETS / f"{name}.sock").unlink(missing_ok=True)


class TheDemo(unittest.TestCase):
    def setUp(self):
        self.lab = Lab("demo")
        self.addCleanup(self.lab.close)
        self.before = Host.snapshot()

    def nothing_is_left(self, demo):
        self.assertEqual(demo.left(), [])
        self.assertEqual(Host.snapshot(), self.before)

    def test_it_ends_with_ok_and_leaves_nothing(self):
        started = time.monotonic()
        demo = Demo(self.lab)
        code = demo.wait(60 * SLACK)
        took = time.monotonic() - started
        lines = demo.text().splitlines()
        self.assertEqual((code, lines[-1]), (0, "demo: ok"), demo.text())
        self.assertLess(took, 40 * SLACK)
        print(f"{took:.0f} s")
        table = lines[next(at for at, line in enumerate(lines) if line.startswith("== Measured")):]
        for row in ROWS:
            values = [re.split(r"\s{2,}", line.strip())[-1] for line in table if line.strip().startswith(row + "  ")]
            self.assertTrue(values, f"no row “{row}” in\n" + "\n".join(table))
            for value in values:
                self.assertRegex(value, r"^\d+(\.\d+)? (ms|Mbit/s|CPU s/GB|MiB)$", row)
                self.assertGreater(float(value.split()[0]), 0, row)
        # The watch has eyes: it saw what must be gone now.
        self.assertLessEqual({"tunneld", "tunnel-provider-wireguard"}, demo.programs)
        self.assertTrue(any(name.startswith("home-") for name in demo.interfaces), demo.interfaces)
        self.nothing_is_left(demo)

    def ended(self, at, how=signal.SIGTERM, again=None):
        demo = Demo(self.lab)
        wait_for(f"the demo to come to “{at}”", lambda: at in demo.text() or demo.process.poll() is not None, 40 * SLACK)
        self.assertTrue(demo.left(), "there is nothing that it could leave behind")
        length = len(demo.text())
        demo.process.send_signal(how)
        if again:
            wait_for("the end to begin", lambda: len(demo.text()) > length or demo.process.poll() is not None, 20 * SLACK)
            demo.process.send_signal(again)
        self.assertEqual(demo.wait(20 * SLACK), 1, demo.text())
        self.assertRegex(demo.text().splitlines()[-1], r"^demo: failed: \S")
        self.nothing_is_left(demo)

    def test_ended_while_it_makes_its_namespaces_it_leaves_nothing(self):
        self.ended("== Two hosts")

    def test_ended_under_traffic_it_leaves_nothing(self):
        self.ended("== iperf3")

    def test_interrupted_while_a_tunnel_comes_up_it_leaves_nothing(self):
        self.ended("== Both up", signal.SIGINT)

    def test_ended_again_while_it_takes_everything_back_it_leaves_nothing(self):
        self.ended("== Ping", signal.SIGHUP, again=signal.SIGTERM)

    def test_a_reader_that_goes_away_leaves_nothing(self):
        demo = Demo(self.lab, pipe=True)
        for line in demo.process.stdout:
            if line.startswith(b"== Both up"):
                break
        demo.process.stdout.close()
        self.assertNotEqual(demo.wait(40 * SLACK), 0)
        self.nothing_is_left(demo)

    def test_a_failure_is_the_last_line(self):
        demo = Demo(self.lab, TUNNELD_PROGRAMS=str(self.lab.folder))
        self.assertEqual(demo.wait(20 * SLACK), 1, demo.text())
        self.assertRegex(demo.text().splitlines()[-1], r"^demo: failed: \S")
        self.nothing_is_left(demo)


if __name__ == "__main__":
    unittest.main()
