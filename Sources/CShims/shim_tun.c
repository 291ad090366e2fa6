#include "shim_tun.h"
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

static int result(int value) { return value < 0 ? -errno : value; }

int shim_tun_open(void) { return result(open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK)); }

int shim_tun_attach(int descriptor, const char *name, int flags) {
    struct ifreq request = {.ifr_flags = (short)flags};
    if (strlen(name) >= sizeof request.ifr_name) return -ENAMETOOLONG;
    strcpy(request.ifr_name, name);
    return result(ioctl(descriptor, TUNSETIFF, &request));
}

int shim_tun_interface(int descriptor, char *name, int *flags) {
    struct ifreq request = {0};
    if (ioctl(descriptor, TUNGETIFF, &request) < 0) return -errno;
    memcpy(name, request.ifr_name, IFNAMSIZ);
    name[IFNAMSIZ - 1] = 0;
    *flags = (unsigned short)request.ifr_flags;
    return 0;
}

int shim_tun_set_offload(int descriptor, unsigned offload) {
    return result(ioctl(descriptor, TUNSETOFFLOAD, (unsigned long)offload));
}

int shim_tun_set_owner(int descriptor, uid_t owner) {
    return result(ioctl(descriptor, TUNSETOWNER, (unsigned long)owner));
}

int shim_tun_set_persistent(int descriptor, bool persistent) {
    return result(ioctl(descriptor, TUNSETPERSIST, (unsigned long)persistent));
}

ssize_t shim_tun_read(int descriptor, void *buffer, size_t capacity) {
    const ssize_t length = read(descriptor, buffer, capacity);
    return length < 0 ? -errno : length;
}

_Static_assert(sizeof(struct shim_part) == sizeof(struct iovec), "a part is an iovec");
_Static_assert(offsetof(struct shim_part, base) == offsetof(struct iovec, iov_base), "a part is an iovec");
_Static_assert(offsetof(struct shim_part, length) == offsetof(struct iovec, iov_len), "a part is an iovec");

ssize_t shim_tun_write(int descriptor, const struct shim_part *parts, int count) {
    const ssize_t length = writev(descriptor, (const struct iovec *)parts, count);
    return length < 0 ? -errno : length;
}
