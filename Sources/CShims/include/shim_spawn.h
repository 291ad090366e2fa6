// Starting processes without privileges, pidfds, memfds: Swift imports none of these calls.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/// How a child is started; every pointer is only read.
struct shim_spawn_request {
    /// The program, as a path; it may lie in folders that `user` may not walk through.
    const char *_Nonnull path;
    char *_Nullable const *_Nonnull arguments;
    char *_Nullable const *_Nonnull environment;
    /// The working directory, entered before the user changes.
    const char *_Nonnull directory;
    /// Descriptors that become 0, 1 and 2.
    int input;
    int output;
    int error;
    /// The user and group that the child runs as.
    uid_t user;
};

/// Where a start failed.
enum shim_spawn_step {
    SHIM_SPAWN_FORK,
    SHIM_SPAWN_SESSION,
    SHIM_SPAWN_DESCRIPTORS,
    SHIM_SPAWN_DIRECTORY,
    SHIM_SPAWN_LIMITS,
    SHIM_SPAWN_GROUPS,
    SHIM_SPAWN_CAPABILITIES,
    SHIM_SPAWN_USER,
    SHIM_SPAWN_NO_NEW_PRIVILEGES,
    SHIM_SPAWN_EXECUTE,
};

/// Starts a child in a session of its own, as `user`, without groups, capabilities or a way to get any, with no other
/// descriptor than 0, 1 and 2.
///
/// Waits until the child has executed the program. Its process id, with a pidfd for it in `*pidfd`; or -errno, with the
/// step that failed in `*failed`.
pid_t shim_spawn(const struct shim_spawn_request *_Nonnull request, int *_Nonnull pidfd, int *_Nonnull failed);

/// pipe2(2), close-on-exec: the reading and the writing end; 0 or -errno.
int shim_pipe(int *_Nonnull ends);

/// pidfd_open(2): a close-on-exec descriptor, or -errno.
int shim_pidfd_open(pid_t pid);

/// pidfd_send_signal(2): 0 or -errno.
int shim_pidfd_signal(int pidfd, int signal);

/// Collects our own ended child: 1 with its `si_code` and `si_status`, 0 while it runs, or -errno.
int shim_pidfd_collect(int pidfd, int *_Nonnull code, int *_Nonnull status);

/// A close-on-exec memfd that can be sealed, or -errno.
int shim_memfd_create(const char *_Nonnull name);

/// Seals a memfd against every change: 0 or -errno.
int shim_memfd_seal(int memfd);

/// Whether `descriptor` is a memfd that nobody can change or shrink any more.
bool shim_memfd_is_sealed(int descriptor);
