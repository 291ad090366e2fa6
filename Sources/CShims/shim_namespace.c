#include "shim_namespace.h"
#include <errno.h>

int shim_unshare_network(void) { return unshare(CLONE_NEWNET) == 0 ? 0 : -errno; }
