// prctl(2) is variadic, so Swift does not import it.
#pragma once

#include <stdint.h>

/// Makes the process undumpable (no core, no ptrace by its own user); 0 or -errno.
int shim_set_undumpable(void);

/// 1 if the process can be dumped, 0 if not, or -errno.
int shim_is_dumpable(void);

/// Sets no-new-privs for the calling thread and those it makes; 0 or -errno.
int shim_set_no_new_privileges(void);
