#!/usr/bin/env bash
# Tests of scripts/reframe with ReFrame itself, MPI in CPU memory.
# usage: reframe_test.sh REPOSITORY LINKGAIN BUILD. ReFrame is BUILD/reframe's, else that on PATH; exit status 77
# where there is none.
set -euo pipefail
repository=$(cd "$1" && pwd)
program=$2
reframe=$3/reframe/bin/reframe
[[ -x $reframe ]] || reframe=reframe
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source-path=SCRIPTDIR source=shell_checks.sh
source "$(dirname "${BASH_SOURCE[0]}")/shell_checks.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
type -P "$reframe" >/dev/null || skip "there is no ReFrame (scripts/test --cluster gets it)"
cd "$work"

readonly case_options=--backend,mpi,--only,all_reduce,--sizes,64K,--launches,2,--ci-width,0.2,--budget,15

# check_against BASELINE
check_against() {
  test_name="against $1"
  status=0
  output=$(TMPDIR=$work timeout 120 "$reframe" --prefix "$work/reframe" -c "$repository/scripts/reframe/linkgain_check.py" -r \
    -S LinkgainNode.baseline="$1" -S LinkgainNode.program="$program" \
    -S LinkgainNode.run_options="$case_options" --performance-report 2>&1 </dev/null) || status=$?
}

# edited FACTOR: the baseline of a machine with times that many times as long. Small operations of two
# busy cores scatter: the bounds are wide.
edited() {
  python3 -c 'if True:
    import json, sys
    baseline = json.load(open("baseline.json"))
    for case in baseline["cases"]:
        case["time_s"] *= float(sys.argv[1])
        case["spread"] = 0.1
        case["lower"] = None
        case["upper"] = 1000
        del case["busbw_gb_per_s"]
    json.dump(baseline, open("edited.json", "w"))' "$1"
}

IFS=, read -ra options <<<"$case_options"
"$program" run --profile node "${options[@]}" --quiet --out good >/dev/null
"$program" baseline good -o baseline.json >/dev/null

edited 1
check_against edited.json
expect_status 0
expect_output 'PASSED'
expect_output 'shared-memory/all_reduce/float32/sum/64KiB/np2'
expect_output 'tcp/all_reduce/float32/sum/64KiB/np2'

edited 100
check_against edited.json
expect_status 0 # as check has it, faster is no failure
[[ -n $(find "$work/reframe/output" -name record.json) ]] || complain "the record is not kept"

edited 0.00001
check_against edited.json
expect_status 1
expect_output 'FAILED'
expect_output 'failed to meet reference'
expect_output 'shared-memory/all_reduce/float32/sum/64KiB/np2='

check_against nowhere.json
expect_status 1
expect_output "there is no baseline 'nowhere.json'"

# A case of the baseline that the run was not to measure: check is inconclusive, a test of the node is not.
python3 -c 'import json
baseline = json.load(open("edited.json"))
more = [dict(case, case=case["case"].replace("64KiB", "1KiB")) for case in baseline["cases"]]
baseline["cases"] += more
json.dump(baseline, open("more.json", "w"))'
check_against more.json
expect_status 1
expect_output 'all_reduce/float32/sum/1KiB/np2 (shared-memory): inconclusive not part of this run'

printf '%d failures\n' "$failures"
((failures == 0))
