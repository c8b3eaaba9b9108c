# shellcheck shell=bash
# shellcheck disable=SC2154 # nvcc is set in gpu.sh
# Sourced by gpu-check: compute-sanitizer over the tests of our kernels.

: "${root:?the repository, set by the script that sources this}"

# Program in the build's folder, ranks, and what of it is run. All ranks of an all-reduce on one GPU are kernels that
# wait for each other, which take long under the tools: every method in place and through host memory, and no more.
# Between GPUs all_reduce_stress runs them all. What is left out looks at times.
readonly sanitizer_tests=(
  'tests/kernels/all_reduce_kernels_test 1 --gtest_filter=AllReduceKernels.WorkInPlace:AllReduceKernels.WorkThroughHostMemory'
  'tests/kernels/attention_kernels_test 1'
  'tests/kernels/copy_kernels_test 1'
  'tests/kernels/exchange_kernel_test 1'
  'tests/kernels/latency_kernels_test 1'
  'tests/kernels/timing_kernels_test 1 --gtest_filter=-Busy.lasts_about*:Busy.no_time*:Hold.CountsPast*:Hold.AnOpenGate*'
  'tests/kernels/training_kernels_test 1'
  'tests/kernels/verification_test 1'
  'tests/worker/backends/peer_memory_test 2'
  'bin/all_reduce_stress 2 --operations 50 --huge 0'
)
readonly sanitizer_tools=(memcheck racecheck)
# Of one tool over one test, in seconds; what hangs is not clean. Attention takes longest.
readonly sanitizer_limit=600

# CUDA's installer does not put it on PATH.
find_sanitizer() {
  command -v compute-sanitizer ||
    first_file ${nvcc:+"$(dirname "$nvcc")/compute-sanitizer"} "${system_places[@]/%//bin/compute-sanitizer}"
}

# The targets of these tests, one a line.
sanitizer_targets() {
  local entry
  for entry in "${sanitizer_tests[@]}"; do
    entry=${entry%% *}
    printf '%s\n' "${entry##*/}"
  done
}

# sanitizer_verdict TOOL RANKS LOG: the tool's summary, or what is missing; fails where that is not clean.
sanitizer_verdict() {
  local clean summary
  case $1 in
    memcheck) clean='ERROR SUMMARY: 0 errors' ;;
    racecheck) clean='RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)' ;;
  esac
  if ! grep -q '^\[  PASSED  \] [1-9]\|^none of [1-9][0-9]* operations was wrong' "$3" ||
    grep -q '^\[  \(SKIPPED\|FAILED\) ' "$3"; then
    printf 'its tests did not all run and pass\n'
    return 1
  fi
  # The worst rank's, which sorts last: more than 0 of something.
  summary=$(grep -o '[A-Z]* *SUMMARY: .*' "$3" | sort -u | tail -n 1)
  printf '%s\n' "$summary"
  [[ $summary == "$clean" && $(grep -cF "$clean" "$3") -eq $2 ]]
}

# sanitize TOOL ENTRY: one tool over one test, with SANITIZER, BUILD and LOGS of run_sanitizer. Prints its line, and
# the end of its log where that is not clean, which is a failure.
sanitize() {
  local tool=$1 program ranks options name log launcher=() verdict word=clean ended=0 started=$SECONDS
  read -r program ranks options <<<"$2"
  name=${program##*/}
  log=$logs/sanitizer-$tool-${name%_test}.log
  # NCCL asks CUDA for what a machine may not have; memcheck alone would tell of that.
  local flags=(--tool "$tool" --error-exitcode 9)
  if ((ranks > 1)); then
    launcher=(mpirun -np "$ranks" --bind-to none --allow-run-as-root)
    flags+=(--report-api-errors no)
  fi
  if ((ranks > gpu_count)); then
    say "$tool ${name%_test}: not run, it takes $ranks GPUs"
    return
  fi
  # shellcheck disable=SC2086 # options are words
  GTEST_COLOR=no timeout "$sanitizer_limit" "${launcher[@]}" "$sanitizer" "${flags[@]}" \
    "$build/$program" $options >"$log" 2>&1 </dev/null || ended=$?
  verdict=$(sanitizer_verdict "$tool" "$ranks" "$log") || word='NOT CLEAN'
  [[ $ended -eq 0 ]] || word='NOT CLEAN'
  say "$tool ${name%_test}: $word in $((SECONDS - started)) s, status $ended: $verdict"
  [[ $word != clean ]] || return 0
  tail -n 40 "$log" >&2
  return 1
}

# run_sanitizer SANITIZER BUILD LOGS: every tool over every test, but not racecheck over those of two ranks: under it
# CUDA IPC refuses a process's memory (cudaErrorInvalidValue, compute-sanitizer of CUDA 13.0). A log of each, and
# their lines in LOGS/sanitizer.txt; fails where one is not clean.
run_sanitizer() {
  local sanitizer=$1 build=$2 logs=$3 tool entry status=0
  for tool in "${sanitizer_tools[@]}"; do
    for entry in "${sanitizer_tests[@]}"; do
      [[ $tool == racecheck && $entry == *' 2'* ]] || sanitize "$tool" "$entry" || status=1
    done
  done > >(tee "$logs/sanitizer.txt")
  wait "$!"
  return "$status"
}
