#pragma once
#include <openssl/evp.h>
#include <openssl/core_names.h>
#include <openssl/params.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/crypto.h>
#include <openssl/pkcs12.h>
#include <openssl/provider.h>
#include <malloc.h>

/* A macro that Swift can't import. */
static const unsigned long tunneld_name_flags = XN_FLAG_RFC2253;
