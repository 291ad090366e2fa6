"""Secrets for the keychain's tests: bundles in memfds, Varlink calls with descriptors, a search through processes."""

import array
import base64
import fcntl
import json
import os
import re
import socket
import struct
import subprocess
import sys
from pathlib import Path


def bundle(secrets):
    """The bytes of a SecretBundle (org.tunneld.Keychain has the layout)."""
    data = b"TNLS"
    for label, secret in secrets.items():
        name = label.encode()
        data += struct.pack("<H", len(name)) + name + struct.pack("<I", len(secret)) + secret
    return data


def unbundle(data):
    assert data[:4] == b"TNLS", data[:4]
    secrets, at = {}, 4
    while at < len(data):
        (length,) = struct.unpack_from("<H", data, at)
        label = data[at + 2:at + 2 + length].decode()
        at += 2 + length
        (length,) = struct.unpack_from("<I", data, at)
        secrets[label] = data[at + 4:at + 4 + length]
        at += 4 + length
    return secrets


def call(path, method, parameters=None, secrets=None, raw=None):
    """One call, with a memfd beside it; gives (reply, bytes of the memfd that came back or None)."""
    descriptors = []
    if secrets is not None or raw is not None:
        memory = os.memfd_create("secrets", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.write(memory, bundle(secrets) if raw is None else raw)
        fcntl.fcntl(memory, 1033, 0xf)  # F_ADD_SEALS: all four
        descriptors.append(memory)
    folder = os.open(Path(path).parent, os.O_PATH)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(30)
        connection.connect(f"/proc/self/fd/{folder}/{Path(path).name}")
        os.close(folder)
        text = json.dumps({"method": f"org.tunneld.{method}", "parameters": parameters or {}}).encode() + b"\0"
        connection.sendmsg([text], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
                           if descriptors else [])
        for descriptor in descriptors:
            os.close(descriptor)
        answer, came = b"", None
        while not answer.endswith(b"\0"):
            data, controls, _, _ = connection.recvmsg(1 << 16, socket.CMSG_SPACE(16))
            for level, kind, content in controls:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    got = array.array("i")
                    got.frombytes(content[:len(content) - len(content) % 4])
                    came = os.pread(got[0], 1 << 20, 0)
                    for descriptor in got:
                        os.close(descriptor)
            if not data:
                break
            answer += data
    return json.loads(answer.rstrip(b"\0")), came


def call_as(user, path, method, parameters=None, secrets=None):
    """The same from a process of another user; gives the reply."""
    task = json.dumps([str(path), method, parameters,
                       None if secrets is None else {k: base64.b64encode(v).decode() for k, v in secrets.items()}])
    program = ("import sys, json, base64; sys.path.insert(0, sys.argv[1]); import keychain_rig as rig;"
               "p, m, a, s = json.load(sys.stdin);"
               "s = s and {k: base64.b64decode(v) for k, v in s.items()};"
               "print(json.dumps(rig.call(p, m, a, s)[0]))")
    result = subprocess.run(
        ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", sys.executable, "-B", "-c", program,
         str(Path(__file__).parent)], input=task, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def forms(secret):
    """Every form in which bytes are looked for: raw, hex of both cases, base64 at each of its three alignments."""
    found = {"raw": secret, "hex": secret.hex().encode(), "HEX": secret.hex().upper().encode()}
    for shift in range(3):
        # Without the characters that the neighbours have a part in.
        text = base64.b64encode(b"\0" * shift + secret)
        found[f"base64/{shift}"] = text[(0, 2, 3)[shift]:len(text) // 4 * 4 - 4]
    return found


def occurrences(data, secret):
    return [name for name, form in forms(secret).items() if form in data]


def memory(pid, path=None):
    """Each readable mapping of a process: (whether it is locked and left out of dumps, its line, its bytes)."""
    mappings, flags = [], {}
    line = None
    for text in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if re.match(r"^[0-9a-f]+-[0-9a-f]+ ", text):
            line = text
            mappings.append(line)
        elif text.startswith("VmFlags:"):
            flags[line] = text.split()[1:]
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as handle:
        for line in mappings:
            if line.split()[1][0] != "r" or line.endswith(("[vvar]", "[vvar_vclock]", "[vsyscall]")):
                continue
            start, end = (int(part, 16) for part in line.split()[0].split("-"))
            data = b""
            try:
                handle.seek(start)
                while len(data) < end - start:
                    part = handle.read(min(1 << 24, end - start - len(data)))
                    if not part:
                        break
                    data += part
            except OSError:
                pass
            yield {"lo", "dd"} <= set(flags.get(line, [])), line, data


def search_memory(pid, secret):
    """Where a process has a secret: (arena or not, form, mapping)."""
    return [(isArena, form, line) for isArena, line, data in memory(pid) for form in occurrences(data, secret)]
