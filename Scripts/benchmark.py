"""tunneld's provider against wireguard-go on the same link, in turn. Called by Scripts/benchmark."""

import argparse
import base64
import json
import os
import re
import socket
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "Tests/Integration"))
from lab import WG_SOCKETS, Lab, WireGuardGo, conf, context_switches, genkey, pubkey, resident_kib, wait_for  # noqa: E402

SECONDS = 3
IDLE_SECONDS = 60


class Pair:
    """Two ends of one tunnel on a link of their own, and the processes that carry its packets."""

    def rest(self):
        """Lets the last keepalives and worker threads come to an end."""
        time.sleep(30)

    def throughput(self, reverse):
        server = self.b.popen("iperf3", "-s", "-1")
        wait_for("iperf3", lambda: ":5201" in self.b.exec("ss", "-ltn").stdout, 10)
        before = self.processor_seconds()
        text = self.a.exec("iperf3", "-J", "-c", "10.20.0.2", "-t", SECONDS, *(["-R"] if reverse else [])).stdout
        spent = self.processor_seconds() - before
        server.wait(timeout=10)
        received = json.loads(text)["end"]["sum_received"]
        return {"Mbit/s": received["bits_per_second"] / 1e6, "CPU s/GB": spent / (received["bytes"] / 1e9)}

    def handshake(self):
        """Milliseconds from setting the peer up to the first answer through the tunnel: a handshake and a round trip."""
        def udp(address):
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.settimeout(20)
            s.bind((address, 0))
            return s
        here, there = self.a.inside(lambda: udp("10.20.0.1")), self.b.inside(lambda: udp("10.20.0.2"))
        key = base64.b64decode(self.peer).hex()
        with here, there:
            self.set_device(f"public_key={key}\nremove=true\n")
            start = time.monotonic()
            self.set_device(f"public_key={key}\nendpoint=10.99.0.2:51820\nallowed_ip=10.20.0.2/32\n")
            here.sendto(b"?", there.getsockname())
            there.sendto(b"!", there.recvfrom(1)[1])
            here.recv(1)
            return (time.monotonic() - start) * 1000

    def set_device(self, lines):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(WG_SOCKETS / f"{self.interface}.sock"))
            connection.sendall(f"set=1\n{lines}\n".encode())
            answer = connection.recv(64)
            assert answer.startswith(b"errno=0\n"), answer

    def round_trip(self):
        text = self.a.exec("ping", "-n", "-q", "-c", "300", "-i", "0.005", "10.20.0.2").stdout
        return float(re.search(r"= [\d.]+/([\d.]+)/", text).group(1)) * 1000

    def processor_seconds(self):
        total = 0
        for pid in self.carriers:
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            total += int(fields[11]) + int(fields[12])
        return total / os.sysconf("SC_CLK_TCK")


class Ours(Pair):
    def __init__(self, lab):
        self.a, self.b = lab.pair()
        keys = genkey(), genkey()
        self.daemons = lab.tunneld(self.a, "a", level="warning"), lab.tunneld(self.b, "b", level="warning")
        self.daemons[1].import_text("b", conf(keys[1], ["10.20.0.2/24"], [
            {"PublicKey": pubkey(keys[0]), "AllowedIPs": "10.20.0.1/32"}], port=51820))
        self.daemons[0].import_text("a", conf(keys[0], ["10.20.0.1/24"], [
            {"PublicKey": pubkey(keys[1]), "AllowedIPs": "10.20.0.2/32", "Endpoint": "10.99.0.2:51820"}]))
        self.daemons[1].ctl("up", "b")
        self.daemons[0].ctl("up", "a")
        self.interface, self.peer = self.daemons[0].status("a")["interface"], pubkey(keys[1])
        self.carriers = [self.daemons[0].status("a")["providerProcess"], self.daemons[1].status("b")["providerProcess"]]


