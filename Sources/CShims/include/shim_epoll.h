// epoll(7), eventfd(2) and timerfd_create(2): Swift's Glibc module exports none of them.
#pragma once

#include <stdint.h>
#include <sys/epoll.h>

/// A close-on-exec epoll descriptor, or -errno.
int shim_epoll_create(void);

/// epoll_ctl(2) with `token` as the data of the event; 0 or -errno.
int shim_epoll_control(int epoll, int operation, int descriptor, uint32_t events, uint64_t token);

/// The number of events written to `events`, or -errno.
int shim_epoll_wait(int epoll, struct epoll_event *_Nonnull events, int capacity, int timeout_milliseconds);

/// The token of an event (epoll_data_t is a union).
uint64_t shim_epoll_token(const struct epoll_event *_Nonnull event);

/// A close-on-exec, nonblocking eventfd that counts from 0, or -errno.
int shim_eventfd_create(void);

/// A close-on-exec, nonblocking timerfd on CLOCK_BOOTTIME, or -errno.
int shim_timerfd_create(void);

/// Arms the timer once at an absolute time in nanoseconds; 0 disarms it. 0 or -errno.
int shim_timerfd_set(int timer, uint64_t nanoseconds);
