#include "shim_process.h"
#include <errno.h>
#include <sys/prctl.h>

static int result(int value) { return value < 0 ? -errno : value; }

int shim_set_undumpable(void) { return result(prctl(PR_SET_DUMPABLE, 0L, 0L, 0L, 0L)); }

int shim_is_dumpable(void) { return result(prctl(PR_GET_DUMPABLE, 0L, 0L, 0L, 0L)); }

int shim_set_no_new_privileges(void) { return result(prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L)); }
