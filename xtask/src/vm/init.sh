#!/bin/busybox sh
# The first process of a test VM: mounts what the tool needs, brings the loopback up, runs the tests, ends the VM.
#
# The kernel's messages go to the first serial line, what is printed here to the second, so that neither breaks the
# other's lines. The kernel puts NAME=VALUE words of its command line that it does not know into our environment:
#   GUEST_ARGUMENTS  arguments of the test binary, separated by commas
#   GUEST_CGROUPS    v2 (default), or hybrid: v1 memory in memory/ and v2 in unified/
# and whatever a scenario has for the tests.

/bin/busybox mount -t devtmpfs devtmpfs /dev
exec </dev/null >/dev/ttyS1 2>&1
export PATH=/bin HOME=/ TMPDIR=/tmp RUST_BACKTRACE=0 RSTAT_PROBE=/bin/rstat-probe
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs -o mode=1777 tmpfs /tmp
ip link set lo up

case ${GUEST_CGROUPS:-v2} in
v2) mount -t cgroup2 cgroup2 /sys/fs/cgroup ;;
hybrid)
    mount -t tmpfs -o mode=755 cgroup /sys/fs/cgroup
    mkdir /sys/fs/cgroup/memory /sys/fs/cgroup/unified
    mount -t cgroup -o memory cgroup /sys/fs/cgroup/memory
    mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified
    ;;
esac

echo "@@ guest begins: $(uname -r)"
cd /tmp
# shellcheck disable=SC2046 # one word an argument is what is wanted
/bin/guest --include-ignored --test-threads=1 --nocapture --color=never $(echo "$GUEST_ARGUMENTS" | tr , ' ')
echo "@@ guest ends: $?"

# Closing the line waits until everything is sent.
exec >/dev/console 2>&1
poweroff -f
