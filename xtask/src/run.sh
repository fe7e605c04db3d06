#!/usr/bin/env bash
# Runs warpfold's device tests and benches on a machine with an NVIDIA GPU; needs its driver, glibc and bash.
#
#   ./run.sh [all|tests|bench|sanitize]      all = tests, then bench
#
# Without a GPU the tests count themselves as skipped. WARPFOLD_REQUIRE_GPU=1 turns a skip into a failure.
# `sanitize` runs the tests of short inputs under the four tools of compute-sanitizer, from a CUDA installation.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
export WARPFOLD_DATA_DIR="$PWD/data"

passed=0 failed=0 skipped=0 broken=0

# Runs one test program and adds up the counts of its last line.
run_tests() {
    local log line
    log=$(mktemp)
    echo "=== $*"
    "$@" 2>&1 | tee "$log" || { broken=$((broken + 1)); echo "=== $*: FAILED"; }
    while read -r line; do
        [[ $line =~ ([0-9]+)\ passed\;\ ([0-9]+)\ failed\;\ ([0-9]+)\ ignored ]] || continue
        passed=$((passed + BASH_REMATCH[1]))
        failed=$((failed + BASH_REMATCH[2]))
        skipped=$((skipped + BASH_REMATCH[3]))
    done < <(grep '^test result:' "$log")
    rm -f "$log"
}

tests() {
    local program
    for program in tests/*; do
        run_tests "./$program"
    done
}

bench() {
    local program
    for program in benches/*; do
        [[ -x $program ]] || continue
        echo "=== ./$program"
        "./$program" --bench || { broken=$((broken + 1)); echo "=== ./$program: FAILED"; }
    done
}

sanitize() {
    local sanitizer program tool
    sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | tail -n 1)
    if [[ -z $sanitizer ]]; then
        echo "error: no compute-sanitizer here" >&2
        exit 1
    fi
    for tool in memcheck racecheck initcheck synccheck; do
        for program in tests/*; do
            # Some tests ask for what the driver must refuse: that is no fault of the kernels.
            [[ $tool == memcheck ]] && set -- --report-api-errors no || set --
            run_tests "$sanitizer" --tool "$tool" "$@" --error-exitcode 9 "./$program" quick_ --test-threads 1
        done
    done
}

case "${1:-all}" in
    tests) tests ;;
    bench) bench ;;
    sanitize) sanitize ;;
    all) tests; bench ;;
    *) echo "usage: ./run.sh [all|tests|bench|sanitize]" >&2; exit 2 ;;
esac

echo
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0 && broken == 0))
