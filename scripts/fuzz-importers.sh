#!/bin/sh
# Fuzzes the importers of foreign files, one target after the other.
#
#     scripts/fuzz-importers.sh [SECONDS [TARGET...]]
#
# SECONDS are per target (60). Without targets: all of rstat-probe-report/fuzz. It needs cargo-fuzz
# (`cargo install cargo-fuzz`) and a nightly compiler. The public samples are the seeds. What is
# built and found goes below FUZZ_OUT (target/fuzz): TARGET.log, TARGET/corpus, TARGET/artifacts;
# a last line says which targets found something, and the exit code is 1 then.
set -u

seconds=${1:-60}
[ $# -gt 0 ] && shift
root=$(cd "$(dirname "$0")/.." && pwd)
report=$root/rstat-probe-report
out=${FUZZ_OUT:-$root/target/fuzz}
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$out/build}"
mkdir -p "$out" || exit 2
cd "$report" || exit 2
[ $# -gt 0 ] || set -- $(cargo +nightly fuzz list)

# The crates have no unsafe code: sanitizers would only slow the search down.
cargo +nightly fuzz build -s none || exit 2
found=
for target in "$@"; do
    mkdir -p "$out/$target/corpus" "$out/$target/artifacts"
    if cargo +nightly fuzz run -s none "$target" "$out/$target/corpus" tests/corpus/samples -- \
        -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 -max_len=65536 \
        -dict=fuzz/importers.dict -artifact_prefix="$out/$target/artifacts/" >"$out/$target.log" 2>&1
    then
        echo "$target: nothing found; $(grep -a 'DONE' "$out/$target.log" | tail -n 1)"
    else
        found="$found $target"
        echo "$target: FOUND, see $out/$target.log and $out/$target/artifacts"
    fi
done
[ -z "$found" ] && echo "nothing found" && exit 0
echo "found:$found"
exit 1
