// rtnetlink's messages and constants (rtnetlink(7)).
#pragma once

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/fib_rules.h>
