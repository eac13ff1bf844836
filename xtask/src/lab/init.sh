#!/bin/busybox sh
# The first process of a lab machine: mounts what the loads need, runs the jobs that the host put into the shared
# folder, ends the machine.
#
# The kernel's messages go to the first serial line, what is printed here to the second.

/bin/busybox mount -t devtmpfs devtmpfs /dev
exec </dev/null >/dev/ttyS1 2>&1
export PATH=/bin HOME=/ TMPDIR=/tmp
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tracefs tracefs /sys/kernel/tracing
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t cgroup2 cgroup2 /sys/fs/cgroup
echo "+memory +cpu" >/sys/fs/cgroup/cgroup.subtree_control
ifconfig lo up
if ! mount -t 9p -o trans=virtio,version=9p2000.L,msize=131072 lab /lab; then
    echo "the shared folder cannot be mounted"
fi

echo "@@ guest begins: $(uname -r)"
cd /tmp
sh /lab/jobs
status=$?
# The console shows only the worst: a page of the OOM killer for each hog would be a load of its own.
dmesg >/lab/dmesg
echo "@@ guest ends: $status"

# Closing the line waits until everything is sent.
exec >/dev/console 2>&1
poweroff -f
