"""Two hosts, each with its own tunneld, from a `.conf` to traffic. Called by Scripts/demo."""

import os
import re
import signal
import sys
import threading
import time
from datetime import datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "Tests/Integration"))
from lab import Lab, conf, genkey, genpsk, ping, pubkey, replies, resident_kib, wait_for  # noqa: E402

MEASURED = []


def say(text):
    print(f"\n== {text}", flush=True)


def show(host, *arguments):
    """Runs tunnelctl on a host and shows what it says."""
    print(f"{host.namespace.name.split('-')[-1]}$ tunnelctl {' '.join(map(str, arguments))}", flush=True)
    result = host.ctl(*arguments)
    print("".join(f"    {line}\n" for line in (result.stdout + result.stderr).splitlines()), end="", flush=True)
    return result


def processor_seconds(pids):
    """User and system time of these processes."""
    total = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def handshake_milliseconds(host):
    """From the handshake's sending to its answer, by the events of the next start."""
    times, ready = {}, threading.Event()
    connection = host.connect(60)

    def listen():
        import json
        connection.sendall(json.dumps({"method": "org.tunneld.Sessions.Monitor", "parameters": {}, "more": True}).encode()
                           + b"\0")
        for reply in replies(connection):
            event = reply["parameters"]
            if event["kind"] == "ready":
                ready.set()
            if event["kind"] == "status" and event["snapshot"]:
                times.setdefault(event["snapshot"]["stage"], datetime.fromisoformat(event["time"]))
                if event["status"] == "connected":
                    return

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    ready.wait(10)

    def result():
        thread.join(30)
        connection.close()
        start = times.get("handshakeSent") or times.get("settingsApplied")
        if start is None or "answered" not in times:
            return None
        return (times["answered"] - start).total_seconds() * 1000
    return result


def throughput(client, server, address, providers, reverse=False):
    listener = server.popen("iperf3", "-s", "-1")
    wait_for("iperf3", lambda: ":5201" in server.exec("ss", "-ltn").stdout, 10)
    before = processor_seconds(providers)
    text = client.exec("iperf3", "-J", "-c", address, "-t", "3", *(["-R"] if reverse else [])).stdout
    spent = processor_seconds(providers) - before
    listener.wait(timeout=10)
    import json
    received = json.loads(text)["end"]["sum_received"]
    return received["bits_per_second"] / 1e6, spent / (received["bytes"] / 1e9)


def demo():
    with Lab("demo") as lab:
        say("Two hosts, joined by a link: 10.99.0.1 and 10.99.0.2, fd99::1 and fd99::2")
        laptop, gateway = lab.namespace("laptop"), lab.namespace("gateway")
        lab.veth(laptop, gateway)
        snapshots = [(host, host.snapshot()) for host in (laptop, gateway)]

        say("A tunneld on each")
        here, there = lab.tunneld(laptop, "laptop"), lab.tunneld(gateway, "gateway")

        say("A .conf for each, imported")
        keys, psk = (genkey(), genkey()), genpsk()
        for host, name, text in (
                (here, "home", conf(keys[0], ["10.20.0.1/24", "fd20::1/64"], [
                    {"PublicKey": pubkey(keys[1]), "PresharedKey": psk, "AllowedIPs": "10.20.0.2/32, fd20::2/128",
                     "Endpoint": "10.99.0.2:51820"}])),
                (there, "office", conf(keys[1], ["10.20.0.2/24", "fd20::2/64"], [
                    {"PublicKey": pubkey(keys[0]), "PresharedKey": psk, "AllowedIPs": "10.20.0.1/32, fd20::1/128"}],
                    port=51820))):
            path = lab.folder / f"{name}.conf"
            path.write_text(text)
            path.chmod(0o600)
            show(host, "import", path)

        say("Both up")
        show(there, "up", "office")
        handshake = handshake_milliseconds(here)
        show(here, "up", "home")
        took = handshake()
        MEASURED.append(("handshake", f"{took:.1f} ms" if took is not None else "not seen"))

        say("Ping inside the tunnel, IPv4 and IPv6")
        for address in ("10.20.0.2", "fd20::2"):
            text = laptop.exec("ping", "-n", "-c", "5", "-i", "0.2", address).stdout
            print("    " + "\n    ".join(text.splitlines()[-2:]))
            MEASURED.append((f"round trip to {address}", re.search(r"= [\d.]+/([\d.]+)/", text).group(1) + " ms"))

        say("iperf3 both ways")
        states = here.status("home"), there.status("office")
        providers = [state["providerProcess"] for state in states]
        for name, reverse in (("laptop to gateway", False), ("gateway to laptop", True)):
            speed, cost = throughput(laptop, gateway, "10.20.0.2", providers, reverse)
            print(f"    {name}: {speed:.0f} Mbit/s")
            MEASURED.append((f"TCP {name}", f"{speed:.0f} Mbit/s"))
            MEASURED.append(("  both providers together", f"{cost:.2f} CPU s/GB"))

        say("Status of both")
        show(here, "status", "home")
        show(there, "status", "office")
        for name, pid in (("laptop: tunneld", here.pid), ("laptop: provider", providers[0]),
                          ("gateway: tunneld", there.pid), ("gateway: provider", providers[1])):
            MEASURED.append((f"resident memory, {name}", f"{resident_kib(pid) / 1024:.1f} MiB"))

        say("Down")
        show(here, "down", "home")
        show(there, "down", "office")
        for host in (here, there):
            host.terminate()
        for host, before in snapshots:
            after = host.snapshot()
            if after != before:
                raise AssertionError(f"something was left behind on {host.name}: {set(after) ^ set(before)}")
        if ping(laptop, "10.20.0.2", count=1, wait=1):
            raise AssertionError("the tunnel still answers after down")

    say("Measured (this machine carries both ends)")
    width = max(len(name) for name, _ in MEASURED)
    for name, value in MEASURED:
        print(f"    {name.ljust(width)}  {value}")
    print()


class Ended(Exception):
    """A signal ended the demo."""


ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def end(number, _):
    # What is taken back now must be taken back whole, however often somebody presses Ctrl-C.
    for each in ENDING:
        signal.signal(each, signal.SIG_IGN)
    raise Ended("interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}")


def main():
    for each in ENDING:
        signal.signal(each, end)
    try:
        demo()
    except Exception as error:  # noqa: BLE001 (the last line says why, whatever it was)
        print("demo: failed: " + " ".join(str(error).split()))
        return 1
    print("demo: ok")
    return 0


sys.exit(main())
