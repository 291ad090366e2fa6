"""Runs a program to which the kernel refuses IPv6 sockets, by a seccomp filter that it can't get rid of."""

import ctypes
import errno
import os
import platform
import socket
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
ALLOW, ERRNO = 0x7fff0000, 0x00050000
LOAD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06
# The numbers of socket(2), and where seccomp(2)'s data have the call's number and its first argument.
SOCKET = {"x86_64": 41, "aarch64": 198}[platform.machine()]
NUMBER, FIRST_ARGUMENT = 0, 16


def main():
    filters = [
        (LOAD, 0, 0, NUMBER), (JUMP_EQUAL, 0, 3, SOCKET),
        (LOAD, 0, 0, FIRST_ARGUMENT), (JUMP_EQUAL, 0, 1, socket.AF_INET6),
        (RETURN, 0, 0, ERRNO | errno.EAFNOSUPPORT), (RETURN, 0, 0, ALLOW),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in filters))
    program = ctypes.create_string_buffer(struct.pack("=HxxxxxxQ", len(filters), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    zero = ctypes.c_ulong(0)
    for arguments in ((PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), zero, zero, zero),
                      (PR_SET_SECCOMP, ctypes.c_ulong(SECCOMP_MODE_FILTER), program, zero, zero)):
        if libc.prctl(*arguments) != 0:
            sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
    os.execvp(sys.argv[1], sys.argv[1:])


main()
