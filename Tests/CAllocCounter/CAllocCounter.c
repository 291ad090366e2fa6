#include "CAllocCounter.h"
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

// The names under which the C library keeps its own (malloc/malloc.c of glibc).
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static _Atomic uint64_t total;

static void count(void) { atomic_fetch_add_explicit(&total, 1, memory_order_relaxed); }

uint64_t alloc_counter_total(void) { return atomic_load(&total); }

void *malloc(size_t size) {
    count();
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count();
    return __libc_calloc(number, size);
}

void *realloc(void *memory, size_t size) {
    count();
    return __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size) {
    count();
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **result, size_t alignment, size_t size) {
    void *memory = memalign(alignment, size);
    if (!memory) return ENOMEM;
    *result = memory;
    return 0;
}
