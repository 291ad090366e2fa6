// The messages and constants of rtnetlink (rtnetlink(7)) and of generic netlink.
#pragma once

#include <net/if_arp.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/fib_rules.h>
#include <linux/genetlink.h>
#include <linux/nl80211.h>
