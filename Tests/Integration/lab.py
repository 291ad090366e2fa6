"""Namespaces, veth pairs, programs and peers for the integration tests.

Everything that a Lab makes carries its own prefix and is removed by `close`, also after a failure: namespaces,
processes (the lab is a child subreaper, so providers whose tunneld was killed come to it), folders, `wg` sockets.
"""

import ctypes
import ipaddress
import itertools
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(os.environ.get("TUNNELD_PROGRAMS", ROOT / ".build/release"))
WG_SOCKETS = Path("/var/run/wireguard")

# Time bounds that an issue names are asserted at five times their value (machines are shared and noisy).
SLACK = 5

_libc = ctypes.CDLL(None, use_errno=True)
_libc.prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
_serial = itertools.count()


def run(*command, check=True, timeout=60, input=None, env=None):
    """Runs a command; the result has stdout and stderr as text."""
    result = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=timeout, input=input, env=env)
    if check and result.returncode != 0:
        raise AssertionError(
            f"{' '.join(map(str, command))} ended with {result.returncode}\n{result.stdout}{result.stderr}")
    return result


def wait_for(what, condition, timeout):
    """Waits until `condition()` is truthy and returns its value; fails naming `what` it waited for."""
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"waited {timeout} s in vain for: {what}")
        time.sleep(0.02)


def genkey():
    return run("wg", "genkey").stdout.strip()


def pubkey(private):
    return run("wg", "pubkey", input=private).stdout.strip()


def genpsk():
    return run("wg", "genpsk").stdout.strip()


class Namespace:
    def __init__(self, lab, name):
        self.lab = lab
        self.name = f"{lab.prefix}{name}"
        # Known before it exists: a signal may end the program in any of the commands below.
        lab.namespaces.append(self)
        # `ip netns exec` binds it over /etc/resolv.conf: no lab may touch the machine's own.
        self.resolv_conf = Path(f"/etc/netns/{self.name}/resolv.conf")
        self.resolv_conf.parent.mkdir(parents=True)
        self.resolv_conf.write_text("nameserver 192.0.2.53\n")
        run("ip", "netns", "add", self.name)
        self.ip("link", "set", "lo", "up")
        self.sysctl("net.ipv6.conf.default.accept_dad", 0)
        self.sysctl("net.ipv6.conf.all.accept_dad", 0)

    @property
    def enter(self):
        """What a command is put behind to run in here."""
        return ["ip", "netns", "exec", self.name]

    def exec(self, *command, **options):
        return run(*self.enter, *command, **options)

    def ip(self, *arguments, **options):
        return run("ip", "-n", self.name, *arguments, **options)

    def ip_json(self, *arguments):
        return json.loads(run("ip", "-n", self.name, "-j", *arguments).stdout or "[]")

    def drop_udp(self, port):
        """Drops what comes in for a UDP port, without a word, until `pass_udp`."""
        self.exec("nft", "add", "table", "inet", "t")
        self.exec("nft", "add", "chain", "inet", "t", "i", "{ type filter hook input priority 0; }")
        self.exec("nft", "add", "rule", "inet", "t", "i", "udp", "dport", str(port), "drop")

    def pass_udp(self):
        self.exec("nft", "delete", "table", "inet", "t")

    def sysctl(self, key, value):
        self.exec("sysctl", "-qw", f"{key}={value}")

    def popen(self, *command, log=None, env=None, **options):
        """Starts a program in the namespace; its output goes to a log file, never to a pipe that nobody reads."""
        path = self.lab.folder / f"{log or Path(str(command[0])).name}-{next(_serial)}.log"
        with open(path, "wb") as output:
            process = subprocess.Popen(
                [*self.enter, *map(str, command)],
                stdin=subprocess.DEVNULL, stdout=options.pop("stdout", output), stderr=output, env=env, **options)
        process.log_path = path
        self.lab.processes.append(process)
        return process

    def inside(self, function):
        """Calls `function` on a thread of its own that has entered the namespace; sockets made there stay in it."""
        import threading
        box = {}

        def enter():
            try:
                with open(f"/var/run/netns/{self.name}") as handle:
                    if _libc.setns(handle.fileno(), 0x40000000) != 0:
                        raise OSError(ctypes.get_errno(), "setns")
                box["value"] = function()
            except BaseException as error:  # noqa: BLE001 (handed to the caller below)
                box["error"] = error

        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
        if "error" in box:
            raise box["error"]
        return box["value"]

    def snapshot(self):
        """What `down` must restore: links, addresses, rules and routes, without counters and ages."""
        links = self.exec("ip", "-d", "link").stdout
        addresses = self.exec("ip", "-o", "addr").stdout
        rules = self.exec("ip", "rule").stdout + self.exec("ip", "-6", "rule").stdout
        routes = self.exec("ip", "route", "show", "table", "all").stdout
        routes6 = self.exec("ip", "-6", "route", "show", "table", "all").stdout
        sysctls = self.exec("sysctl", "net.ipv4.conf.all.src_valid_mark", "net.ipv4.conf.all.rp_filter").stdout
        labels = self.exec("ip", "addrlabel").stdout
        text = "\n".join([links, addresses, rules, routes, routes6, sysctls, labels])
        return re.sub(r"(expires|valid_lft|preferred_lft) \S+", "", text).splitlines()


