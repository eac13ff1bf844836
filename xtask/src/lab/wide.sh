# Runs in a guest, by busybox: a load whose sections are long enough to be the longest time with IRQs off.
#
# Thousands of cgroups below one, each made dirty on each CPU by being visited there; then one read of cpu.stat flushes
# them all. One process does everything, so that no other CPU of the emulated machine has anything to do meanwhile.
#   $1 cgroups, $2 rounds

wide=/sys/fs/cgroup/wide
cpus=$(nproc)
round=0
while [ $round -lt "$2" ]; do
    cpu=0
    while [ $cpu -lt "$cpus" ]; do
        taskset -p "$(printf %x $((1 << cpu)))" $$ >/dev/null
        child=0
        while [ $child -lt "$1" ]; do
            echo 0 >$wide/$child/cgroup.procs
            child=$((child + 1))
        done
        cpu=$((cpu + 1))
    done
    read -r _ <$wide/cpu.stat
    round=$((round + 1))
done
echo 0 >/sys/fs/cgroup/cgroup.procs
