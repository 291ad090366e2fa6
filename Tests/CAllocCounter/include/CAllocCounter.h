// Counts the allocations of a whole process: malloc(3) and its companions are replaced by ones that count.
#pragma once

#include <stdint.h>

/// Allocations since the process began, of all threads.
uint64_t alloc_counter_total(void);
