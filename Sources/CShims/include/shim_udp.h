// UDP sockets in batches: recvmmsg(2), sendmmsg(2) and the control messages of udp(7), ip(7) and ipv6(7).
#pragma once

#include <stdbool.h>
#include <stdint.h>

/// An address, port and zone of either family, numbers in the machine's order.
struct shim_endpoint {
    /// The first eight bytes of an IPv6 address; 0 for IPv4.
    uint64_t high;
    /// The last eight bytes of an IPv6 address; an IPv4 address.
    uint64_t low;
    /// sin6_scope_id; 0 for IPv4.
    uint32_t zone;
    uint16_t port;
    /// AF_INET or AF_INET6; 0 for none.
    uint16_t family;
};

/// Datagrams to one destination that lie back to back, each `segment` bytes long, the last one maybe shorter.
struct shim_udp_group {
    const void *_Nonnull data;
    uint32_t length;
    /// At least `length`: one datagram.
    uint32_t segment;
    struct shim_endpoint destination;
    /// The two ECN bits of the IP header.
    uint8_t ecn;
};

/// Datagrams from one source that lie back to back, each `segment` bytes long, the last one maybe shorter.
struct shim_udp_train {
    // Set by the caller.
    void *_Nonnull buffer;
    uint32_t capacity;
    // Set by a reception.
    uint32_t length;
    /// `length` where it is a single datagram.
    uint32_t segment;
    /// Something was lost, the datagrams or what tells their borders: not to be used.
    bool truncated;
    uint8_t ecn;
    struct shim_endpoint source;
};

/// What the network, or this machine, said about a datagram sent earlier.
struct shim_udp_error {
    /// errno: ECONNREFUSED, EHOSTUNREACH, EMSGSIZE, …
    int code;
    /// With EMSGSIZE: the longest packet, IP header included, that passes; 0 where that isn't known.
    uint32_t mtu;
    /// Where the datagram was sent to; family 0 where it isn't known.
    struct shim_endpoint destination;
};

enum { SHIM_UDP_BATCH = 64 };

/// Sends up to SHIM_UDP_BATCH groups in one call: how many were taken, or -errno of the first.
int shim_udp_send(int socket, const struct shim_udp_group *_Nonnull groups, int count);

/// Sends one group by sendmsg(2): 1, or -errno.
int shim_udp_send_one(int socket, const struct shim_udp_group *_Nonnull group);

/// Receives up to SHIM_UDP_BATCH trains in one call, without waiting: how many, or -errno.
int shim_udp_receive(int socket, struct shim_udp_train *_Nonnull trains, int count);

/// Receives one train by recvmsg(2): 1, or -errno.
int shim_udp_receive_one(int socket, struct shim_udp_train *_Nonnull train);

/// Takes the next entry of the socket's error queue: 1, 0 for one that tells nothing, or -errno (EAGAIN: none left).
int shim_udp_next_error(int socket, struct shim_udp_error *_Nonnull error);

/// Takes the pending error of the socket (SO_ERROR): its errno, 0 for none, or -errno.
int shim_socket_error(int socket);

/// The socket's own address. 0 or -errno.
int shim_socket_name(int socket, struct shim_endpoint *_Nonnull endpoint);

/// UDP_GRO: lets a reception hand over trains. 0 or -errno.
int shim_udp_enable_trains(int socket, bool enabled);

/// Asks for the ECN bits of each train. 0 or -errno.
int shim_udp_enable_ecn(int socket, bool ipv6);

/// Asks for ICMP errors of datagrams sent earlier. 0 or -errno.
int shim_udp_enable_errors(int socket, bool ipv6);

/// Sets what becomes of a datagram that is too long for its path, as far as that is known: true: it is refused with EMSGSIZE,
/// and the MTU stands in the error queue; false: it is sent in fragments. Others aren't fragmented by anybody. 0 or -errno.
int shim_udp_refuse_fragments(int socket, bool ipv6, bool refuse);

/// 0 where the kernel knows UDP_SEGMENT, else -errno.
int shim_udp_probe_groups(int socket);

/// Waits until the socket takes data, at most `milliseconds`: 1, 0 on a timeout, or -errno.
int shim_wait_writable(int socket, int milliseconds);
