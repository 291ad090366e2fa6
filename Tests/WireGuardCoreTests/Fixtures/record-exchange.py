#!/usr/bin/python3
"""Records exchanges with a real wireguard-go, for exchange.hex.

Run as root. Speaks the protocol by itself (hashlib and python3-cryptography), so the record is checked by a third
implementation. Our ephemeral keys and indices come from SplitMix64, as those of the tests do.
"""
import base64, ctypes, hashlib, hmac, os, socket, struct, subprocess, tempfile, time
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

NETNS, DEVICE, THEIR_PORT, OUR_PORT = "record-exchange", "record0", 51999, 51998
MASK = (1 << 64) - 1


class SplitMix64:
    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
        return z ^ z >> 31

    def index(self):
        return self.next() & 0xFFFFFFFF

    def key(self):
        return b"".join(struct.pack("<Q", self.next()) for _ in range(4))


def H(*parts): return hashlib.blake2s(b"".join(parts)).digest()
def MAC(key, data): return hashlib.blake2s(data, key=key, digest_size=16).digest()
def HMAC(key, data): return hmac.new(key, data, hashlib.blake2s).digest()
def PUB(private): return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
def DH(private, public): return X25519PrivateKey.from_private_bytes(private).exchange(X25519PublicKey.from_public_bytes(public))


def KDF(n, key, data):
    t0, out, last = HMAC(key, data), [], b""
    for i in range(1, n + 1):
        last = HMAC(t0, last + bytes([i]))
        out.append(last)
    return out if n > 1 else out[0]


def AEAD(key, counter, plain, ad): return ChaCha20Poly1305(key).encrypt(bytes(4) + struct.pack("<Q", counter), plain, ad)
def OPEN(key, counter, sealed, ad): return ChaCha20Poly1305(key).decrypt(bytes(4) + struct.pack("<Q", counter), sealed, ad)


def start(responder):
    c = H(b"Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s")
    return c, H(H(c, b"WireGuard v1 zx2c4 Jason@zx2c4.com"), responder)


def mac1(message, receiver): return message + MAC(H(b"mac1----", receiver), message) + bytes(16)


def initiate(s, responder, rng, label):
    index, e = rng.index(), rng.key()
    c, h = start(responder)
    c = KDF(1, c, PUB(e)); h = H(h, PUB(e))
    c, k = KDF(2, c, DH(e, responder))
    static = AEAD(k, 0, PUB(s), h); h = H(h, static)
    c, k = KDF(2, c, DH(s, responder))
    stamp = AEAD(k, 0, label, h); h = H(h, stamp)
    message = struct.pack("<II", 1, index) + PUB(e) + static + stamp
    return (c, h, e, index), mac1(message, responder)


def finish(state, response, s, psk):
    c, h, e, index = state
    kind, theirs, ours = struct.unpack("<III", response[:12])
    assert (kind, ours) == (2, index)
    er = response[12:44]
    c = KDF(1, c, er); h = H(h, er)
    c = KDF(1, c, DH(e, er)); c = KDF(1, c, DH(s, er))
    c, t, k = KDF(3, c, psk); h = H(h, t)
    assert OPEN(k, 0, response[44:60], h) == b""
    send, receive = KDF(2, c, b"")
    return send, receive, theirs


def respond(initiation, s, psk, rng):
    kind, theirs = struct.unpack("<II", initiation[:8])
    assert kind == 1
    c, h = start(PUB(s))
    ei = initiation[8:40]
    c = KDF(1, c, ei); h = H(h, ei)
    c, k = KDF(2, c, DH(s, ei))
    si = OPEN(k, 0, initiation[40:88], h); h = H(h, initiation[40:88])
    c, k = KDF(2, c, DH(s, si))
    label = OPEN(k, 0, initiation[88:116], h); h = H(h, initiation[88:116])
    index, e = rng.index(), rng.key()
    c = KDF(1, c, PUB(e)); h = H(h, PUB(e))
    c = KDF(1, c, DH(e, ei)); c = KDF(1, c, DH(e, si))
    c, t, k = KDF(3, c, psk); h = H(h, t)
    empty = AEAD(k, 0, b"", h)
    message = struct.pack("<III", 2, index, theirs) + PUB(e) + empty
    receive, send = KDF(2, c, b"")
    return mac1(message, si), send, receive, theirs, si


def packet(send, theirs, counter, plain):
    return struct.pack("<IIQ", 4, theirs, counter) + AEAD(send, counter, plain, b"")


