// The messages and constants of rtnetlink (rtnetlink(7)), of generic netlink, and of nftables' events.
#pragma once

#include <net/if_arp.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/if_addr.h>
#include <linux/if_addrlabel.h>
#include <linux/if_link.h>
#include <linux/fib_rules.h>
#include <linux/genetlink.h>
#include <linux/nl80211.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nf_tables.h>
