#include "shim_epoll.h"
#include <errno.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>

static int result(int value) { return value < 0 ? -errno : value; }

int shim_epoll_create(void) { return result(epoll_create1(EPOLL_CLOEXEC)); }

int shim_epoll_control(int epoll, int operation, int descriptor, uint32_t events, uint64_t token) {
    struct epoll_event event = {.events = events, .data = {.u64 = token}};
    return result(epoll_ctl(epoll, operation, descriptor, &event));
}

int shim_epoll_wait(int epoll, struct epoll_event *events, int capacity, int timeout_milliseconds) {
    return result(epoll_wait(epoll, events, capacity, timeout_milliseconds));
}

uint64_t shim_epoll_token(const struct epoll_event *event) { return event->data.u64; }

int shim_eventfd_create(void) { return result(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

int shim_timerfd_create(void) { return result(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)); }

int shim_timerfd_set(int timer, uint64_t nanoseconds) {
    const struct itimerspec spec = {
        .it_value = {.tv_sec = (time_t)(nanoseconds / 1000000000u), .tv_nsec = (long)(nanoseconds % 1000000000u)},
    };
    return result(timerfd_settime(timer, TFD_TIMER_ABSTIME, &spec, NULL));
}
