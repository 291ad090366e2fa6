"""The benchmark measures what it says, judges it right, and leaves nothing behind, whether it ends or is ended."""

import json
import shutil
import signal
import sys
import unittest

from lab import ROOT, SLACK, Lab, wait_for
from test_demo import Demo, Host

sys.path.insert(0, str(ROOT / "Scripts/benchmarking"))

from newest_wireguard_go import debian_mirrors  # noqa: E402
from result import result  # noqa: E402
from rows import Row, at_least, at_most, value_at_most  # noqa: E402
from table import table  # noqa: E402


class Judgement(unittest.TestCase):
    """Without a tunnel: what becomes of measured values."""

    def judged(self, bar, ours, theirs, cipher="intel-ipsec-mb"):
        row = Row("r", "a row", None, {"u": bar})
        return result(row, [[{"u": value} for value in side] for side in (ours, theirs)], cipher)

    def test_the_ratio_is_the_median_of_the_pairs_ratios(self):
        # Of the medians it would be 20 / 10.
        found = self.judged(at_least(2.0, 1.6), [30, 20, 10], [10, 5, 20])["units"][0]
        self.assertEqual(found["ratio"], {"median": 3.0, "min": 0.5, "max": 4.0})
        self.assertEqual((found["tunneld"]["median"], found["against"]["median"]), (20, 10))

    def test_a_bar_is_reached_at_its_value(self):
        for bar, ours, reached in ((at_least(2.0, 1.6), 20, True), (at_least(2.0, 1.6), 19, False),
                                   (at_most(0.4, 0.6), 4, True), (at_most(0.4, 0.6), 5, False),
                                   (value_at_most(24), 24, True), (value_at_most(24), 25, False)):
            self.assertEqual(self.judged(bar, [ours], [10])["units"][0]["reached"], reached, (bar, ours))

    def test_with_libcrypto_the_other_bar_counts(self):
        self.assertTrue(self.judged(at_least(2.0, 1.6), [16], [10], "libcrypto")["units"][0]["reached"])
        self.assertNotIn("bar", self.judged(at_most(0.38, None), [16], [10], "libcrypto")["units"][0])

    def test_nothing_is_divided_by_nothing(self):
        found = self.judged(value_at_most(0), [0], [0])["units"][0]
        self.assertEqual((found.get("ratio"), found["reached"]), (None, True))

    def test_the_table_shows_bars_and_failures(self):
        lines = table([self.judged(at_least(2.0, 1.6), [19], [10]),
                       {"measure": "another", "against": "wireguard-go", "failed": "why"}])
        self.assertRegex(lines[1], r"^a row +u +19\.00 +wireguard-go +10\.00 +1\.90 \(1\.90–1\.90\) +≥ 2 +NOT REACHED$")
        self.assertRegex(lines[2], r"^another +wireguard-go +FAILED$")

    def test_the_mirror_is_debians(self):
        lines = [("bookworm", "main", "Others", "https://o.example/"),
                 ("nodistro", "main", "$(ORIGIN)", "https://n.example/"),
                 ("bookworm", "contrib", "Debian", "http://c.example/debian/"),
                 ("bookworm-security", "main", "Debian", "http://s.example/security/"),
                 ("bookworm", "main", "Debian", "http://m.example/debian/"),
                 ("sid", "main", "$(ORIGIN)", "http://k.example/debian/")]
        self.assertEqual(debian_mirrors("\n".join("\t".join(line) for line in lines)),
                         ["http://m.example/debian/", "http://k.example/debian/"])


class TheBenchmark(unittest.TestCase):
    ROWS = ["tcp", "latency", "memory-1000", "handshakes", "first-answer"]

    def setUp(self):
        self.lab = Lab("mark")
        self.addCleanup(self.lab.close)
        self.before = Host.snapshot()

    def start(self, *arguments):
        # Nothing is fetched by a test.
        return Demo(self.lab, script=("Scripts/benchmarking", "--quick", "--pairs", 1, "--json", self.lab.folder / "made.json",
                                      *arguments), WIREGUARD_GO=shutil.which("wireguard-go"))

    def nothing_is_left(self, benchmark):
        self.assertEqual(benchmark.left(), [])
        self.assertEqual(Host.snapshot(), self.before)

    def test_it_measures_both_and_leaves_nothing(self):
        benchmark = self.start("--libcrypto", "--rows", *self.ROWS)
        code = benchmark.wait(90 * SLACK)
        self.assertEqual((code, benchmark.text().splitlines()[-1]), (0, "benchmark: ok"), benchmark.text())
        made = json.loads((self.lab.folder / "made.json").read_text())
        self.assertEqual([row["row"] for row in made["rows"]], self.ROWS)
        for row in made["rows"]:
            for unit in row["units"]:
                for side in ("tunneld", "against"):
                    self.assertGreater(unit[side]["median"], 0, (row["row"], unit["unit"], side))
        # Also where the machine has intel-ipsec-mb.
        self.assertRegex(made["contestants"]["tunneld"], "^libcrypto, ")
        self.assertLessEqual({"tunneld", "tunnel-provider-wireguard", "wireguard-go", "iperf3"}, benchmark.programs)
        self.nothing_is_left(benchmark)

    def test_ended_under_traffic_it_leaves_nothing_and_says_what_it_has(self):
        benchmark = self.start("--rows", "first-answer", "latency-loaded")
        wait_for("the first row",
                 lambda: "first answer" in benchmark.text() or benchmark.process.poll() is not None, 40 * SLACK)
        wait_for("traffic", lambda: "iperf3" in benchmark.programs or benchmark.process.poll() is not None, 40 * SLACK)
        self.assertTrue(benchmark.left(), "there is nothing that it could leave behind")
        benchmark.process.send_signal(signal.SIGINT)
        self.assertEqual(benchmark.wait(20 * SLACK), 1, benchmark.text())
        self.assertEqual(benchmark.text().splitlines()[-1], "benchmark: failed: interrupted")
        made = json.loads((self.lab.folder / "made.json").read_text())
        self.assertEqual(([row["row"] for row in made["rows"]], made["broken off"]), (["first-answer"], "interrupted"))
        self.nothing_is_left(benchmark)

    def test_a_row_that_does_not_exist_is_told_with_those_that_do(self):
        benchmark = self.start("--rows", "tpc")
        self.assertEqual(benchmark.wait(10 * SLACK), 2)
        self.assertRegex(benchmark.text(), "no such row: tpc. There are: idle, tcp, ")


if __name__ == "__main__":
    unittest.main()
