#include "shim_base.h"
#include <string.h>

const char *shim_errno_name(int code) { return strerrorname_np(code); }

const char *shim_errno_text(int code) { return strerrordesc_np(code); }
