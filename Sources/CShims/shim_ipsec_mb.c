#include "shim_ipsec_mb.h"
#include <errno.h>

#if __has_include(<intel-ipsec-mb.h>)

#include <dlfcn.h>
#include <stdlib.h>

#include <intel-ipsec-mb.h>


#if IMB_VERSION_NUM >= 0x20000
#define LIBRARY "libIPSec_MB.so.2"
#else
#define LIBRARY "libIPSec_MB.so.1"
#endif

struct shim_ipsec_mb {
    IMB_MGR *manager;
    void (*release)(IMB_MGR *);
    const char *version;
    enum shim_ipsec_mb_level level;
};

int shim_ipsec_mb_open(struct shim_ipsec_mb **opened) {
    // Never closed: what is opened once stays for as long as the process lives.
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) return -ENOENT;
    unsigned (*number)(void);
    const char *(*text)(void);
    IMB_MGR *(*allocate)(uint64_t);
    void (*release)(IMB_MGR *);
    void (*set_up)(IMB_MGR *, IMB_ARCH *);
    *(void **)&number = dlsym(library, "imb_get_version");
    *(void **)&text = dlsym(library, "imb_get_version_str");
    *(void **)&allocate = dlsym(library, "alloc_mb_mgr");
    *(void **)&release = dlsym(library, "free_mb_mgr");
    *(void **)&set_up = dlsym(library, "init_mb_mgr_auto");
    // Within a version of the soname members are only ever added, at the end.
    if (!number || !text || !allocate || !release || !set_up || number() < IMB_VERSION_NUM) return -EPROTONOSUPPORT;
    struct shim_ipsec_mb *made = malloc(sizeof *made);
    if (!made) return -ENOMEM;
    IMB_ARCH instructions = IMB_ARCH_NONE;
    made->manager = allocate(0);
    if (made->manager) set_up(made->manager, &instructions);
    if (!made->manager || instructions < IMB_ARCH_AVX2) {
        const int code = made->manager ? -ENOTSUP : -ENOMEM;
        if (made->manager) release(made->manager);
        free(made);
        return code;
    }
    made->release = release;
    made->version = text();
    made->level = instructions >= IMB_ARCH_AVX512 ? SHIM_IPSEC_MB_AVX512 : SHIM_IPSEC_MB_AVX2;
    *opened = made;
    return 0;
}

void shim_ipsec_mb_close(struct shim_ipsec_mb *opened) {
    opened->release(opened->manager);
    free(opened);
}

enum shim_ipsec_mb_level shim_ipsec_mb_level(const struct shim_ipsec_mb *opened) { return opened->level; }

const char *shim_ipsec_mb_version(const struct shim_ipsec_mb *opened) { return opened->version; }

bool shim_ipsec_mb_chacha20_poly1305(
    struct shim_ipsec_mb *opened, const void *key, const void *nonce, void *text, size_t length, void *tag, bool encrypt) {
    static const uint8_t nothing;
    IMB_MGR *manager = opened->manager;
    // A job has what the one before left in it.
    IMB_JOB *job = IMB_GET_NEXT_JOB(manager);
    job->cipher_mode = IMB_CIPHER_CHACHA20_POLY1305;
    job->hash_alg = IMB_AUTH_CHACHA20_POLY1305;
    job->cipher_direction = encrypt ? IMB_DIR_ENCRYPT : IMB_DIR_DECRYPT;
    job->chain_order = encrypt ? IMB_ORDER_CIPHER_HASH : IMB_ORDER_HASH_CIPHER;
    job->enc_keys = key;
    job->dec_keys = key;
    job->key_len_in_bytes = 32;
    job->iv = nonce;
    job->iv_len_in_bytes = 12;
    job->src = text;
    job->dst = text;
    job->cipher_start_src_offset_in_bytes = 0;
    job->msg_len_to_cipher_in_bytes = length;
    job->hash_start_src_offset_in_bytes = 0;
    job->msg_len_to_hash_in_bytes = length;
    job->auth_tag_output = tag;
    job->auth_tag_output_len_in_bytes = 16;
    job->u.CHACHA20_POLY1305.aad = &nothing;
    job->u.CHACHA20_POLY1305.aad_len_in_bytes = 0;
    IMB_JOB *done = IMB_SUBMIT_JOB_NOCHECK(manager);
    if (!done) done = IMB_FLUSH_JOB(manager);
    return done && done->status == IMB_STATUS_COMPLETED;
}

#else

int shim_ipsec_mb_open(struct shim_ipsec_mb **opened) {
    (void)opened;
    return -ENOSYS;
}

void shim_ipsec_mb_close(struct shim_ipsec_mb *opened) { (void)opened; }

enum shim_ipsec_mb_level shim_ipsec_mb_level(const struct shim_ipsec_mb *opened) {
    (void)opened;
    return SHIM_IPSEC_MB_AVX2;
}

const char *shim_ipsec_mb_version(const struct shim_ipsec_mb *opened) {
    (void)opened;
    return "";
}

bool shim_ipsec_mb_chacha20_poly1305(
    struct shim_ipsec_mb *opened, const void *key, const void *nonce, void *text, size_t length, void *tag, bool encrypt) {
    (void)opened, (void)key, (void)nonce, (void)text, (void)length, (void)tag, (void)encrypt;
    return false;
}

#endif
