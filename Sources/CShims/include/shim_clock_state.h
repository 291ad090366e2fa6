// The kernel's view of the clock's synchronization (adjtimex(2)).
#pragma once

#include <stdbool.h>

/// 1 where the clock is kept in step with a time server, 0 where not, -errno where the kernel doesn't say.
int shim_clock_is_synchronized(void);
