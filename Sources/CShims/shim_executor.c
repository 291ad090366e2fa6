#include "shim_executor.h"
#include <stdatomic.h>
#include <stddef.h>

// Declared here, because neither header comes with the toolchain in a place where a C target finds it. Sources:
// dispatch/queue.h; swift/Runtime/Concurrency.h, "Hooks".
#define SWIFT_CALL __attribute__((swiftcall))
typedef struct dispatch_queue_s *dispatch_queue_t;
extern dispatch_queue_t dispatch_queue_create(const char *label, void *attributes);
extern void dispatch_async_f(dispatch_queue_t queue, void *context, void (*work)(void *));
extern SWIFT_CALL void swift_job_run(void *job, void *identity, void *implementation);
extern SWIFT_CALL void (*swift_task_enqueueGlobal_hook)(void *job, void *original);

enum { queue_count = 2 };
static dispatch_queue_t queues[queue_count];
static atomic_uint turn;

static void run(void *job) { swift_job_run(job, NULL, NULL); }

static SWIFT_CALL void enqueue(void *job, void *original) {
    (void)original;
    const unsigned number = atomic_fetch_add_explicit(&turn, 1, memory_order_relaxed);
    dispatch_async_f(queues[number % queue_count], job, run);
}

void shim_run_tasks_quietly(void) {
    for (int number = 0; number < queue_count; number++) queues[number] = dispatch_queue_create("tasks", NULL);
    swift_task_enqueueGlobal_hook = enqueue;
}
