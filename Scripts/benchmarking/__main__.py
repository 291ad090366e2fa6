"""Measures tunneld's provider against wireguard-go on the same link, in turn. Called by Scripts/benchmark."""

import argparse
import datetime
import json
import os
import signal
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests/Integration"))

import machine  # noqa: E402
from bench import Bench  # noqa: E402
from lab import Lab  # noqa: E402
from newest_wireguard_go import FetchError, installed_wireguard_go, newest_wireguard_go  # noqa: E402
from result import result  # noqa: E402
from rows import OLD, PEER, ROWS  # noqa: E402
from side import ipsec_mb_files  # noqa: E402
from table import table  # noqa: E402

# The share of the processors that others may use.
QUIET = 0.1
ONLY_WITH = {"limit": "copying", "limit-4": "copying", "cores": "pin", "cores-both": "pin"}


def parse():
    parser = argparse.ArgumentParser(
        prog="Scripts/benchmark", description=__doc__.split(". ")[0] + ".",
        epilog="Another program than the newest wireguard-go of Debian: WIREGUARD_GO=/path, in the environment. Rows: "
        + ", ".join(row.name for row in ROWS))
    parser.add_argument("--pairs", type=int, help="rounds of each measure (default 5, with --quick 2)")
    parser.add_argument("--quick", action="store_true", help="short and few rounds, for a look; not for conclusions")
    parser.add_argument("--rows", nargs="+", metavar="NAME", help="only these rows")
    parser.add_argument("--libcrypto", action="store_true", help="tunneld without intel-ipsec-mb")
    parser.add_argument("--old", action="store_true", help="against the installed wireguard-go in all rows")
    parser.add_argument("--pin", action="store_true", help="also how throughput grows from one core to all")
    parser.add_argument("--copying", type=Path, metavar="FOLDER",
                        help="programs of a build whose cipher only copies: also the share of that limit")
    parser.add_argument("--json", type=Path, metavar="FILE", default=ROOT / ".build/benchmark.json",
                        help="where the result is written (default .build/benchmark.json)")
    options = parser.parse_args()
    unknown = set(options.rows or ()) - {row.name for row in ROWS}
    if unknown:
        parser.error(f"no such row: {', '.join(sorted(unknown))}. There are: {', '.join(row.name for row in ROWS)}")
    options.pairs = options.pairs or (2 if options.quick else 5)
    if options.copying and not (options.copying / "tunneld").exists():
        parser.error(f"there is no tunneld in {options.copying}")
    return options


class UsageError(Exception):
    """Options that don't fit each other, or this machine."""


def chosen(options):
    """The rows asked for, in that order; else all but those that need an option which isn't given."""
    if options.rows is None:
        return [row for row in ROWS if row.name not in ONLY_WITH or getattr(options, ONLY_WITH[row.name])]
    for name in options.rows:
        if name in ONLY_WITH and not getattr(options, ONLY_WITH[name]):
            raise UsageError(f"the row “{name}” needs --{ONLY_WITH[name]}")
    named = {row.name: row for row in ROWS}
    return [named[name] for name in options.rows]


def peers(options):
    """Programs and versions of the wireguard-go that are measured against, by contestant."""
    old = installed_wireguard_go()
    if old is None:
        raise UsageError("no wireguard-go is installed; install it: apt-get install wireguard-go")
    if os.environ.get("WIREGUARD_GO"):
        newest = Path(os.environ["WIREGUARD_GO"]), "of WIREGUARD_GO"
    else:
        newest = old if options.old else newest_wireguard_go(ROOT / ".build/wireguard-go")
    return {PEER: newest, OLD: old}


def measure_all(bench, rows, results):
    """Fills `results`, row by row, so that what was measured is there even where it is broken off."""
    for row in rows:
        entry = {"row": row.name, "measure": row.title, "against": row.between[1]}
        # Nothing of ours is at work now.
        others = machine.busy(0.5)
        try:
            values = bench.measure(row)
            entry = result(row, values, bench.side(row.between[0]).cipher())
        except (AssertionError, OSError, KeyError, ValueError, subprocess.SubprocessError) as error:
            print(f"{row.title}: failed: {error}", flush=True)
            entry["failed"] = str(error)
        results.append({**entry, "used by others before": others})


class Ended(Exception):
    """A signal ended the benchmark."""


ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def stay():
    """What is taken back now must be taken back whole, however often somebody presses Ctrl-C."""
    for each in ENDING:
        signal.signal(each, signal.SIG_IGN)


def end(number, _):
    stay()
    raise Ended("interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}")


def main():
    options = parse()
    try:
        rows, programs = chosen(options), peers(options)
    except (UsageError, FetchError) as error:
        return f"benchmark: failed: {error}"
    if options.libcrypto and not ipsec_mb_files():
        print("This machine has no intel-ipsec-mb: --libcrypto changes nothing.")
    for each in ENDING:
        signal.signal(each, end)
    results, details, failure = [], {}, None
    with Lab("bench") as lab:
        bench = Bench(lab, options, {name: program for name, (program, _) in programs.items()})
        try:
            measure_all(bench, rows, results)
            stay()
        except Ended as error:
            failure = str(error)
        details = {name: side.detail for name, side in bench.sides.items() if side.detail}
    report({
        "made": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "machine": machine.facts(),
        "pairs": options.pairs, "quick": options.quick, "libcrypto alone": options.libcrypto,
        "versions": {name: text for name, (_, text) in programs.items()}, "broken off": failure,
        "contestants": details, "rows": results}, options)
    if not failure and (failed := [entry["row"] for entry in results if "failed" in entry]):
        failure = f"not measured: {', '.join(failed)} (see above)"
    return f"benchmark: failed: {failure}" if failure else None


def report(document, options):
    print()
    for line in table(document["rows"]):
        print(line)
    print()
    for name, text in {**document["contestants"], **document["versions"]}.items():
        print(f"{name}: {text}")
    facts = document["machine"]
    print(f"{facts['processor']}, {facts['cores']} cores, Linux {facts['kernel']}; {options.pairs} pair"
          + ("s" if options.pairs > 1 else "") + ("; --quick: not for conclusions" if options.quick else ""))
    others = [entry["used by others before"] for entry in document["rows"]]
    if others and statistics.median(others) > QUIET:
        print(f"Others used {statistics.median(others):.0%} of the machine meanwhile: not for conclusions.")
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(document, indent=2) + "\n")
    print(f"Written to {options.json}")


ended = main()
print(ended or "benchmark: ok")
sys.exit(1 if ended else 0)