class Lab:
    """One test's world."""

    def __init__(self, name="t"):
        self.prefix = f"tl{os.getpid() % 100000}{name[:2]}{next(_serial)}-"
        self.folder = Path(tempfile.mkdtemp(prefix=f"tunneld-lab-{os.getpid()}-"))
        os.chmod(self.folder, 0o755)
        self.namespaces = []
        self.links = []
        self.processes = []
        self.daemons = []
        self.cleanups = []

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        try:
            if kind is not None:
                self.print_logs()
        finally:
            self.close()

    def print_logs(self):
        for path in sorted(self.folder.glob("*.log")):
            text = path.read_text(errors="replace")
            if text.strip():
                print(f"---- {path.name}\n{text[-6000:]}")

    def namespace(self, name):
        if any(other.name == self.prefix + name for other in self.namespaces):
            name = f"{name}{len(self.namespaces)}"
        return Namespace(self, name)

    def veth(self, a, b, network4="10.99.0.0/24", network6="fd99::/64", mtu=1500, names=("eth0", "eth0")):
        """Joins two namespaces; the first gets host 1 of each network, the second host 2."""
        temporary = (f"v{os.getpid() % 100000}a{next(_serial)}", f"v{os.getpid() % 100000}b{next(_serial)}")
        self.links.append(temporary[0])
        run("ip", "link", "add", temporary[0], "mtu", mtu, "type", "veth", "peer", "name", temporary[1], "mtu", mtu)
        for host, (namespace, old, new) in enumerate(zip((a, b), temporary, names), start=1):
            run("ip", "link", "set", old, "netns", namespace.name, "name", new)
            for network in (network4, network6):
                if network:
                    net = ipaddress.ip_network(network)
                    namespace.ip("addr", "add", f"{net[host]}/{net.prefixlen}", "dev", new,
                                 *(["nodad"] if net.version == 6 else []))
            namespace.ip("link", "set", new, "up")
        self.links.remove(temporary[0])
        for namespace, name in zip((a, b), names):
            wait_for("carrier", lambda ns=namespace, n=name: "LOWER_UP" in ns.ip("link", "show", n).stdout, 5)

    def pair(self, **options):
        """The pair rig: two namespaces on one veth, 10.99.0.1 and .2, fd99::1 and ::2."""
        a, b = self.namespace("a"), self.namespace("b")
        self.veth(a, b, **options)
        return a, b

    def home(self):
        """The usual case: (a, b, tunneld on a with `home` imported and not up, its private key, wireguard-go on b)."""
        a, b = self.pair()
        daemon, private, peer = self.tunneld(a), genkey(), WireGuardGo(self, b)
        peer.peer(pubkey(private), "10.20.0.1/32")
        peer.address("10.20.0.2/24")
        daemon.import_text("home", conf(private, ["10.20.0.1/24"], [
            {"PublicKey": peer.public, "AllowedIPs": "10.20.0.2/32", "Endpoint": "10.99.0.2:51820"}]))
        return a, b, daemon, private, peer

    def tunneld(self, namespace, name="d", **options):
        daemon = Tunneld(self, namespace, name, **options)
        self.daemons.append(daemon)
        return daemon

    def close(self):
        for daemon in self.daemons:
            daemon.shut_down()
        for namespace in self.namespaces:
            for pid in run("ip", "netns", "pids", namespace.name, check=False).stdout.split():
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    pass
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()
        for cleanup in self.cleanups:
            cleanup()
        reap()
        for namespace in self.namespaces:
            run("ip", "netns", "del", namespace.name, check=False)
            shutil.rmtree(namespace.resolv_conf.parent, ignore_errors=True)
        for link in self.links:
            run("ip", "link", "del", link, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)