class Theirs(Pair):
    def __init__(self, lab):
        self.a, self.b = lab.pair()
        ends = WireGuardGo(lab, self.a), WireGuardGo(lab, self.b)
        ends[0].peer(ends[1].public, "10.20.0.2/32", endpoint="10.99.0.2:51820")
        ends[1].peer(ends[0].public, "10.20.0.1/32")
        ends[0].address("10.20.0.1/24")
        ends[1].address("10.20.0.2/24")
        self.interface, self.peer = ends[0].name, ends[1].public
        self.carriers = [end.process.pid for end in ends]
        wait_for("wireguard-go", lambda: "1 received" in self.a.exec(
            "ping", "-n", "-c", "1", "-W", "2", "10.20.0.2", check=False).stdout, 20)


def main():
    parser = argparse.ArgumentParser(prog="Scripts/benchmark")
    parser.add_argument("--pairs", type=int, default=5, help="rounds of each measure (default 5)")
    parser.add_argument("--json", metavar="FILE", help="write the result there as well")
    options = parser.parse_args()
    rows = []

    def row(name, unit, ours, theirs, better):
        ours, theirs = statistics.median(ours), statistics.median(theirs)
        rows.append({"measure": name, "unit": unit, "tunneld": ours, "wireguard-go": theirs,
                     "ratio": ours / theirs if theirs else None, "better": better})

    with Lab("bench") as lab:
        ends = Ours(lab), Theirs(lab)
        print("idle: resting, then a minute of counting …", flush=True)
        ends[0].rest()
        fresh = [resident_kib(pair.carriers[0]) / 1024 for pair in ends]
        daemon = resident_kib(ends[0].daemons[0].pid) / 1024
        watched = [ends[0].carriers[0], ends[1].carriers[0], ends[0].daemons[0].pid]
        before = [context_switches(pid) for pid in watched]
        time.sleep(IDLE_SECONDS)
        woken = [(context_switches(pid) - count) / IDLE_SECONDS for pid, count in zip(watched, before)]
        row("idle wake-ups of the provider", "1/s", [woken[0]], [woken[1]], "lower")
        rows.append({"measure": "idle wake-ups of tunneld", "unit": "1/s", "tunneld": woken[2]})
        row("resident memory of the provider, idle", "MiB", [fresh[0]], [fresh[1]], "lower")
        rows.append({"measure": "resident memory of tunneld", "unit": "MiB", "tunneld": daemon})

        for name, reverse in (("TCP, one stream", False), ("TCP, one stream, other direction", True)):
            results = [[], []]
            for _ in range(options.pairs):
                for index in (0, 1):
                    results[index].append(ends[index].throughput(reverse))
                print(f"{name}: " + " against ".join(f"{r[-1]['Mbit/s']:.0f}" for r in results) + " Mbit/s", flush=True)
            for unit, better in (("Mbit/s", "higher"), ("CPU s/GB", "lower")):
                row(name, unit, *[[r[unit] for r in result] for result in results], better)
        for name, measure, rounds in (("handshake and first answer", Pair.handshake, 4 * options.pairs),
                                      ("round trip", Pair.round_trip, options.pairs)):
            results = [[], []]
            for _ in range(rounds):
                for index in (0, 1):
                    results[index].append(measure(ends[index]))
            row(name, "ms" if measure is Pair.handshake else "us", *results, "lower")
        loaded = [resident_kib(pair.carriers[0]) / 1024 for pair in ends]
        row("resident memory of the provider after load", "MiB", [loaded[0]], [loaded[1]], "lower")

    width = max(len(entry["measure"]) for entry in rows)
    print(f"\n{'':{width}}  {'unit':>8}  {'tunneld':>9}  {'wireguard-go':>12}  {'ratio':>6}")
    for entry in rows:
        theirs = entry.get("wireguard-go")
        ratio = entry.get("ratio")
        print(f"{entry['measure']:{width}}  {entry['unit']:>8}  {entry['tunneld']:>9.2f}  "
              f"{'' if theirs is None else f'{theirs:.2f}':>12}  {'' if ratio is None else f'{ratio:.2f}':>6}")
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=2) + "\n")
    print("benchmark: ok")


main()
