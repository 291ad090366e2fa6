// The TUN device's control calls (linux/if_tun.h): their request numbers are macros that Swift can't import.
#pragma once

#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// Offloads that Linux 6.2 added and Debian 12's headers lack (linux/if_tun.h, linux/virtio_net.h of 6.2).
#ifndef TUN_F_USO4
#define TUN_F_USO4 0x20
#define TUN_F_USO6 0x40
#endif
#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5
#endif

/// Opens /dev/net/tun nonblocking and close-on-exec: a descriptor, or -errno.
int shim_tun_open(void);

/// TUNSETIFF: attaches the descriptor to the interface `name`, which is made if there is none. 0 or -errno.
///
/// `flags` are IFF_TUN and its companions.
int shim_tun_attach(int descriptor, const char *_Nonnull name, int flags);

/// TUNGETIFF: the name (IFNAMSIZ bytes, ended by 0) and the flags of the attached interface. 0 or -errno.
int shim_tun_interface(int descriptor, char *_Nonnull name, int *_Nonnull flags);

/// TUNSETOFFLOAD: what the kernel may leave undone in packets that it hands us (TUN_F_*). 0 or -errno.
int shim_tun_set_offload(int descriptor, unsigned offload);

/// TUNSETOWNER: the only user, beside holders of CAP_NET_ADMIN, who may attach. 0 or -errno.
int shim_tun_set_owner(int descriptor, uid_t owner);

/// TUNSETPERSIST: whether the interface outlives its last descriptor. 0 or -errno.
int shim_tun_set_persistent(int descriptor, bool persistent);



/// Reads one packet: its length with the virtio-net header, or -errno.
ssize_t shim_tun_read(int descriptor, void *_Nonnull buffer, size_t capacity);

/// A part of a packet that is written from several places: `struct iovec`, which several modules export.
struct shim_part {
    void *_Nonnull base;
    size_t length;
};

/// Writes one packet, header included, from its parts: its length, or -errno.
ssize_t shim_tun_write(int descriptor, const struct shim_part *_Nonnull parts, int count);