def reap():
    """Collects the orphans that came to this process."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return


class Tunneld:
    """A real tunneld in a namespace, with folders of its own."""

    def __init__(self, lab, namespace, name, programs=None, level="info", start=True, depth=0, hidden=None):
        self.lab, self.namespace, self.level = lab, namespace, level
        # A folder that the programs shall find empty.
        self.prefix = [] if hidden is None else [
            "unshare", "--mount", "sh", "-c", f"mount -t tmpfs none {hidden} && exec \"$0\" \"$@\""]
        self.programs = Path(programs or PROGRAMS)
        base = lab.folder / f"{name}{next(_serial)}"
        for _ in range(depth):
            base = base / "a-rather-deep-folder"
        self.state, self.runtime, self.configuration = base / "state", base / "run", base / "etc"
        for folder in (self.state, self.runtime, self.configuration):
            folder.mkdir(parents=True)
        self.environment = dict(
            os.environ, STATE_DIRECTORY=str(self.state), RUNTIME_DIRECTORY=str(self.runtime),
            CONFIGURATION_DIRECTORY=str(self.configuration), TUNNELD_SOCKET=str(self.runtime / "control"),
            # No lab may talk to the machine's own bus.
            DBUS_SYSTEM_BUS_ADDRESS=f"unix:path={base}/no-bus")
        self.process = None
        if start:
            self.start()

    @property
    def socket(self):
        return self.runtime / "control"

    def start(self, *arguments):
        self.process = self.namespace.popen(
            *self.prefix, self.programs / "tunneld", "--launcher", "spawn", "--log-level", self.level, *arguments,
            log=f"tunneld-{self.namespace.name}", env=self.environment)
        wait_for("tunneld's control socket to answer", self.answers, 10 * SLACK)
        return self

    def answers(self):
        if self.process.poll() is not None:
            raise AssertionError(f"tunneld ended at once:\n{self.process.log_path.read_text()}")
        try:
            return bool(self.call("org.varlink.service.GetInfo"))
        except OSError:
            return False

    @property
    def pid(self):
        return self.process.pid

    def kill(self):
        self.process.kill()
        self.process.wait()

    def terminate(self):
        self.process.terminate()
        self.process.wait(timeout=10 * SLACK)

    def shut_down(self):
        """Ends all of it, whatever state it is in."""
        if self.process is None:
            return
        if self.process.poll() is None:
            try:
                self.ctl("down", "--all", check=False, timeout=30)
            except subprocess.TimeoutExpired:
                pass
            self.process.kill()
            self.process.wait()
        # A tunneld that was killed leaves what the next one would remove; here there is no next one.
        for record in self.runtime.glob("journal/*.json"):
            for interface in re.findall(r'"interface"\s*:\s*"([^"]+)"', record.read_text()):
                (WG_SOCKETS / f"{interface}.sock").unlink(missing_ok=True)

    def connect(self, timeout=30):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(timeout)
        path = os.open(self.runtime, os.O_PATH)
        try:
            connection.connect(f"/proc/self/fd/{path}/control")
        finally:
            os.close(path)
        return connection

    def call(self, method, parameters=None, timeout=30):
        """One Varlink call; the reply as it came."""
        with self.connect(timeout) as connection:
            connection.sendall(json.dumps({"method": method, "parameters": parameters or {}}).encode() + b"\0")
            return next(replies(connection))

    def ctl(self, *arguments, check=True, timeout=90, input=None, user=None):
        prefix = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []
        return run(*self.namespace.enter, *self.prefix, *prefix, self.programs / "tunnelctl", *arguments,
                   check=check, timeout=timeout, input=input, env=self.environment)

    def popen(self, *arguments, **options):
        return self.namespace.popen(self.programs / "tunnelctl", *arguments, env=self.environment, **options)

    def json(self, *arguments, **options):
        return json.loads(self.ctl(*arguments, "--json", **options).stdout)

    def status(self, name):
        return self.json("status", name)

    def import_text(self, name, text, *options):
        path = self.lab.folder / f"{name}.conf"
        path.write_text(text)
        os.chmod(path, 0o600)
        try:
            return self.ctl("import", path, "--name", name, *options)
        finally:
            path.unlink()

    def wait_status(self, name, wanted, timeout):
        return wait_for(f"{name} to be {wanted}", lambda: (s := self.status(name))["status"] == wanted and s, timeout)

    def wait_for_text(self, text, timeout=10):
        wait_for(f"“{text}” in the log", lambda: text in self.process.log_path.read_text(errors="replace"), timeout)


def replies(connection):
    """The messages that arrive on a Varlink connection, one by one."""
    buffer = b""
    while True:
        while b"\0" in buffer:
            message, buffer = buffer.split(b"\0", 1)
            yield json.loads(message)
        data = connection.recv(65536)
        if not data:
            return
        buffer += data


class WireGuardGo:
    """Debian's wireguard-go as the peer."""

    def __init__(self, lab, namespace, port=51820, private=None, mtu=1420, program=None, level="verbose"):
        self.lab, self.namespace, self.port = lab, namespace, port
        self.name = f"wt{os.getpid() % 100000}x{next(_serial)}"
        self.private = private or genkey()
        self.public = pubkey(self.private)
        self.mtu = mtu
        self.process = namespace.popen(
            program or os.environ.get("WIREGUARD_GO", "wireguard-go"), "-f", self.name, log=f"wireguard-go-{self.name}",
            env=dict(os.environ, LOG_LEVEL=level))
        wait_for("wireguard-go's socket", (WG_SOCKETS / f"{self.name}.sock").exists, 10)
        lab.cleanups.append(lambda: (WG_SOCKETS / f"{self.name}.sock").unlink(missing_ok=True))
        key = self.secret_file(self.private)
        self.set("listen-port", port, "private-key", key)
        key.unlink()
        namespace.ip("link", "set", self.name, "mtu", mtu, "up")

    def secret_file(self, text):
        handle, path = tempfile.mkstemp(dir=self.lab.folder)
        os.write(handle, text.encode())
        os.close(handle)
        return Path(path)

    def set(self, *arguments):
        run("wg", "set", self.name, *arguments)

    def peer(self, public, allowed, endpoint=None, psk=None, keepalive=None):
        extra = []
        path = None
        if psk:
            path = self.secret_file(psk)
            extra += ["preshared-key", path]
        if endpoint:
            extra += ["endpoint", endpoint]
        if keepalive:
            extra += ["persistent-keepalive", keepalive]
        self.set("peer", public, *extra, "allowed-ips", allowed)
        if path:
            path.unlink()

    def remove_peer(self, public):
        self.set("peer", public, "remove")

    def address(self, *addresses):
        for address in addresses:
            self.namespace.ip("addr", "add", address, "dev", self.name, *(["nodad"] if ":" in address else []))

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=10)

    def latest_handshakes(self):
        lines = run("wg", "show", self.name, "latest-handshakes").stdout.splitlines()
        return {line.split()[0]: int(line.split()[1]) for line in lines}


