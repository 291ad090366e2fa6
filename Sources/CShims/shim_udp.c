#include "shim_udp.h"
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#include <linux/errqueue.h>  // needs time.h before it

static int result(int value) { return value < 0 ? -errno : value; }

/// Room for the control messages of one reception: UDP_GRO, and IP_TOS or IPV6_TCLASS.
#define RECEIVE_CONTROL (CMSG_SPACE(sizeof(int)) * 2)
/// Room for those of one sending: UDP_SEGMENT, and IP_TOS or IPV6_TCLASS.
#define SEND_CONTROL (CMSG_SPACE(sizeof(uint16_t)) + CMSG_SPACE(sizeof(int)))

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static socklen_t to_kernel(const struct shim_endpoint *endpoint, union address *address) {
    if (endpoint->family == AF_INET) {
        memset(&address->v4, 0, sizeof address->v4);
        address->v4.sin_family = AF_INET;
        address->v4.sin_port = htons(endpoint->port);
        address->v4.sin_addr.s_addr = htonl((uint32_t)endpoint->low);
        return sizeof address->v4;
    }
    memset(&address->v6, 0, sizeof address->v6);
    address->v6.sin6_family = AF_INET6;
    address->v6.sin6_port = htons(endpoint->port);
    address->v6.sin6_scope_id = endpoint->zone;
    const uint64_t words[2] = {htobe64(endpoint->high), htobe64(endpoint->low)};
    memcpy(&address->v6.sin6_addr, words, sizeof words);
    return sizeof address->v6;
}

static void from_kernel(const union address *address, socklen_t length, struct shim_endpoint *endpoint) {
    memset(endpoint, 0, sizeof *endpoint);
    if (length >= sizeof address->v4 && address->any.sa_family == AF_INET) {
        endpoint->family = AF_INET;
        endpoint->port = ntohs(address->v4.sin_port);
        endpoint->low = ntohl(address->v4.sin_addr.s_addr);
    } else if (length >= sizeof address->v6 && address->any.sa_family == AF_INET6) {
        uint64_t words[2];
        memcpy(words, &address->v6.sin6_addr, sizeof words);
        endpoint->family = AF_INET6;
        endpoint->port = ntohs(address->v6.sin6_port);
        endpoint->zone = address->v6.sin6_scope_id;
        endpoint->high = be64toh(words[0]);
        endpoint->low = be64toh(words[1]);
    }
}

/// One message to send, with all that its header points to.
struct outgoing {
    union address address;
    struct iovec data;
    _Alignas(struct cmsghdr) char control[SEND_CONTROL];
};

static void prepare(struct msghdr *header, struct outgoing *outgoing, const struct shim_udp_group *group) {
    memset(header, 0, sizeof *header);
    header->msg_name = &outgoing->address;
    header->msg_namelen = to_kernel(&group->destination, &outgoing->address);
    outgoing->data.iov_base = (void *)group->data;
    outgoing->data.iov_len = group->length;
    header->msg_iov = &outgoing->data;
    header->msg_iovlen = 1;
    const bool segmented = group->length > group->segment;
    if (!segmented && !group->ecn) return;
    char *next = outgoing->control;
    if (segmented) {
        struct cmsghdr *message = (struct cmsghdr *)next;
        message->cmsg_level = IPPROTO_UDP;
        message->cmsg_type = UDP_SEGMENT;
        message->cmsg_len = CMSG_LEN(sizeof(uint16_t));
        const uint16_t size = (uint16_t)group->segment;
        memcpy(CMSG_DATA(message), &size, sizeof size);
        next += CMSG_SPACE(sizeof size);
    }
    if (group->ecn) {
        struct cmsghdr *message = (struct cmsghdr *)next;
        const bool ipv6 = group->destination.family == AF_INET6;
        message->cmsg_level = ipv6 ? IPPROTO_IPV6 : IPPROTO_IP;
        message->cmsg_type = ipv6 ? IPV6_TCLASS : IP_TOS;
        message->cmsg_len = CMSG_LEN(sizeof(int));
        const int value = group->ecn;
        memcpy(CMSG_DATA(message), &value, sizeof value);
        next += CMSG_SPACE(sizeof value);
    }
    header->msg_control = outgoing->control;
    header->msg_controllen = (size_t)(next - outgoing->control);
}

int shim_udp_send(int socket, const struct shim_udp_group *groups, int count) {
    struct mmsghdr headers[SHIM_UDP_BATCH];
    struct outgoing outgoing[SHIM_UDP_BATCH];
    if (count > SHIM_UDP_BATCH) count = SHIM_UDP_BATCH;
    for (int i = 0; i < count; i++) prepare(&headers[i].msg_hdr, &outgoing[i], &groups[i]);
    return result(sendmmsg(socket, headers, (unsigned)count, MSG_DONTWAIT | MSG_NOSIGNAL));
}

int shim_udp_send_one(int socket, const struct shim_udp_group *group) {
    struct msghdr header;
    struct outgoing outgoing;
    prepare(&header, &outgoing, group);
    return sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 1;
}

/// One message to receive, with all that its header points to except the data.
struct incoming {
    union address address;
    struct iovec data;
    _Alignas(struct cmsghdr) char control[RECEIVE_CONTROL];
};

static void lay_out(struct msghdr *header, struct incoming *incoming, const struct shim_udp_train *train) {
    incoming->data.iov_base = train->buffer;
    incoming->data.iov_len = train->capacity;
    header->msg_name = &incoming->address;
    header->msg_namelen = sizeof incoming->address;
    header->msg_iov = &incoming->data;
    header->msg_iovlen = 1;
    header->msg_control = incoming->control;
    header->msg_controllen = sizeof incoming->control;
    header->msg_flags = 0;
}

