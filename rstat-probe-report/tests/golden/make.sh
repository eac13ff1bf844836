#!/bin/sh
# Makes the golden tables of this folder anew with the bpftrace of this machine. Needs root.
#
# They were made with bpftrace 0.17.0 (Debian 12). That version puts values from 2^32 on into the
# wrong bucket, therefore none here is that large.
set -eu
cd "$(dirname "$0")"

# table NAME STATEMENTS: what bpftrace prints for the histograms that STATEMENTS fill. Counts
# above a few come from a loop; bpftrace allows loops in BEGIN like anywhere.
table() {
    {
        echo "# bpftrace -e 'BEGIN { $2 exit(); }'"
        bpftrace -e "BEGIN { $2 exit(); }" 2>/dev/null | grep '|$'
    } >"$1.txt"
}

# repeat COUNT STATEMENT: COUNT times STATEMENT.
repeat() {
    printf '$i = 0; while ($i < %s) { %s $i++; } ' "$1" "$2"
}

table zero_only '@ = hist(0);'
table one_only '@ = hist(1);'
table zero_and_one '@ = hist(0); @ = hist(1); @ = hist(1);'
table single_bucket '@ = hist(3000); @ = hist(4000);'
table gaps '@ = hist(0); @ = hist(7); @ = hist(1000); @ = hist(1000); @ = hist(1048576);'
table negative '@ = hist(-1); @ = hist(-1000); @ = hist(0); @ = hist(2);'
table negative_only '@ = hist(-5);'
table all_powers '@ = hist(0); @ = hist(1); '"$(
    power=2
    while [ "$power" -le 2147483648 ]; do
        printf '@ = hist(%s); ' "$power"
        power=$((power * 2))
    done
)"
table edges '@ = hist(1); @ = hist(2); @ = hist(3); @ = hist(4); @ = hist(1023); @ = hist(1024); @ = hist(1025); @ = hist(4294967295);'
table three_of_seven "$(repeat 3 '@ = hist(16);')$(repeat 7 '@ = hist(32);')"
table large_counts "$(repeat 999 '@ = hist(2);')$(repeat 1000 '@ = hist(4);')$(repeat 500 '@ = hist(8);')$(repeat 19 '@ = hist(16);')$(repeat 20 '@ = hist(32);')"
# Every quotient n/60, in buckets of their own; two tables because there are 32 buckets.
table of_sixty_1_to_30 "$(
    n=1
    while [ "$n" -le 30 ]; do
        repeat "$n" "@ = hist($((1 << n)));"
        n=$((n + 1))
    done
    repeat 60 '@ = hist(2147483648);'
)"
table of_sixty_31_to_60 "$(
    n=31
    while [ "$n" -le 60 ]; do
        repeat "$n" "@ = hist($((1 << (n - 30))));"
        n=$((n + 1))
    done
)"
table linear '@ = lhist(150000, 0, 500000, 100000); @ = lhist(150001, 0, 500000, 100000); @ = lhist(300000, 0, 500000, 100000); @ = lhist(500000, 0, 500000, 100000);'
table linear_kilo "$(
    n=0
    while [ "$n" -le 3 ]; do
        repeat $((4 - n)) "@ = lhist($((n * 524288)), 0, 5242880, 524288);"
        n=$((n + 1))
    done
)"
