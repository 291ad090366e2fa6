// ChaCha20-Poly1305 by intel-ipsec-mb, for whoever finds that library on the machine: it is opened when it is asked for.
// Source: intel-ipsec-mb.h
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The library's state for one caller at a time.
struct shim_ipsec_mb;

/// Instructions that it was set up for.
enum shim_ipsec_mb_level {
    SHIM_IPSEC_MB_AVX2 = 1,
    SHIM_IPSEC_MB_AVX512 = 2,
};

/// Opens the library and sets a state up for the instructions of this processor.
///
/// Returns 0, or: -ENOSYS where this program was built without the library's header, -ENOENT where the library isn't there,
/// -EPROTONOSUPPORT where it is older than the header, -ENOTSUP where the processor has neither AVX2 nor AVX-512, -ENOMEM.
int shim_ipsec_mb_open(struct shim_ipsec_mb **opened);

void shim_ipsec_mb_close(struct shim_ipsec_mb *opened);

enum shim_ipsec_mb_level shim_ipsec_mb_level(const struct shim_ipsec_mb *opened);

/// The library's version, like "1.3.0".
const char *shim_ipsec_mb_version(const struct shim_ipsec_mb *opened);

/// Encrypts or decrypts `length` bytes where they stand, without additional data, and writes the tag that belongs to the
/// ciphertext: when decrypting, it is the caller who compares.
///
/// `key` has 32 bytes, `nonce` 12, `tag` 16. False where the library refused.
bool shim_ipsec_mb_chacha20_poly1305(
    struct shim_ipsec_mb *opened, const void *key, const void *nonce, void *text, size_t length, void *tag, bool encrypt);
