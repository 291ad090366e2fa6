// Tells the thread sanitizer of the two halves of Swift's Mutex that it can't see.
//
// Where two threads want a Mutex at once, Synchronization waits and wakes in its own library, which isn't built for the
// sanitizer, and by a futex whose owner the kernel changes: the sanitizer then takes the lock for none, and all that it
// protects for races. These definitions stand before the library's own (they are found first), call them, and add what
// is missing: what was done before an unlock is seen after the lock. Without contention the compiler inlines both halves,
// which the sanitizer sees. If a later Swift names them otherwise, these are unused and the false reports are back.
#if __has_feature(thread_sanitizer)
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define SELF __attribute__((swift_context)) void *

typedef __attribute__((swiftcall)) void lock_function(uint32_t thread, SELF handle);
typedef __attribute__((swiftcall)) void unlock_function(SELF handle);

__attribute__((swiftcall)) void mutex_edge_lock(uint32_t thread, SELF handle) __asm__(LOCK);
__attribute__((swiftcall)) void mutex_edge_unlock(SELF handle) __asm__(UNLOCK);
void __tsan_acquire(void *address);
void __tsan_release(void *address);

static void *library(_Atomic(void *) *known, const char *name) {
    void *found = atomic_load_explicit(known, memory_order_relaxed);
    if (found) return found;
    found = dlsym(RTLD_NEXT, name);
    if (!found) {
        fprintf(stderr, "Synchronization has no %s: adapt Tests/CTestSupport/MutexEdges.c\n", name);
        abort();
    }
    atomic_store_explicit(known, found, memory_order_relaxed);
    return found;
}

__attribute__((swiftcall)) void mutex_edge_lock(uint32_t thread, SELF handle) {
    static _Atomic(void *) known;
    ((lock_function *)library(&known, LOCK))(thread, handle);
    __tsan_acquire(handle);
}

__attribute__((swiftcall)) void mutex_edge_unlock(SELF handle) {
    static _Atomic(void *) known;
    __tsan_release(handle);
    ((unlock_function *)library(&known, UNLOCK))(handle);
}
#endif