def conf(private, addresses, peers, port=None, **interface):
    """The text of a `.conf`; each peer is a dict of its keys."""
    lines = ["[Interface]", f"PrivateKey = {private}", f"Address = {', '.join(addresses)}"]
    if port:
        lines.append(f"ListenPort = {port}")
    lines += [f"{key} = {value}" for key, value in interface.items()]
    for peer in peers:
        lines += ["", "[Peer]", *(f"{key} = {value}" for key, value in peer.items())]
    return "\n".join(lines) + "\n"


class Traces:
    """What an `up` makes: namespaces' networks, sockets, processes, files, descriptors; compared before and after."""

    # The highest time stamp sent to a peer must never go back (TAI64N), so it outlives every session.
    STAYS = ("state/timestamps",)

    def __init__(self, daemon, *namespaces, stays=()):
        self.stays = {*self.STAYS, *stays}
        self.daemon, self.namespaces = daemon, [daemon.namespace, *namespaces]
        self.before = self.lines()

    def lines(self):
        found = []
        for namespace in self.namespaces:
            found += [f"{namespace.name}: {line}" for line in namespace.snapshot()]
        for options in ("-uanp", "-xlp", "-tlnp", "-wanp"):
            text = self.daemon.namespace.exec("ss", "-H", options).stdout
            found += sorted(f"socket {options}: {' '.join(line.split())}" for line in text.splitlines())
        found += sorted(f"process {pid}: {name_of(pid)}" for pid in tree(self.daemon.pid))
        base = self.daemon.state.parent
        for path in sorted(path for folder in (self.daemon.state, self.daemon.runtime) for path in folder.rglob("*")):
            name = path.relative_to(base)
            if str(name) not in self.stays and str(name.parent) not in self.stays:
                stat = path.lstat()
                size = "" if path.is_dir() else stat.st_size
                found.append(f"file {name} {stat.st_mode:o} {stat.st_uid} {size}")
        found += sorted(f"descriptor {target}" for target in descriptors(self.daemon.pid)
                        if target != "anon_inode:[timerfd]")  # Dispatch keeps one for each clock once used.
        # Other labs' sockets are there too; one whose maker is gone answers nobody.
        found += sorted(f"dead {path}" for path in WG_SOCKETS.glob("home-*.sock") if not listens(path))
        return found

    def difference(self):
        """What is there now and wasn't, and the other way round."""
        after = self.lines()
        return [f"+ {line}" for line in after if line not in self.before] + [
            f"- {line}" for line in self.before if line not in after] + (
            ["a line is there once more or once less"] if len(after) != len(self.before) else [])


