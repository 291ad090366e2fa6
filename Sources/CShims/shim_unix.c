#include "shim_unix.h"
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

static int fill_address(struct sockaddr_un *address, const char *path) {
    size_t length = strlen(path);
    if (length > SHIM_UNIX_PATH_MAX) return -ENAMETOOLONG;
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path, path, length);
    return 0;
}

int shim_unix_bind(int fd, const char *path) {
    struct sockaddr_un address;
    int result = fill_address(&address, path);
    if (result < 0) return result;
    return bind(fd, (struct sockaddr *)&address, sizeof address) < 0 ? -errno : 0;
}

int shim_unix_connect(int fd, const char *path) {
    struct sockaddr_un address;
    int result = fill_address(&address, path);
    if (result < 0) return result;
    return connect(fd, (struct sockaddr *)&address, sizeof address) < 0 ? -errno : 0;
}

int shim_unix_accept(int fd) {
    int accepted = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    return accepted < 0 ? -errno : accepted;
}

int shim_unix_peer(int fd, pid_t *pid, uid_t *uid, gid_t *gid) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) return -errno;
    *pid = peer.pid;
    *uid = peer.uid;
    *gid = peer.gid;
    return 0;
}

int shim_unix_peer_groups(int fd, gid_t *groups, int capacity) {
    socklen_t size = (socklen_t)((size_t)capacity * sizeof *groups);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) < 0) return -errno;
    return (int)(size / sizeof *groups);
}

union control {
    char bytes[CMSG_SPACE(SHIM_DESCRIPTORS_MAX * sizeof(int))];
    struct cmsghdr alignment;
};

ssize_t shim_unix_send(int fd, const void *bytes, size_t size, const int *fds, int count) {
    if (count < 0 || count > SHIM_DESCRIPTORS_MAX) return -EINVAL;
    struct iovec part = {.iov_base = (void *)bytes, .iov_len = size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    union control control;
    if (count > 0) {
        size_t length = (size_t)count * sizeof(int);
        memset(&control, 0, sizeof control);
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(length);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(length);
        memcpy(CMSG_DATA(header), fds, length);
    }
    ssize_t sent = sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    return sent < 0 ? -errno : sent;
}

ssize_t shim_unix_receive(int fd, void *bytes, size_t size, int *fds, int *count, int *cut) {
    union control control;
    struct iovec part = {.iov_base = bytes, .iov_len = size};
    struct msghdr message = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = sizeof control.bytes,
    };
    ssize_t received = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    *count = 0;
    *cut = 0;
    if (received < 0) return -errno;
    *cut = (message.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) != 0;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        // One such header at most comes with a message, so the descriptors fit: the kernel put them into `control`.
        size_t length = header->cmsg_len - CMSG_LEN(0);
        memcpy(fds, CMSG_DATA(header), length);
        *count = (int)(length / sizeof(int));
    }
    return received;
}

ssize_t shim_unix_send_to(int fd, const char *path, const void *bytes, size_t size) {
    struct sockaddr_un address;
    int result = fill_address(&address, path);
    if (result < 0) return result;
    socklen_t length = sizeof address;
    if (path[0] == '@') {
        address.sun_path[0] = 0;
        length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    }
    ssize_t sent =
        sendto(fd, bytes, size, MSG_NOSIGNAL, (const struct sockaddr *)&address, length);
    return sent < 0 ? -errno : sent;
}

int shim_open_folder(const char *path) {
    int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return folder < 0 ? -errno : folder;
}
