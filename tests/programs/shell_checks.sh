# shellcheck shell=bash
# Sourced by shell tests that run linkgain: what they expect of a command's status and output and of
# the records that it leaves.

: "${work:?a folder for the test, set by the script that sources this}"

failures=0
test_name=
status=0
output=

# Ends the test where it is not available here, with the status that ctest takes for skipped.
skip() {
  printf 'skipped: %s\n' "$*"
  exit 77
}

# Runs a command in $work for two minutes at most; sets its status and output.
run() {
  status=0
  : >"$work/started"
  output=$(cd "$work" && timeout 120 "$@" 2>&1 </dev/null) || status=$?
}

# With the logs of the runs that the command made, which say why a job was lost.
complain() {
  printf '%s: %s\n--- output (status %s):\n%s\n' "$test_name" "$1" "$status" "$output"
  find "$work" -maxdepth 4 -name '*.log' -newer "$work/started" -exec tail -v -n 40 {} + 2>/dev/null || true
  failures=$((failures + 1))
}
expect_status() { [[ $status -eq $1 ]] || complain "status is not $1"; }
expect_output() { [[ $output == *"$1"* ]] || complain "not in the output: $1"; }

# expect_value FILE EXPRESSION VALUE: of Python, with the record in $work/FILE as r.
expect_value() {
  local value
  value=$(python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$work/$1" "$2" 2>&1) ||
    true
  [[ $value == "$3" ]] || complain "$2 of $1 is $value, not $3"
}