def name_of(pid):
    """The name of a process; None for one that is gone or waits to be collected."""
    try:
        return Path(os.readlink(f"/proc/{pid}/exe")).name
    except OSError:
        return None


def descriptors(pid):
    """What a process's descriptors lead to."""
    found = []
    for entry in os.listdir(f"/proc/{pid}/fd"):
        try:
            found.append(os.readlink(f"/proc/{pid}/fd/{entry}"))
        except OSError:
            pass
    return found


def listens(path):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(1)
        try:
            connection.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            pass
        return True


def ping(namespace, address, count=3, interval=0.2, wait=2, **options):
    """Pings; returns how many answers came."""
    result = namespace.exec(
        "ping", "-n", "-c", count, "-i", interval, "-W", wait, address, check=False, timeout=120, **options)
    found = re.search(r"(\d+) received", result.stdout)
    return int(found.group(1)) if found else 0


def tree(pid):
    """A process and all its descendants."""
    children = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int(re.search(r"PPid:\s+(\d+)", (entry / "status").read_text()).group(1))
            except (OSError, AttributeError):
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found, queue = [], [pid]
    while queue:
        found.append(queue.pop())
        queue += children.get(found[-1], [])
    return found


def resident_kib(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text()).group(1))


def anonymous_kib(pid):
    """What a leak would be part of: file pages come and go, for a provider gives them back when it is ready."""
    return int(re.search(r"RssAnon:\s+(\d+)", Path(f"/proc/{pid}/status").read_text()).group(1))


def context_switches(pid):
    """Summed over all threads that live now."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            text = (task / "status").read_text()
        except OSError:
            continue
        total += sum(map(int, re.findall(r"ctxt_switches:\s+(\d+)", text)))
    return total
