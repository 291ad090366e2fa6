// What a power cut would show can't be seen by killing a process, so tests look at the calls themselves: these definitions
// come before libc's in a test program, and do the same.
#include "CTestSupport.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static __thread char *record;
static __thread size_t room;
static __thread size_t used;

static void note(const char *call, const char *path) {
    if (record == NULL) return;
    const char *slash = strrchr(path, '/');
    int added = snprintf(record + used, room - used, "%s %s\n", call, slash && slash[1] ? slash + 1 : path);
    if (added > 0 && (size_t)added < room - used) used += (size_t)added;
}

void test_record_calls(char *buffer, size_t count) {
    record = buffer;
    room = count;
    used = 0;
    if (buffer != NULL) buffer[0] = 0;
}

int fsync(int descriptor) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t count = readlink(link, path, sizeof path - 1);
    path[count > 0 ? count : 0] = 0;
    note("fsync", path);
    return (int)syscall(SYS_fsync, descriptor);
}

int rename(const char *old, const char *new) {
    note("rename", new);
    return (int)syscall(SYS_renameat2, AT_FDCWD, old, AT_FDCWD, new, 0);
}

int unlink(const char *path) {
    note("unlink", path);
    return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}
