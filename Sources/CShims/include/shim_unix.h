// Unix sockets: what needs GNU types, function-like macros or casts of addresses.
#pragma once

#include <stddef.h>
#include <sys/types.h>

/// Descriptors taken or passed with one message.
#define SHIM_DESCRIPTORS_MAX 16

/// The longest path of a socket without its NUL: sun_path (unix(7)) has 108 bytes.
#define SHIM_UNIX_PATH_MAX 107

/// bind(2); 0 or -errno, -ENAMETOOLONG above `SHIM_UNIX_PATH_MAX` bytes.
int shim_unix_bind(int fd, const char *_Nonnull path);

/// connect(2); 0 or -errno, -EAGAIN when the listener's backlog is full.
int shim_unix_connect(int fd, const char *_Nonnull path);

/// accept4(2), close-on-exec and non-blocking; a descriptor or -errno.
int shim_unix_accept(int fd);

/// SO_PEERCRED: who made the other end; 0 or -errno.
int shim_unix_peer(int fd, pid_t *_Nonnull pid, uid_t *_Nonnull uid, gid_t *_Nonnull gid);

/// SO_PEERGROUPS: the peer's supplementary groups; their count, or -errno, -ERANGE when there are more than `capacity`.
int shim_unix_peer_groups(int fd, gid_t *_Nonnull groups, int capacity);

/// sendmsg(2), not blocking, without SIGPIPE, with at most `SHIM_DESCRIPTORS_MAX` descriptors; bytes sent or -errno.
ssize_t shim_unix_send(int fd, const void *_Nonnull bytes, size_t size, const int *_Nullable fds, int count);

/// recvmsg(2), not blocking; bytes received or -errno.
///
/// `fds` has place for `SHIM_DESCRIPTORS_MAX` descriptors, close-on-exec, of which `count` were written.
/// `cut` tells whether descriptors or, of a message of a SEQPACKET socket, bytes were lost for want of space.
ssize_t shim_unix_receive(int fd, void *_Nonnull bytes, size_t size, int *_Nonnull fds, int *_Nonnull count,
                          int *_Nonnull cut);

/// sendto(2) of one datagram to a Unix socket, without SIGPIPE; `path` with a leading `@` is an abstract name.
/// Bytes sent or -errno.
ssize_t shim_unix_send_to(int fd, const char *_Nonnull path, const void *_Nonnull bytes, size_t size);

/// Opens a folder to name files in it and for nothing else (open(2), O_PATH); a descriptor or -errno.
int shim_open_folder(const char *_Nonnull path);
