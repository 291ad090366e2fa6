#include "shim_clock_state.h"
#include <errno.h>
#include <sys/timex.h>

int shim_clock_is_synchronized(void) {
    struct timex state = {.modes = 0};
    int result = adjtimex(&state);
    if (result < 0) return -errno;
    return result != TIME_ERROR && (state.status & STA_UNSYNC) == 0;
}
