#include "CTestSupport.h"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

struct job {
    void (*body)(void *);
    void *context;
};

static void *run(void *argument) {
    const struct job *job = argument;
    job->body(job->context);
    return NULL;
}

int test_on_thread(void (*body)(void *), void *context) {
    struct job job = {.body = body, .context = context};
    pthread_t thread;
    const int result = pthread_create(&thread, NULL, run, &job);
    if (result) return -result;
    return -pthread_join(thread, NULL);
}

int test_unshare_network(void) { return unshare(CLONE_NEWNET) < 0 ? -errno : 0; }

int test_refuse_calls(const long *numbers, size_t count, int code) {
    struct sock_filter filter[64];
    size_t length = 0;
    if (count > 16) return -E2BIG;
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < count; i++) {
        filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)numbers[i], 0, 1);
        filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)code);
    }
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog program = {.len = (unsigned short)length, .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return -errno;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 ? -errno : 0;
}

int test_run(const char *command) {
    const int status = system(command);
    return status >= 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
