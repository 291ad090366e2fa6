#pragma once
#include <nftables/libnftables.h>
