// What tests need of C: threads that may be spoilt, with their own network namespace or system-call filter.
#pragma once

#include <stddef.h>
#include <sys/syscall.h>

/// Runs `body` on a thread of its own and waits for its end. 0 or -errno.
int test_on_thread(void (*_Nonnull body)(void *_Nonnull), void *_Nonnull context);

/// Gives the calling thread a network namespace of its own, which goes with the thread. 0 or -errno; needs root.
int test_unshare_network(void);

/// Makes the calling thread's system calls of these numbers fail with `code` for the rest of its life. 0 or -errno.
int test_refuse_calls(const long *_Nonnull numbers, size_t count, int code);

/// Runs a shell command in the calling thread's namespaces: its exit code.
int test_run(const char *_Nonnull command);

/// Writes the calling thread's calls of fsync, rename and unlink into the buffer, "CALL NAME" a line; NULL ends that.
void test_record_calls(char *_Nullable buffer, size_t count);