def run(*command, **more): return subprocess.run(command, check=True, capture_output=True, **more).stdout.decode().strip()
def inside(*command, **more): return run("ip", "netns", "exec", NETNS, *command, **more)


def socket_inside():
    # A socket belongs to the namespace in which it was made.
    here = os.open("/proc/self/ns/net", os.O_RDONLY)
    there = os.open(f"/run/netns/{NETNS}", os.O_RDONLY)
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.setns(there, 0) == 0
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("127.0.0.1", OUR_PORT))
    assert libc.setns(here, 0) == 0
    s.settimeout(8)
    return s


def receive(s, kind):
    while True:
        data, _ = s.recvfrom(65535)
        if data[0] == kind:
            return data


def field(name, value): print(name, "=", value.hex())


def main():
    rng = SplitMix64(2024)
    theirs, ours, psk = rng.key(), rng.key(), rng.key()
    b64 = lambda b: base64.b64encode(b).decode()
    folder = tempfile.TemporaryDirectory()
    k1, k2 = folder.name + "/private", folder.name + "/preshared"
    run("ip", "netns", "add", NETNS)
    go = subprocess.Popen(["ip", "netns", "exec", NETNS, "wireguard-go", "-f", DEVICE], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        inside("ip", "link", "set", "lo", "up")
        for _ in range(100):
            if os.path.exists(f"/var/run/wireguard/{DEVICE}.sock"): break
            time.sleep(0.05)
        with open(k1, "w") as f: f.write(b64(theirs))
        with open(k2, "w") as f: f.write(b64(psk))
        inside("wg", "set", DEVICE, "private-key", k1, "listen-port", str(THEIR_PORT), "peer", b64(PUB(ours)),
               "preshared-key", k2, "allowed-ips", "10.77.0.2/32")
        inside("ip", "addr", "add", "10.77.0.1/24", "dev", DEVICE)
        inside("ip", "link", "set", DEVICE, "up")
        s = socket_inside()
        version = run("wireguard-go", "--version").splitlines()[0]

        print(f"# We call {version}: our initiation, its response, our empty packet, and its packet with content")
        print("# (a UDP datagram, padded to 16). Recorded by record-exchange.py; keys were made for this record.")
        seed = 1001
        label = struct.pack(">QI", 0x400000000000000A + int(time.time()), 0)
        state, initiation = initiate(ours, PUB(theirs), SplitMix64(seed), label)
        s.sendto(initiation, ("127.0.0.1", THEIR_PORT))
        response = receive(s, 2)
        send, recv, index = finish(state, response, ours, psk)
        s.sendto(packet(send, index, 0, b""), ("127.0.0.1", THEIR_PORT))
        time.sleep(0.2)
        inside("python3", "-c", "import socket; s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.sendto(b'numbers 1 2 3',('10.77.0.2',7))")
        while True:
            data = receive(s, 4)
            if len(data) > 32: break
        plain = OPEN(recv, struct.unpack("<Q", data[8:16])[0], data[16:], b"")
        for name, value in (("ours", ours), ("theirs", PUB(theirs)), ("psk", psk), ("seed", struct.pack(">Q", seed)), ("label", label),
                            ("initiation", initiation), ("response", response), ("sent", packet(send, index, 0, b"")), ("received", data), ("content", plain)):
            field(name, value)

        print()
        print(f"# {version} calls us: its initiation, our response, and its packet with content.")
        seed = 1002
        inside("wg", "set", DEVICE, "peer", b64(PUB(ours)), "remove")
        inside("wg", "set", DEVICE, "peer", b64(PUB(ours)), "preshared-key", k2, "allowed-ips", "10.77.0.2/32",
               "endpoint", f"127.0.0.1:{OUR_PORT}")
        inside("python3", "-c", "import socket; s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.sendto(b'hello',('10.77.0.2',7))")
        initiation = receive(s, 1)
        response, send, recv, index, si = respond(initiation, ours, psk, SplitMix64(seed))
        assert si == PUB(theirs)
        s.sendto(response, ("127.0.0.1", THEIR_PORT))
        while True:
            data = receive(s, 4)
            if len(data) > 32: break
        plain = OPEN(recv, struct.unpack("<Q", data[8:16])[0], data[16:], b"")
        for name, value in (("ours", ours), ("theirs", PUB(theirs)), ("psk", psk), ("seed", struct.pack(">Q", seed)),
                            ("initiation", initiation), ("response", response), ("received", data), ("content", plain)):
            field(name, value)
    finally:
        go.terminate()
        go.wait()
        run("ip", "netns", "del", NETNS)
        folder.cleanup()


main()
