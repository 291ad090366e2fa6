// Namespaces (namespaces(7)).
#pragma once

#include <sched.h>

/// Gives the calling thread a network namespace of its own (unshare(2)); 0 or -errno.
int shim_unshare_network(void);
