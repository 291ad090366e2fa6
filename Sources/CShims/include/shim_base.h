// The headers of libc and the kernel that Swift modules read constants and structs from.
// `_GNU_SOURCE` is not defined here (its types would clash with those that Glibc exports): the .c files define it.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/socket.h>
#include <malloc.h>

/// The symbolic name of an errno, or NULL (strerrorname_np(3) is a GNU function).
const char *_Nullable shim_errno_name(int code);

/// The text of an errno in English, or NULL (strerrordesc_np(3)).
const char *_Nullable shim_errno_text(int code);
