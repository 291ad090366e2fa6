"""WireGuard's handshake as the initiator has it, apart from tunneld's code, with libsodium's primitives.

Source: WireGuard whitepaper, sections 5.4.2 to 5.4.7.
"""

import ctypes
import hashlib
import hmac
import os
import struct

_sodium = ctypes.CDLL("libsodium.so.23")
_sodium.sodium_init()
_LONG = ctypes.c_ulonglong
_sodium.crypto_aead_chacha20poly1305_ietf_encrypt.argtypes = [
    ctypes.c_char_p, ctypes.c_void_p, ctypes.c_char_p, _LONG, ctypes.c_char_p, _LONG, ctypes.c_void_p, ctypes.c_char_p,
    ctypes.c_char_p]
for _name in ("chacha20poly1305_ietf_decrypt", "xchacha20poly1305_ietf_decrypt"):
    getattr(_sodium, f"crypto_aead_{_name}").argtypes = [
        ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, _LONG, ctypes.c_char_p, _LONG, ctypes.c_char_p,
        ctypes.c_char_p]


def hashed(*parts):
    return hashlib.blake2s(b"".join(parts)).digest()


def mac(key, data):
    return hashlib.blake2s(data, key=key, digest_size=16).digest()


def derived(count, key, data):
    first, out, last = hmac.digest(key, data, "blake2s"), [], b""
    for number in range(1, count + 1):
        last = hmac.digest(first, last + bytes([number]), "blake2s")
        out.append(last)
    return out


def public_key(private):
    out = ctypes.create_string_buffer(32)
    _sodium.crypto_scalarmult_curve25519_base(out, private)
    return out.raw


def shared(private, public):
    out = ctypes.create_string_buffer(32)
    assert _sodium.crypto_scalarmult_curve25519(out, private, public) == 0
    return out.raw


def sealed(key, counter, text, additional):
    out = ctypes.create_string_buffer(len(text) + 16)
    _sodium.crypto_aead_chacha20poly1305_ietf_encrypt(
        out, None, text, len(text), additional, len(additional), None, struct.pack("<4xQ", counter), key)
    return out.raw


def opened(which, key, nonce, text, additional):
    """The plaintext; None where it isn't authentic."""
    out = ctypes.create_string_buffer(max(len(text) - 16, 1))
    wrong = getattr(_sodium, f"crypto_aead_{which}_ietf_decrypt")(
        out, None, None, text, len(text), additional, len(additional), nonce, key)
    return None if wrong else out.raw[:len(text) - 16]


class Responder:
    """What initiators know of the end that they call."""

    def __init__(self, public):
        self.public = public
        self.chain = hashed(b"Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s")
        self.hash = hashed(hashed(self.chain, b"WireGuard v1 zx2c4 Jason@zx2c4.com"), public)
        self.mac1_key, self.cookie_key = hashed(b"mac1----", public), hashed(b"cookie--", public)


class Initiator:
    """A peer with its own key and address; its initiations to one responder."""

    def __init__(self, private, address):
        self.private, self.public, self.address = private, public_key(private), address
        self.known = {}

    def shared_with(self, responder):
        if responder.public not in self.known:
            self.known[responder.public] = shared(self.private, responder.public)
        return self.known[responder.public]

    def initiate(self, responder, index, label):
        """An initiation with its mac1; `label` is a TAI64N time stamp of 12 bytes, greater than all before."""
        ephemeral = os.urandom(32)
        ours = public_key(ephemeral)
        chain, = derived(1, responder.chain, ours)
        digest = hashed(responder.hash, ours)
        chain, key = derived(2, chain, shared(ephemeral, responder.public))
        static = sealed(key, 0, self.public, digest)
        digest = hashed(digest, static)
        chain, key = derived(2, chain, self.shared_with(responder))
        stamp = sealed(key, 0, label, digest)
        digest = hashed(digest, stamp)
        message = struct.pack("<II", 1, index) + ours + static + stamp
        return Initiation(self, responder, index, message + mac(responder.mac1_key, message), (chain, digest, ephemeral))


class Initiation:
    """One initiation on its way, and what is needed to make a session of its answer."""

    def __init__(self, peer, responder, index, message, state):
        self.peer, self.responder, self.index, self.state = peer, responder, index, state
        self.message = message + bytes(16)

    def take_cookie(self, reply):
        """Puts a cookie's mac2 into the message, which is then sent again. False where the reply isn't authentic."""
        cookie = opened("xchacha20poly1305", self.responder.cookie_key, reply[8:32], reply[32:64], self.message[116:132])
        if cookie is None:
            return False
        self.message = self.message[:132] + mac(cookie, self.message[:132])
        return True

    def finish(self, response):
        """The first packet of the session that the response makes, an empty one; None where it isn't authentic."""
        chain, digest, ephemeral = self.state
        theirs = response[12:44]
        chain, = derived(1, chain, theirs)
        digest = hashed(digest, theirs)
        chain, = derived(1, chain, shared(ephemeral, theirs))
        chain, = derived(1, chain, shared(self.peer.private, theirs))
        chain, more, key = derived(3, chain, bytes(32))
        if opened("chacha20poly1305", key, bytes(12), response[44:60], hashed(digest, more)) != b"":
            return None
        sending, _ = derived(2, chain, b"")
        return struct.pack("<I", 4) + response[4:8] + bytes(8) + sealed(sending, 0, b"", b"")
