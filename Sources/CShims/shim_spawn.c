#include "shim_spawn.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct failure {
    int step;
    int code;
};

// Everything from here to `shim_spawn` runs in the child of a process with many threads: system calls only, and those of
// users and groups raw, because glibc's would try to stop the threads that the child doesn't have.

static void fail(int pipe, int step) {
    const struct failure failure = {step, errno};
    (void)!write(pipe, &failure, sizeof failure);
    _exit(127);
}

static int reset_signals(void) {
    for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    return sigprocmask(SIG_SETMASK, &none, NULL);
}

/// Closes all from `first` on.
static int close_from(unsigned first) {
    if (close_range(first, UINT_MAX, 0) == 0) return 0;
    struct rlimit limit;  // Some containers' filters don't know close_range.
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return -1;
    for (rlim_t number = first; number < limit.rlim_cur; number++) close((int)number);
    return 0;
}

/// Puts the three standard descriptors in place, the pipe at 3, the program at 4.
static int place_descriptors(const struct shim_spawn_request *request, int *pipe, int program) {
    // Copies above the places first, so that no source is overwritten before its turn.
    const int input = fcntl(request->input, F_DUPFD_CLOEXEC, 10);
    const int output = fcntl(request->output, F_DUPFD_CLOEXEC, 10);
    const int error = fcntl(request->error, F_DUPFD_CLOEXEC, 10);
    const int report = fcntl(*pipe, F_DUPFD_CLOEXEC, 10);
    const int image = fcntl(program, F_DUPFD_CLOEXEC, 10);
    if (input < 0 || output < 0 || error < 0 || report < 0 || image < 0) return -1;
    if (dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(error, 2) < 0) return -1;
    if (dup3(report, 3, O_CLOEXEC) < 0) return -1;
    *pipe = 3;
    if (dup3(image, 4, O_CLOEXEC) < 0) return -1;
    return close_from(5);
}

static int drop_capabilities(void) {
    for (int capability = 0; capability < 64; capability++) {
        if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0) continue;
        if (errno == EINVAL) break;  // The kernel has no more.
        return -1;
    }
    return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

/// Leaving uid 0 empties the effective and permitted sets, but not the inheritable one.
static int empty_capability_sets(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[2] = {{0}};
    return (int)syscall(SYS_capset, &header, none);
}

static void execute(const struct shim_spawn_request *request) {
    execve(request->path, request->arguments, request->environment);
    if (errno != EACCES) return;
    // The program itself may be executable where the folders above it are closed to the user.
    syscall(SYS_execveat, 4, "", request->arguments, request->environment, AT_EMPTY_PATH);
    if (errno != ETXTBSY) errno = EACCES;
}

static void run_child(const struct shim_spawn_request *request, int pipe, int program) {
    const struct rlimit none = {0, 0};
    const uid_t user = request->user;
    if (setsid() < 0 || reset_signals() != 0) fail(pipe, SHIM_SPAWN_SESSION);
    if (chdir(request->directory) != 0) fail(pipe, SHIM_SPAWN_DIRECTORY);
    if (place_descriptors(request, &pipe, program) != 0) fail(pipe, SHIM_SPAWN_DESCRIPTORS);
    umask(077);
    if (setrlimit(RLIMIT_CORE, &none) != 0) fail(pipe, SHIM_SPAWN_LIMITS);
    if (syscall(SYS_setgroups, 0, NULL) != 0) fail(pipe, SHIM_SPAWN_GROUPS);
    if (drop_capabilities() != 0) fail(pipe, SHIM_SPAWN_CAPABILITIES);
    if (syscall(SYS_setresgid, user, user, user) != 0) fail(pipe, SHIM_SPAWN_USER);
    if (syscall(SYS_setresuid, user, user, user) != 0) fail(pipe, SHIM_SPAWN_USER);
    if (empty_capability_sets() != 0) fail(pipe, SHIM_SPAWN_CAPABILITIES);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail(pipe, SHIM_SPAWN_NO_NEW_PRIVILEGES);
    execute(request);
    fail(pipe, SHIM_SPAWN_EXECUTE);
}

/// What the child wrote, or nothing where its exec closed the pipe.
static int read_failure(int pipe, struct failure *failure) {
    ssize_t count;
    do count = read(pipe, failure, sizeof *failure);
    while (count < 0 && errno == EINTR);
    return count == sizeof *failure;
}

static pid_t start_failed(int *failed, int step, int code) {
    *failed = step;
    return -code;
}

pid_t shim_spawn(const struct shim_spawn_request *request, int *pidfd, int *failed) {
    const int program = open(request->path, O_PATH | O_CLOEXEC);
    if (program < 0) return start_failed(failed, SHIM_SPAWN_EXECUTE, errno);
    int pipe[2];
    if (pipe2(pipe, O_CLOEXEC) != 0) {
        const int code = errno;
        close(program);
        return start_failed(failed, SHIM_SPAWN_FORK, code);
    }
    // No handler of ours may run in the child before its signals are reset.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const pid_t child = _Fork();
    if (child == 0) run_child(request, pipe[1], program);
    const int fork_code = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(pipe[1]);
    struct failure failure = {SHIM_SPAWN_FORK, fork_code};
    int ok = 0;
    if (child > 0) {
        // The child isn't collected before we do it, so its number can't have passed to another process.
        *pidfd = pidfd_open(child, 0);
        failure.code = errno;
        ok = *pidfd >= 0 && !read_failure(pipe[0], &failure);
        if (!ok) {
            kill(child, SIGKILL);
            while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {}
            if (*pidfd >= 0) close(*pidfd);
        }
    }
    close(pipe[0]);
    close(program);
    return ok ? child : start_failed(failed, failure.step, failure.code);
}

// From here on ordinary calls.

static int result(int value) { return value < 0 ? -errno : value; }

int shim_pipe(int *ends) { return result(pipe2(ends, O_CLOEXEC)); }

int shim_pidfd_open(pid_t pid) { return result(pidfd_open(pid, 0)); }

int shim_pidfd_signal(int pidfd, int signal) { return result(pidfd_send_signal(pidfd, signal, NULL, 0)); }

int shim_pidfd_collect(int pidfd, int *code, int *status) {
    siginfo_t info = {0};
    if (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG) != 0) return -errno;
    if (info.si_pid == 0) return 0;
    *code = info.si_code;
    *status = info.si_status;
    return 1;
}

int shim_memfd_create(const char *name) { return result(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING)); }

static const int whole_seal = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

int shim_memfd_seal(int memfd) { return result(fcntl(memfd, F_ADD_SEALS, whole_seal)); }

bool shim_memfd_is_sealed(int descriptor) {
    const int seals = fcntl(descriptor, F_GET_SEALS);
    const int needed = F_SEAL_SHRINK | F_SEAL_WRITE;
    return seals >= 0 && (seals & needed) == needed;
}