static void take(struct msghdr *header, struct incoming *incoming, uint32_t length, struct shim_udp_train *train) {
    train->length = length;
    train->segment = length;
    train->ecn = 0;
    train->truncated = header->msg_flags & (MSG_TRUNC | MSG_CTRUNC);
    from_kernel(&incoming->address, header->msg_namelen, &train->source);
    for (struct cmsghdr *message = CMSG_FIRSTHDR(header); message; message = CMSG_NXTHDR(header, message)) {
        int value = 0;
        const size_t size = message->cmsg_len - CMSG_LEN(0);
        memcpy(&value, CMSG_DATA(message), size < sizeof value ? size : sizeof value);
        if (message->cmsg_level == IPPROTO_UDP && message->cmsg_type == UDP_GRO) {
            if (value > 0) train->segment = (uint32_t)value;
        } else if ((message->cmsg_level == IPPROTO_IP && message->cmsg_type == IP_TOS) ||
                   (message->cmsg_level == IPPROTO_IPV6 && message->cmsg_type == IPV6_TCLASS)) {
            train->ecn = value & 3;
        }
    }
}

int shim_udp_receive(int socket, struct shim_udp_train *trains, int count) {
    struct mmsghdr headers[SHIM_UDP_BATCH];
    struct incoming incoming[SHIM_UDP_BATCH];
    if (count > SHIM_UDP_BATCH) count = SHIM_UDP_BATCH;
    for (int i = 0; i < count; i++) lay_out(&headers[i].msg_hdr, &incoming[i], &trains[i]);
    const int received = recvmmsg(socket, headers, (unsigned)count, MSG_DONTWAIT, NULL);
    if (received < 0) return -errno;
    for (int i = 0; i < received; i++) take(&headers[i].msg_hdr, &incoming[i], headers[i].msg_len, &trains[i]);
    return received;
}

int shim_udp_receive_one(int socket, struct shim_udp_train *train) {
    struct msghdr header;
    struct incoming incoming;
    lay_out(&header, &incoming, train);
    const ssize_t length = recvmsg(socket, &header, MSG_DONTWAIT);
    if (length < 0) return -errno;
    take(&header, &incoming, (uint32_t)length, train);
    return 1;
}

int shim_udp_next_error(int socket, struct shim_udp_error *error) {
    union address address;
    _Alignas(struct cmsghdr) char control[512];
    char data[1];
    struct iovec unused = {.iov_base = data, .iov_len = sizeof data};
    struct msghdr header = {
        .msg_name = &address,
        .msg_namelen = sizeof address,
        .msg_iov = &unused,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof control,
    };
    if (recvmsg(socket, &header, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return -errno;
    from_kernel(&address, header.msg_namelen, &error->destination);
    for (struct cmsghdr *message = CMSG_FIRSTHDR(&header); message; message = CMSG_NXTHDR(&header, message)) {
        if (!((message->cmsg_level == IPPROTO_IP && message->cmsg_type == IP_RECVERR) ||
              (message->cmsg_level == IPPROTO_IPV6 && message->cmsg_type == IPV6_RECVERR)))
            continue;
        struct sock_extended_err detail;
        if (message->cmsg_len < CMSG_LEN(sizeof detail)) continue;
        memcpy(&detail, CMSG_DATA(message), sizeof detail);
        error->code = (int)detail.ee_errno;
        error->mtu = detail.ee_errno == EMSGSIZE ? detail.ee_info : 0;
        return error->code ? 1 : 0;
    }
    return 0;
}

int shim_socket_error(int socket) {
    int value = 0;
    socklen_t length = sizeof value;
    return getsockopt(socket, SOL_SOCKET, SO_ERROR, &value, &length) < 0 ? -errno : value;
}

int shim_socket_name(int socket, struct shim_endpoint *endpoint) {
    union address address = {0};
    socklen_t length = sizeof address;
    if (getsockname(socket, &address.any, &length) < 0) return -errno;
    from_kernel(&address, length, endpoint);
    return 0;
}

static int set(int socket, int level, int option, int value) {
    return result(setsockopt(socket, level, option, &value, sizeof value));
}

static int enable(int socket, int level, int option) { return set(socket, level, option, 1); }

int shim_udp_enable_trains(int socket, bool enabled) { return set(socket, IPPROTO_UDP, UDP_GRO, enabled); }

int shim_udp_enable_ecn(int socket, bool ipv6) {
    return ipv6 ? enable(socket, IPPROTO_IPV6, IPV6_RECVTCLASS) : enable(socket, IPPROTO_IP, IP_RECVTOS);
}

int shim_udp_enable_errors(int socket, bool ipv6) {
    return ipv6 ? enable(socket, IPPROTO_IPV6, IPV6_RECVERR) : enable(socket, IPPROTO_IP, IP_RECVERR);
}

int shim_udp_refuse_fragments(int socket, bool ipv6, bool refuse) {
    const int value = refuse ? IP_PMTUDISC_DO : IP_PMTUDISC_WANT;  // those of IPv6 are the same numbers
    return result(ipv6 ? setsockopt(socket, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &value, sizeof value)
                       : setsockopt(socket, IPPROTO_IP, IP_MTU_DISCOVER, &value, sizeof value));
}

int shim_udp_probe_groups(int socket) {
    int value = 0;
    socklen_t length = sizeof value;
    return result(getsockopt(socket, IPPROTO_UDP, UDP_SEGMENT, &value, &length));
}

int shim_wait_writable(int socket, int milliseconds) {
    struct pollfd descriptor = {.fd = socket, .events = POLLOUT};
    return result(poll(&descriptor, 1, milliseconds));
}
