"""One contestant: two ends of a tunnel in namespaces on a link of their own, and the processes that carry its packets."""

import base64
import contextlib
import os
import re
import socket
from pathlib import Path

from lab import WG_SOCKETS, WireGuardGo, conf, context_switches, genkey, pubkey, resident_kib, wait_for

INNER = {4: ("10.20.0.1", "10.20.0.2"), 6: ("fd20::1", "fd20::2")}
OUTER = {4: ("10.99.0.1", "10.99.0.2"), 6: ("fd99::1", "fd99::2")}
PORT = 51820


class Side:
    """What all contestants have. `a` is the near namespace, `b` the far one, which listens at `PORT`."""

    name = ""
    near, far = INNER[4][0], INNER[4][1]
    near6, far6 = INNER[6][0], INNER[6][1]
    # Processes, by end; the first of each end is the one that has the packets.
    carriers = ((), ())
    detail = ""

    def __init__(self, lab):
        self.lab = lab
        self.a, self.b = lab.pair()

    def processor_seconds(self):
        """User and system time of all that carry this tunnel."""
        total = 0
        for pid in self.processes:
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            total += int(fields[11]) + int(fields[12])
        return total / os.sysconf("SC_CLK_TCK")

    @property
    def processes(self):
        return [pid for end in self.carriers for pid in end]

    def resident_mib(self):
        """The larger of both ends."""
        return max(resident_kib(end[0]) for end in self.carriers) / 1024

    def wakeups(self):
        return sum(context_switches(end[0]) for end in self.carriers) / 2

    def udp(self, namespace, address, port=0):
        """A UDP socket at an address of a namespace."""
        def make():
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.bind((address, port))
            return s
        return namespace.inside(make)

    @contextlib.contextmanager
    def cut_to_wire_size(self):
        """While it is entered, the sender's link gets single datagrams, as any real one would carry them."""
        self.a.exec("ethtool", "-K", "eth0", "tx-udp-segmentation", "off")
        try:
            yield
        finally:
            self.a.exec("ethtool", "-K", "eth0", "tx-udp-segmentation", "on")

    def wait_until_open(self):
        wait_for(f"{self.name} to carry packets", lambda: "1 received" in self.a.exec(
            "ping", "-n", "-c", "1", "-W", "2", self.far, check=False).stdout, 60)

    def set_device(self, interface, lines):
        """An operation of the cross-platform interface, as `wg` sends them."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(WG_SOCKETS / f"{interface}.sock"))
            connection.sendall(f"set=1\n{lines}\n".encode())
            answer = connection.recv(64)
            assert answer.startswith(b"errno=0\n"), answer


class TunneldSide(Side):
    """tunneld's provider on both ends, started by tunneld. `crowd`: further peers of the far end, (public, allowed)."""

    name = "tunneld"

    def __init__(self, lab, programs=None, without_ipsec_mb=False, crowd=()):
        super().__init__(lab)
        keys = genkey(), genkey()
        self.daemons = [lab.tunneld(namespace, name, programs=programs, level="warning", start=False)
                        for namespace, name in ((self.a, "a"), (self.b, "b"))]
        for daemon in self.daemons:
            if without_ipsec_mb:
                daemon.prefix = hiding(lab, ipsec_mb_files())
            daemon.start()
        self.daemons[1].import_text("b", conf(keys[1], [f"{self.far}/24", f"{self.far6}/64"], [
            {"PublicKey": pubkey(keys[0]), "AllowedIPs": f"{self.near}/32, {self.near6}/128"},
            *({"PublicKey": public, "AllowedIPs": allowed} for public, allowed in crowd)], port=PORT))
        self.daemons[0].import_text("a", conf(keys[0], [f"{self.near}/24", f"{self.near6}/64"], [
            {"PublicKey": pubkey(keys[1]), "AllowedIPs": f"{self.far}/32, {self.far6}/128",
             "Endpoint": f"{OUTER[4][1]}:{PORT}"}]))
        self.daemons[1].ctl("up", "b")
        self.daemons[0].ctl("up", "a")
        status = self.daemons[0].status("a"), self.daemons[1].status("b")
        self.public = pubkey(keys[1])
        self.interface = status[0]["interface"]
        self.carriers = [(end["providerProcess"], daemon.pid) for end, daemon in zip(status, self.daemons)]
        self.wait_until_open()
        self.detail = f"{self.cipher()}, MTU {mtu(self.a, self.interface)}"

    def cipher(self):
        """The library that its provider encrypts with: it keeps intel-ipsec-mb only where it uses it."""
        maps = Path(f"/proc/{self.carriers[0][0]}/maps").read_text()
        return "intel-ipsec-mb" if "libIPSec_MB" in maps else "libcrypto"


class WireGuardGoSide(Side):
    """A wireguard-go on both ends."""

    name = "wireguard-go"

    def __init__(self, lab, program, crowd=()):
        super().__init__(lab)
        ends = [WireGuardGo(lab, namespace, port=PORT, program=program, level="error") for namespace in (self.a, self.b)]
        for public, allowed in crowd:
            ends[1].peer(public, allowed)
        ends[0].peer(ends[1].public, f"{self.far}/32,{self.far6}/128", endpoint=f"{OUTER[4][1]}:{PORT}")
        ends[1].peer(ends[0].public, f"{self.near}/32,{self.near6}/128")
        ends[0].address(f"{self.near}/24", f"{self.near6}/64")
        ends[1].address(f"{self.far}/24", f"{self.far6}/64")
        self.public = ends[1].public
        self.interface = ends[0].name
        self.carriers = [(end.process.pid,) for end in ends]
        self.wait_until_open()
        self.detail = f"MTU {mtu(self.a, self.interface)}"


class BareSide(Side):
    """The same link without a tunnel."""

    name = "veth alone"
    near, far = OUTER[4][0], OUTER[4][1]
    near6, far6 = OUTER[6][0], OUTER[6][1]


def mtu(namespace, interface):
    return int(re.search(r"mtu (\d+)", namespace.ip("link", "show", interface).stdout).group(1))


def ipsec_mb_files():
    """Every libIPSec_MB that the loader knows."""
    text = os.popen("/sbin/ldconfig -p").read()
    return sorted({os.path.realpath(path) for path in re.findall(r"=> (\S*libIPSec_MB\S*)", text)})


def hiding(lab, files):
    """What a command is put behind so that it finds nothing in these files."""
    empty = lab.folder / "empty"
    empty.touch()
    mounts = [f"mount --bind {empty} {path}" for path in files]
    return ["unshare", "--mount", "sh", "-c", " && ".join([*mounts, 'exec "$0" "$@"'])]


def key_bytes(text):
    return base64.b64decode(text)
