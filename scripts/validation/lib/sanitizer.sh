# shellcheck shell=bash
# shellcheck disable=SC2154 # nvcc is set in gpu.sh
# Sourced by gpu-check: compute-sanitizer over the tests of our kernels.

: "${root:?the repository, set by the script that sources this}"

# Test and what of it is run. All ranks of an all-reduce are kernels on one GPU that wait for each other,
# which take long under the tools: every method in place and through host memory, and no more.
readonly sanitizer_tests=(
  'all_reduce_kernels AllReduceKernels.WorkInPlace:AllReduceKernels.WorkThroughHostMemory'
  'copy_kernels CopyKernels.*'
  'latency_kernels LatencyKernels.*'
)
readonly sanitizer_tools=(memcheck racecheck)
# Of one tool over one test, in seconds; what hangs is not clean.
readonly sanitizer_limit=180

# CUDA's installer does not put it on PATH.
find_sanitizer() {
  command -v compute-sanitizer ||
    first_file ${nvcc:+"$(dirname "$nvcc")/compute-sanitizer"} "${system_places[@]/%//bin/compute-sanitizer}"
}

# The targets of these tests, one a line.
sanitizer_targets() {
  local entry
  for entry in "${sanitizer_tests[@]}"; do printf '%s_test\n' "${entry%% *}"; done
}

# sanitizer_verdict TOOL LOG: the tool's summary, or what is missing; fails where that is not clean.
sanitizer_verdict() {
  local summary clean
  case $1 in
    memcheck) clean='ERROR SUMMARY: 0 errors' ;;
    racecheck) clean='RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)' ;;
  esac
  if ! grep -q '^\[  PASSED  \] [1-9]' "$2" || grep -q '^\[  \(SKIPPED\|FAILED\) ' "$2"; then
    printf 'its tests did not all run and pass\n'
    return 1
  fi
  summary=$(grep 'SUMMARY: ' "$2" | tail -n 1)
  printf '%s\n' "${summary#"========= "}"
  [[ $summary == *"$clean"* ]]
}

# run_sanitizer SANITIZER BUILD LOGS: every tool over every test. A log of each, and one line each in
# LOGS/sanitizer.txt; fails where one is not clean.
run_sanitizer() {
  local sanitizer=$1 build=$2 logs=$3 tool entry test filter log started verdict word status=0 ended
  : >"$logs/sanitizer.txt"
  for tool in "${sanitizer_tools[@]}"; do
    for entry in "${sanitizer_tests[@]}"; do
      read -r test filter <<<"$entry"
      log=$logs/sanitizer-$tool-$test.log
      started=$SECONDS
      word=clean
      ended=0
      timeout "$sanitizer_limit" "$sanitizer" --tool "$tool" --error-exitcode 9 \
        "$build/tests/kernels/${test}_test" "--gtest_filter=$filter" >"$log" 2>&1 </dev/null || ended=$?
      verdict=$(sanitizer_verdict "$tool" "$log") || word='NOT CLEAN'
      [[ $ended -eq 0 ]] || word='NOT CLEAN'
      [[ $word == clean ]] || status=1
      say "$tool $test: $word in $((SECONDS - started)) s, status $ended: $verdict" | tee -a "$logs/sanitizer.txt"
      [[ $word == clean ]] || tail -n 40 "$log"
    done
  done
  return "$status"
}
