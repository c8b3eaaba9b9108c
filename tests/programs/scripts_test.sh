#!/usr/bin/env bash
# Tests of scripts/* with doubles of every program that they start, on a PATH that holds nothing else
# of the machine but plain tools. usage: scripts_test.sh REPOSITORY
# shellcheck disable=SC2016 # the doubles' texts expand when they run
set -euo pipefail
repository=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset CUDA_VISIBLE_DEVICES CUDACXX CUDA_HOME CUDA_PATH NCCL_HOME LINKGAIN_PREFIX CMAKE_PREFIX_PATH
unset LD_LIBRARY_PATH CXX
failures=0

readonly plain_tools=(awk basename bash cat chmod cp date dirname env find grep head mkdir mktemp mv nproc
  paste realpath rm sed sort tail tee timeout touch tr true uname wc xargs)
readonly all_packages=(g++ cmake ninja-build openmpi-bin libbenchmark-dev libcli11-dev
  nlohmann-json3-dev libsimdjson-dev libvalijson-dev libfmt-dev libpcre2-dev libgtest-dev libgmock-dev python3
  clang-format-14 shellcheck man-db help2man zsh fish)

# double NAME: a program whose text is standard input; $work/calls gets its arguments. Nothing in
# $work/bin is a link, so that none of the machine's own programs can be written through one.
double() {
  {
    printf '#!%s\nwork=%q\nprintf "%%s\\n" "%s $*" >>"$work/calls"\n' "$BASH" "$work" "$1"
    cat
  } >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}

# A fresh copy of the scripts on a machine of root's where everything is installed and no GPU is.
fresh_machine() {
  local tool
  rm -rf "${work:?}"/*
  mkdir -p "$work/bin" "$work/tree/tests/support"
  cp -r "$repository/scripts" "$repository/.ci" "$repository/CMakePresets.json" "$work/tree/"
  # What this machine has of CUDA and NCCL is not found.
  sed -i "s#^system_places=.*#system_places=('$work/system')#" "$work/tree/scripts/lib/gpu.sh"
  for tool in "${plain_tools[@]}"; do
    printf '#!%s\nexec %q "$@"\n' "$BASH" "$(type -P "$tool")" >"$work/bin/$tool"
    chmod +x "$work/bin/$tool"
  done
  printf '%s\n' "${all_packages[@]}" >"$work/installed"
  double id <<<'cat "$work/uid" 2>/dev/null || echo 0'
  double sleep <<<':'
  double g++ <<<'exit 1'
  double mpirun <<<'echo "mpirun (Open MPI) 4.1.4"'
  double ninja <<<':'
  double nvidia-smi <<<'cat "$work/gpus" 2>/dev/null'
  double dpkg-query <<<'grep -qxF -- "${@: -1}" "$work/installed" && printf installed'
  double apt-get <<<'[[ $* != *update* ]] || exit "$(cat "$work/update_status" 2>/dev/null || echo 0)"
    for word; do echo "$word" >>"$work/installed"; done'
  double sudo <<<'[[ -e $work/sudo ]] || exit 1; shift; exec "$@"'
  double cmake <<<'[[ $1 != --version ]] || { cat "$work/cmake_version" 2>/dev/null || echo "cmake version 3.25.1"; exit; }
    [[ $1 == --build ]] || { echo "-- linkgain 0.1.0: as configured"; exit; }
    [[ ! -e $work/broken_build ]] || { echo "an error in the build"; exit 2; }
    mkdir -p "$2/bin"; cp "$work/bin/linkgain" "$2/bin/"'
  double linkgain <<<'echo "loader: ${LD_LIBRARY_PATH:-}"; echo "the table"; exit 7'
  double ctest <<<'echo "100% tests passed"; exit "$(cat "$work/ctest_status" 2>/dev/null || echo 0)"'
}

without() { # PACKAGE...
  local package
  for package in "$@"; do sed -i "/^${package//+/\\+}$/d" "$work/installed"; done
}

# Runs a script of the copy; sets status and output.
run() {
  local script=$1
  shift
  status=0
  output=$(cd / && PATH=$work/bin "$work/tree/$script" "$@" 2>&1 </dev/null) || status=$?
}

complain() {
  printf '%s: %s\n--- output (status %s):\n%s\n--- calls:\n' "$test_name" "$1" "$status" "$output"
  cat "$work/calls"
  failures=$((failures + 1))
}
expect_status() { [[ $status -eq $1 ]] || complain "status is not $1"; }
expect_output() { [[ $output == *"$1"* ]] || complain "not in the output: $1"; }
expect_no_output() { [[ $output != *"$1"* ]] || complain "in the output: $1"; }
expect_call() { grep -qF -- "$1" "$work/calls" || complain "not called: $1"; }
expect_one_call() { [[ $(grep -c -- "$1" "$work/calls") -eq 1 ]] || complain "not called just once: $1"; }
expect_no_call() { ! grep -q -- "$1" "$work/calls" || complain "called: $1"; }
expect_last_line() { [[ ${output##*$'\n'} == "$1" ]] || complain "the last line is not: $1"; }

test_quickstart_without_gpu_measures_mpi_and_says_why() {
  run scripts/quickstart
  expect_status 7
  expect_output 'mpi backend, shared memory against TCP, because no two GPUs are here'
  expect_call 'linkgain run --backend mpi --profile quick'
  expect_no_call '^apt-get'
  local folder=$work/tree/build/quickstart
  expect_last_line "linkgain: programs: $folder/bin (sudo cmake --install $folder puts them on PATH)"
  run scripts/quickstart
  expect_status 7
}

# The CUDA compiler with cuBLASLt, and NCCL in $work/nccl.
stage_gpu_software() {
  mkdir -p "$work/nccl/include" "$work/nccl/lib" "$work/include"
  touch "$work/nccl/include/nccl.h" "$work/nccl/lib/libnccl.so" "$work/include/cublasLt.h"
  double nvcc <<<':'
}

test_quickstart_with_gpus_measures_them() {
  stage_gpu_software
  printf 'GPU 0: A\nGPU 1: B\n' >"$work/gpus"
  NCCL_HOME=$work/nccl run scripts/quickstart -- --only 'all_reduce' --out 'a b'
  expect_output 'measuring 2 GPUs with NCCL: peer-to-peer on against off'
  expect_call '--preset cuda'
  expect_call 'linkgain run --only all_reduce --out a b'
  without openmpi-bin
  rm "$work/bin/mpirun"
  NCCL_HOME=$work/nccl run scripts/quickstart
  expect_no_call '^apt-get'
  NCCL_HOME=$work/nccl run scripts/quickstart --no-install -- --backend mpi
  expect_status 3
  expect_output 'missing: Open MPI'
  NCCL_HOME=$work/nccl run scripts/quickstart --mpi
  expect_call 'install -y --no-install-recommends openmpi-bin'
  NCCL_HOME=$work/nccl CUDA_VISIBLE_DEVICES=0 run scripts/quickstart
  expect_call 'linkgain run --backend mpi --profile quick'
}

test_quickstart_without_gpu_builds_no_cuda_code() {
  stage_gpu_software
  NCCL_HOME=$work/nccl run scripts/quickstart
  expect_status 7
  expect_output 'no GPU is here, so no CUDA code is built; scripts/quickstart --preset cuda builds it'
  expect_call '--preset cpu'
  expect_no_call 'LINKGAIN_GPU=AUTO'
  NCCL_HOME=$work/nccl run scripts/quickstart --preset cuda
  expect_call '--preset cuda'
}

# What the scripts say of the GPU's software; the status is whether it is all there.
report_gpu_software() {
  status=0
  output=$(PATH=$work/bin root=$work/tree bash -c 'source "$root/scripts/lib/setup.sh"
    find_gpu_software; report_gpu_software; have_gpu_software') || status=$?
}

test_gpus_that_cannot_be_used_are_spoken_of() {
  double nvcc <<<':'
  printf 'GPU 0: A\nGPU 1: B\n' >"$work/gpus"
  report_gpu_software
  expect_status 1
  expect_output 'NCCL'\''s header or library is missing: apt-get install libnccl2 libnccl-dev'
  expect_output 'only the mpi backend is built'
  stage_gpu_software
  rm "$work/include/cublasLt.h"
  double nvcc <<<'echo "Cuda compilation tools, release 13.0, V13.0.88"'
  NCCL_HOME=$work/nccl report_gpu_software
  expect_status 1
  expect_output 'cublasLt.h is missing'
  expect_output 'libcublas-dev-13-0'
  expect_no_output 'NCCL'\''s header'
  touch "$work/include/cublasLt.h"
  NCCL_HOME=$work/nccl report_gpu_software
  expect_status 0
}

test_only_what_is_missing_is_installed() {
  without libfmt-dev libcli11-dev
  run scripts/quickstart
  expect_status 7
  expect_call 'apt-get -o DPkg::Lock::Timeout=120 update'
  expect_call 'apt-get -o DPkg::Lock::Timeout=120 install -y --no-install-recommends libcli11-dev libfmt-dev'
  expect_no_call '^sudo'
}

test_a_broken_package_source_is_no_obstacle() {
  without libfmt-dev
  echo 100 >"$work/update_status"
  run scripts/quickstart
  expect_status 7
}

test_a_user_with_sudo_installs_through_it() {
  without libfmt-dev
  echo 1000 >"$work/uid"
  touch "$work/sudo"
  run scripts/quickstart
  expect_status 7
  expect_call 'sudo -n env DEBIAN_FRONTEND=noninteractive'
}

test_a_user_without_sudo_is_told_what_to_type() {
  without libfmt-dev libpcre2-dev
  echo 1000 >"$work/uid"
  run scripts/quickstart
  expect_status 3
  expect_output 'missing: fmt, PCRE2'
  expect_output 'sudo apt-get update && sudo apt-get install -y libfmt-dev libpcre2-dev'
  expect_no_call '^apt-get'
}

test_nothing_is_installed_where_that_was_refused_or_cannot_be() {
  without libfmt-dev
  run scripts/quickstart --no-install
  expect_status 3
  expect_output '--no-install was given'
  rm "$work/bin/apt-get"
  run scripts/quickstart
  expect_status 3
  expect_output 'no apt-get'
}

test_packages_from_a_prefix() {
  mkdir -p "$work/staged/usr/include"
  run scripts/quickstart --prefix "$work/staged"
  expect_status 7
  expect_call "-DCMAKE_PREFIX_PATH=$work/staged/usr"
  expect_output "loader: $work/staged/usr/lib/"
  LINKGAIN_PREFIX=$work/nothing run scripts/test
  expect_status 2
  expect_output 'holds no staged packages'
}

test_an_old_cmake_is_refused() {
  echo 'cmake version 3.22.1' >"$work/cmake_version"
  run scripts/test
  expect_status 3
  expect_output 'CMake 3.22.1 is too old'
}

test_a_broken_build_shows_the_end_of_its_log() {
  touch "$work/broken_build"
  run scripts/quickstart
  expect_status 3
  expect_output 'an error in the build'
  expect_no_call '^linkgain'
}

# Each step is silent for longer than the lines of a pipe may be apart.
stage_long_steps() {
  local wait
  wait="$(type -P sleep) 1.2"
  sed -i 's/^readonly milliseconds_between_lines=.*/milliseconds_between_lines=300/' "$work/tree/scripts/lib/steps.sh"
  without libfmt-dev
  double apt-get <<<'[[ $* != *update* ]] || exit 0
    echo "1 upgraded, 2 newly installed, 0 to remove and 4 not upgraded."; echo "Unpacking libfmt-dev:amd64 (9.1) ..."
    '"$wait"'; echo libfmt-dev >>"$work/installed"'
  double cmake <<<'[[ $1 != --version ]] || { echo "cmake version 3.25.1"; exit; }
    [[ $1 == --build ]] || { echo "-- Looking for a CUDA compiler"; '"$wait"'; exit; }
    printf "[1/3] Building one\na warning\n[2/"; '"$wait"'; printf "3] Linking\n"
    mkdir -p "$2/bin"; cp "$work/bin/linkgain" "$2/bin/"'
}

# The steps of the quickstart; sets output, and longest_pause to the milliseconds of its longest time without a line.
run_steps() {
  local line now last=${EPOCHREALTIME//[!0-9]/}
  output='' longest_pause=0 status=0
  while
    line=
    IFS= read -r line || [[ -n $line ]] || line=end
    now=${EPOCHREALTIME//[!0-9]/}
    ((now - last <= longest_pause * 1000)) || longest_pause=$(((now - last) / 1000))
    last=$now
    [[ $line != end ]]
  do
    output+=$line$'\n'
  done < <(PATH=$work/bin root=$work/tree bash -c 'source "$root/scripts/lib/setup.sh"
    install_requirements "$root/logs/apt.log" "libfmt-dev|package||fmt"
    configure cpu "$root/build" && build "$root/build"' 2>&1)
  wait $! || status=$?
}

test_no_step_is_silent_for_long() {
  stage_long_steps
  run_steps
  expect_status 0
  ((longest_pause < 900)) || complain "silent for $longest_pause ms"
  expect_output $'\nlinkgain: installing: unpacking libfmt-dev, 2 of 3 left (0 s)\n'
  expect_output $'\nlinkgain: configuring: Looking for a CUDA compiler (0 s)\n'
  expect_output $'\nlinkgain: building: step 1 of 3 (0 s)\n'
  [[ $(<"$work/tree/build/logs/build.log") == $'[1/3] Building one\na warning\n[2/3] Linking' ]] ||
    complain 'the log is not whole'
}

# The file has the second at which each step of a quickstart ended: by the processor time that each took, two at a time.
test_time_left_is_shown_after_a_fifth_and_right_within_a_third() {
  status=0
  output=$(root=$work/tree bash -c 'source "$root/scripts/lib/setup.sh"
    while read -r second step; do
      printf "%s %s%s\n" "$second" "$step" "$(build_time_left "$step" 101 "${second%.*}")"
    done' <"$repository/tests/programs/data/quickstart_build.txt" | awk '
      { end = $1; ended[NR] = $1; shown[NR] = $4 * ($5 == "min" ? 60 : 1); is_shown[NR] = NF > 2 }
      END {
        for (step = 1; step <= NR; ++step) {
          left = end - ended[step]
          if (is_shown[step] != (step * 5 >= NR) && left >= 10) print "step " step ": shown " is_shown[step]
          # What is shown is rounded to 10 s.
          if (step * 5 < NR || left < 10) continue
          if (shown[step] < left * 2 / 3 - 5 || shown[step] > left * 4 / 3 + 5) print "step " step ": " shown[step] " of " left
        }
      }') || status=$?
  expect_status 0
  [[ -z $output ]] || complain 'the time left is wrong'
}

test_steps_show_how_far_they_are_in_one_line_of_a_terminal() {
  local terminal
  terminal=$(type -P script) || return 0
  stage_long_steps
  status=0
  output=$(cd / && PATH=$work/bin TERM=xterm SHELL=$BASH "$terminal" --quiet --return \
    --command "$work/tree/scripts/quickstart" /dev/null </dev/null) || status=$?
  expect_status 7
  expect_output $'\r\033[Klinkgain: installing: unpacking libfmt-dev, 2 of 3 left (0 s)\r\033[K'
  expect_output $'\r\033[Klinkgain: building: step 1 of 3 (0 s)\r\033[K'
  expect_no_output $'(1 s)\r\n'
}

test_test_ends_with_ctest() {
  run .ci/run
  expect_status 0
  expect_call '--preset ci'
  expect_last_line '100% tests passed'
  echo 8 >"$work/ctest_status"
  run scripts/test -- -L unit
  expect_status 8
  expect_call '-L unit'
}

test_promtool_is_unpacked_and_its_server_not_installed() {
  double apt-get <<<'[[ $* != "download prometheus" ]] || touch prometheus_2_amd64.deb
    for word; do echo "$word" >>"$work/installed"; done'
  double dpkg-deb <<<':'
  double tar <<<'cp "$work/bin/ninja" promtool'
  double ctest <<<'type -P promtool; echo "100% tests passed"'
  run scripts/test --cluster
  expect_status 0
  expect_call 'apt-get download prometheus'
  expect_call 'dpkg-deb --fsys-tarfile prometheus_2_amd64.deb'
  expect_no_call 'install.*prometheus'
  expect_output "$work/tree/build/ci/promtool/promtool"
  expect_one_call 'apt-get .* update'
  : >"$work/calls"
  run scripts/test --cluster
  expect_no_call 'download'
  rm -r "$work/tree/build/ci/promtool"
  run scripts/test --cluster --no-install
  expect_status 0
  expect_output 'going on without promtool'
  expect_no_call 'download'
}

test_test_fails_with_lint_but_ends_with_ctest() {
  mkdir -p "$work/tree/bench"
  for _ in {1..601}; do echo '//'; done >"$work/tree/bench/long.cpp"
  run scripts/test
  expect_status 1
  expect_output 'bench/long.cpp: 601 lines, more than 600 need a reason'
  expect_last_line '100% tests passed'
}

# A node that is slow, or of another machine, is not hidden by one that is not decided.
test_node_check_ends_with_what_is_worst() {
  local statuses expected node
  double srun <<<'for node in 1 2 3; do mkdir -p "$work/nodes/node$node"; touch "$work/nodes/node$node/record.json"; done'
  double linkgain <<<'[[ $1 == check ]] || exit 0; node=${2%/record.json}; exit "$(cat "$work/status${node: -1}")"'
  while read -r expected statuses; do
    # shellcheck disable=SC2086 # three words
    set -- $statuses
    for node in 1 2 3; do echo "${!node}" >"$work/status$node"; done
    SLURM_JOB_ID=1 SLURM_JOB_NUM_NODES=3 SLURM_JOB_NODELIST='node[1-3]' run \
      scripts/slurm/node-check.sbatch --out "$work/nodes" --baseline "$work/calls"
    expect_status "$expected"
  done <<'TEXT'
0 0 0 0
7 0 7 0
1 1 7 0
1 7 1 7
2 7 1 2
2 2 0 7
TEXT
}

test_comparison_runs_both_tools_in_turn() {
  if ! type -P python3 >/dev/null; then
    printf 'python3 is not here: %s left out\n' "$test_name"
    return
  fi
  double python3 <<<"exec $(python3 -c 'import sys; print(sys.executable)')"' "$@"'
  double mpirun <<<'[[ ! -e $work/broken_job ]] || { echo "no such device"; exit 9; }
    [[ $* != *_perf* ]] || { echo "8 2 float sum -1 6.5 0.0 0.0 0 6.5 0.0 0.0 0"; exit; }
    for word; do [[ $word != --benchmark_out=* ]] || file=${word#*=}; done
    [[ $* != *"--launch-mode graph"* ]] || kind=/graph
    [[ $* != *"--buffers allocated"* ]] || kind+=/allocated
    echo "{\"benchmarks\": [{\"name\": \"x/8B/np2$kind\", \"latency_us\": 6.5, \"busbw\": 0.1}]}" >"$file"'
  printf 'GPU 0: A\nGPU 1: B\n' >"$work/gpus"
  mkdir -p "$work/peer" "$work/build/bin"
  cp "$work/bin/linkgain" "$work/build/bin/linkgain-bench"
  cp "$work/bin/linkgain" "$work/peer/all_reduce_perf"
  cp "$work/bin/linkgain" "$work/peer/sendrecv_perf"
  run scripts/validation/compare-nccl-tests --launches 2 --build "$work/build" --out "$work/out" "$work/peer"
  expect_status 0
  expect_output 'Limits kept: 8 of 8.'
  [[ $(grep -c '^mpirun' "$work/calls") -eq 64 ]] || complain 'a launch is not 32 jobs'
  [[ $(head -n 1 "$work/out/commands.txt") == *all_reduce_perf* ]] || complain 'wrong tool first'
  grep -q '^env NCCL_P2P_DISABLE=1 mpirun -np 2 --bind-to none' "$work/out/commands.txt" ||
    complain 'no job of the host variant'
  : >"$work/calls"
  run scripts/validation/compare-nccl-tests --launches 3 --resume --build "$work/build" --out "$work/out" "$work/peer"
  expect_status 0
  [[ $(grep -c '^launch' "$work/out/launches.txt") -eq 3 ]] || complain 'not three launches in all'
  [[ $(grep -c '^mpirun' "$work/calls") -eq 32 ]] || complain 'two launches were not kept'
  run scripts/validation/compare-nccl-tests --launches 4 --resume --seconds 0 --build "$work/build" --out "$work/out" "$work/peer"
  expect_status 7
  run scripts/validation/compare-nccl-tests --resume --limit busbw --build "$work/build" --out "$work/out" "$work/peer"
  expect_status 2
  expect_output 'holds launches of'
  : >"$work/calls"
  run scripts/validation/compare-nccl-tests --launches 1 --limit latency --build "$work/build" --out "$work/out" \
    "$work/peer"
  expect_status 0
  [[ $(grep -c '^mpirun' "$work/calls") -eq 16 ]] || complain 'the latency rows are not 16 jobs'
  expect_output "linkgain's allocated by NCCL."
  expect_call '--only all_reduce --sizes 8,64,1K,8K,64K --launch-mode graph --buffers allocated'
  : >"$work/calls"
  run scripts/validation/compare-nccl-tests --launches 1 --operations all --build "$work/build" --out "$work/out" "$work/peer"
  expect_status 3
  expect_output 'has no all_gather_perf'
  for program in all_gather reduce_scatter broadcast reduce alltoall gather scatter; do
    cp "$work/bin/linkgain" "$work/peer/${program}_perf"
  done
  run scripts/validation/compare-nccl-tests --launches 1 --operations all --limit busbw --buffers plain \
    --build "$work/build" --out "$work/out" "$work/peer"
  expect_status 0
  expect_output '## scatter, host, stream'
  expect_output "linkgain's plain (cudaMalloc)."
  [[ $(grep -c '^mpirun' "$work/calls") -eq 72 ]] || complain 'one limit is not 8 jobs an operation'
  expect_no_call '--buffers'
  expect_call '-a 3 -c 1 -b 1G -e 1G'
  : >"$work/calls"
  run scripts/validation/compare-nccl-tests --launches 1 --operations gather --build "$work/build" --out "$work/out" "$work/peer"
  expect_status 0
  expect_call '--only gather --sizes 64,1K,8K,64K --launch-mode graph'
  touch "$work/broken_job"
  run scripts/validation/compare-nccl-tests --quick --build "$work/build" --out "$work/out" "$work/peer"
  expect_status 6
  expect_output 'no such device'
}

test_gpu_check_builds_for_this_machine_and_ends_with_the_summary() {
  mkdir -p "$work/staged/usr/include" "$work/peer"
  stage_gpu_software
  rm "$work/bin/ninja"
  double make <<<':'
  double nvidia-smi <<<'[[ $1 == -L ]] && echo "GPU 0: A" || printf "9.0\n9.0\n"'
  NCCL_HOME=$work/nccl run scripts/validation/gpu-check "$work/staged" --out "$work/out"
  expect_status 0
  expect_call '--preset gpu-dev'
  expect_call '-G Unix Makefiles'
  expect_call '-DCMAKE_CUDA_ARCHITECTURES=90-real'
  expect_call '--label-regex ^gpu$'
  expect_last_line '100% tests passed'
  [[ -f $work/out/ctest.log ]] || complain 'no log in --out'
  echo 8 >"$work/ctest_status"
  NCCL_HOME=$work/nccl run scripts/validation/gpu-check "$work/staged" --all -- -R stream
  expect_status 8
  expect_call '-R stream'
  double nvidia-smi <<<'exit 9'
  NCCL_HOME=$work/nccl run scripts/validation/gpu-check "$work/staged"
  expect_status 3
}

test_stress_says_which_faults_were_found() {
  run scripts/validation/stress-all-reduce
  expect_status 3
  expect_output 'an all-reduce needs two GPUs, here are 0'
  printf 'GPU 0: A\nGPU 1: B\n' >"$work/gpus"
  double mpirun <<<'case $* in
    *-none*) cat "$work/as_they_are" ;;
    *-no-acquire*) echo "none of 7000 operations was wrong, 60.1 s" ;;
    *-no-release*) echo "HUNG after 20.5 s, rank 0"; exit 6 ;;
    *) echo "WRONG after 1.5 s, rank 1"; exit 4 ;;
    esac'
  echo 'none of 1000050 operations was wrong, 500.0 s' >"$work/as_they_are"
  run scripts/validation/stress-all-reduce --programs "$work" --out "$work/out"
  expect_status 0
  expect_output 'none               none of 1000050 wrong, 500.0 s'
  expect_output 'no-release         caught: HUNG after 20.5 s'
  expect_output 'no-acquire         not caught: none of 7000 wrong, 60.1 s'
  expect_output 'wrong-share-end    caught: WRONG after 1.5 s'
  expect_call 'mpirun -np 2'
  expect_no_call '^cmake'
  run scripts/validation/stress-all-reduce --programs "$work" --out "$work/out" --only one-buffer-set --seed 5
  expect_status 0
  expect_call '--seed 5'
  echo 'WRONG after 3.0 s, rank 0' >"$work/as_they_are"
  double mpirun <<<'[[ $* == *-none* ]] || { echo "none of 7 operations was wrong, 60.1 s"; exit; }
    cat "$work/as_they_are"'
  run scripts/validation/stress-all-reduce --programs "$work" --out "$work/out" --only no-release
  expect_status 1
  run scripts/validation/stress-all-reduce --programs "$work" --out "$work/out" --only none --one-device
  expect_status 4
  expect_output 'ON ONE DEVICE: not across devices'
  echo 'rank 0 has no GPU' >"$work/as_they_are"
  run scripts/validation/stress-all-reduce --programs "$work" --out "$work/out" --only none
  expect_status 3
}

test_stress_builds_every_fault() {
  printf 'GPU 0: A\nGPU 1: B\n' >"$work/gpus"
  cp "$work/bin/linkgain" "$work/bin/all_reduce_stress"
  double cmake <<<'[[ $1 == --build ]] || exit 0; mkdir -p "$2/bin"; cp "$work/bin/all_reduce_stress" "$2/bin/"'
  double mpirun <<<'echo "WRONG after 1.5 s, rank 1"; exit 4'
  run scripts/validation/stress-all-reduce --only no-release --only wrong-share-end -- -DTHIS=that
  expect_status 0
  expect_call '-DLINKGAIN_MUTANT=no-release -DTHIS=that'
  expect_call '-DLINKGAIN_MUTANT=wrong-share-end'
  expect_call '--target all_reduce_stress'
  expect_no_call 'LINKGAIN_MUTANT=no-acquire'
}

test_fuzz_runs_every_target_to_its_end_or_its_time() {
  mkdir -p "$work/tree/tests/fuzz"
  touch "$work/tree/tests/fuzz/"{sizes,record,planted}_fuzz.cpp
  double sizes_fuzz <<<'echo "#9 NEW    cov: 41 ft: 7"; echo "#10 DONE   cov: 42 ft: 7"
    echo "stat::number_of_executed_units: 10"; exit "$(cat "$work/ends" 2>/dev/null || echo 0)"'
  double record_fuzz <<<'trap "echo stat::number_of_executed_units: 77; sleep 1.5; exit" USR1; while :; do :; done'
  run scripts/validation/fuzz --programs "$work/bin" --keep "$work/keep" --failures "$work/out" --inputs 10 --seconds 1
  expect_status 0
  [[ $output =~ sizes\ +10\ +0\.0\ +42\ +0\ +ok ]] || complain 'no line of sizes'
  [[ $output =~ record\ +77\ +[0-9.]+\ +\?\ +0\ +ok ]] || complain 'no line of record'
  expect_no_output planted
  expect_call 'sizes_fuzz -runs=10'
  expect_call "$work/keep/sizes $work/tree/tests/fuzz/corpus/sizes"
  expect_no_call '^cmake'
  echo 77 >"$work/ends"
  run scripts/validation/fuzz --programs "$work/bin" --failures "$work/out" --only sizes
  expect_status 1
  expect_output "FAILED, see $work/out/sizes.log"
}

test_fuzz_builds_with_clang() {
  mkdir -p "$work/tree/tests/fuzz"
  touch "$work/tree/tests/fuzz/sizes_fuzz.cpp"
  run scripts/validation/fuzz
  expect_status 3
  double clang++ <<<':'
  double sizes_fuzz <<<'echo "stat::number_of_executed_units: 10"'
  double cmake <<<'[[ $1 == --build ]] || exit 0; mkdir -p "$2/bin"; cp "$work/bin/sizes_fuzz" "$2/bin/"'
  run scripts/validation/fuzz
  expect_status 0
  expect_call '--preset fuzz'
  expect_call '--target fuzzers'
}

test_gpu_check_sanitizer_fails_where_a_tool_finds_something() {
  local log
  mkdir -p "$work/staged/usr/include"
  stage_gpu_software
  double nvidia-smi <<<'[[ $1 == -L ]] && echo "GPU 0: A" || printf "9.0\n"'
  NCCL_HOME=$work/nccl run scripts/validation/gpu-check "$work/staged" --sanitizer
  expect_status 3
  expect_output 'compute-sanitizer is neither on PATH'
  double compute-sanitizer <<<'[[ $* != *copy* ]] || [[ ! -e $work/hangs ]] || exit 124
    echo "[  PASSED  ] 2 tests."; [[ $* != *racecheck* ]] || { cat "$work/races"; exit; }
    echo "========= ERROR SUMMARY: 0 errors"'
  log="========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)"
  echo "$log" >"$work/races"
  NCCL_HOME=$work/nccl run scripts/validation/gpu-check "$work/staged" --sanitizer --out "$work/out"
  expect_status 0
  expect_call '--target all_reduce_kernels_test attention_kernels_test copy_kernels_test exchange_kernel_test latency_kernels_test'
  expect_call '/all_reduce_kernels_test --gtest_filter=AllReduceKernels.WorkInPlace'
  expect_no_call '^ctest'
  [[ $(grep -c ': clean in' "$work/out/sanitizer.txt") -eq 16 ]] || complain 'not two tools over eight tests'
  expect_output 'memcheck all_reduce_stress: not run, it takes 2 GPUs'
  [[ -f $work/out/sanitizer-memcheck-copy_kernels.log ]] || complain 'no log in --out'
  echo "${log//0 warnings/1 warnings}" >"$work/races"
  NCCL_HOME=$work/nccl run scripts/validation/gpu-check "$work/staged" --sanitizer
  expect_status 1
  expect_output 'racecheck copy_kernels: NOT CLEAN'
  echo "$log" >"$work/races"
  touch "$work/hangs"
  NCCL_HOME=$work/nccl run scripts/validation/gpu-check "$work/staged" --sanitizer
  expect_status 1
  expect_output 'memcheck copy_kernels: NOT CLEAN in'
  expect_output 'memcheck latency_kernels: clean in'
  NCCL_HOME=$work/nccl run scripts/validation/gpu-check "$work/staged" --sanitizer --all
  expect_status 2
}

test_cuda_is_laid_out_as_by_its_installer() {
  double apt-get <<<'[[ ! -e $work/offline ]] || exit 100; [[ $* != *download* ]] || touch nvidia-cuda-dev.deb'
  double dpkg-deb <<<'libraries=$3/usr/lib/x86_64-linux-gnu; tools=$3/usr/lib/nvidia-cuda-toolkit
    mkdir -p "$3"/usr/{bin,include} "$libraries" "$tools"/{bin/crt,libdevice}
    touch "$3"/usr/bin/{cudafe++,fatbinary,nvlink,ptxas,bin2c,cuobjdump} "$tools/bin/cicc" "$3/usr/include/cuda.h" \
      "$libraries"/{libcudart.so,libcudart_static.a,libcudadevrt.a}
    printf "#!%s\necho release 12.4, V12.4.131\n" "$BASH" >"$tools/bin/nvcc"; chmod +x "$tools/bin/nvcc"'
  run scripts/packages/unpack-cuda "$work/cuda"
  expect_status 0
  expect_output "CUDA 12.4 is in $work/cuda"
  [[ -e $work/cuda/include/cuda.h && -e $work/cuda/nvvm/bin/cicc && -s $work/cuda/bin/nvcc.profile ]] ||
    complain 'a file is missing'
  [[ ! -e $work/cuda/packages ]] || complain 'the packages were left'
  run scripts/packages/unpack-cuda "$work/cuda"
  expect_status 2
  touch "$work/offline"
  run scripts/packages/unpack-cuda "$work/other"
  expect_status 3
}

test_wrong_options_start_nothing() {
  local words
  for words in 'quickstart --nope' 'quickstart --prefix' 'quickstart --preset ci' 'test --preset nope' \
    'test all' 'validation/gpu-check' 'validation/gpu-check a b' 'lint --fix' 'validation/compare-nccl-tests' \
    'validation/compare-nccl-tests --launches 0 x' 'validation/compare-nccl-tests --only copy_push x' \
    'validation/compare-nccl-tests --operations all_gather,, x' 'validation/compare-nccl-tests --buffers registered x' \
    'validation/compare-nccl-tests --resume x' 'validation/compare-nccl-tests --seconds x x' \
    'validation/compare-nccl-tests --limit speed x' 'validation/stress-all-reduce --only nothing' \
    'validation/stress-all-reduce --ranks' 'validation/check-spills --all' 'validation/fuzz --only nothing' \
    'validation/fuzz --seconds 0' 'validation/many-ranks --ranks' 'validation/many-ranks --variants x' \
    'validation/measure-fleet build' 'validation/measure-fleet build fleet' 'validation/measure-fleet build fleet x' \
    'validation/check-packages --build' 'validation/check-packages --build nowhere' \
    'validation/check-packages trixie --contents'; do
    # shellcheck disable=SC2086 # words
    run scripts/$words
    expect_status 2
  done
  expect_no_call '^\(cmake\|apt-get\|mpirun\)'
}

# What is wrong with what a script says of itself and of a wrong option, one line each.
complaints_of() { # SCRIPT
  local script=$1 text word status=0
  text=$(cd / && PATH=$work/bin "$work/tree/$script" --help 2>/dev/null </dev/null) || echo "--help ends with $?"
  text=$(tr -s ' \n' '  ' <<<"$text")
  for word in '[Uu]sage: ' 'Exit status: ' 'examples?[:,] '; do
    [[ $text =~ $word ]] || echo "--help has no '$word'"
  done
  text=$(cd / && PATH=$work/bin "$work/tree/$script" --no-such-option 2>&1 >/dev/null </dev/null) || status=$?
  [[ $status -eq 2 ]] || echo "a wrong option ends with $status"
  [[ $(wc -l <<<"$text") -eq 1 && $text == *'see --help'* ]] || echo "a wrong option is not told of in one line: $text"
}

# python3 of this machine, where it has one.
add_python() {
  local python
  if python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null); then
    printf '#!%s\nexec %q "$@"\n' "$BASH" "$python" >"$work/bin/python3"
    chmod +x "$work/bin/python3"
  fi
}

test_a_missing_program_is_named() {
  local words
  add_python
  [[ -x $work/bin/python3 ]] || return 0
  rm "$work/bin/mpirun"
  for words in 'attack --linkgain' 'check-nccl-versions --folder wheels --linkgain linkgain --bench' \
    'compare-copies --nvbandwidth' 'corruptions --bench' 'interrupt-runs --linkgain' 'measure-coverage --out out --linkgain' \
    'measure-idle-cost --backend mpi --build' 'measure-neighbours --out out --linkgain' \
    'measure-run-times --out out --linkgain' 'mutants --work' 'soak --linkgain'; do
    # shellcheck disable=SC2086 # words
    run scripts/validation/$words "$work/nothing"
    expect_status 3
    expect_output 'there is no'
    [[ $(wc -l <<<"$output") -eq 1 ]] || complain 'it is not named in one line'
  done
}

test_every_script_explains_itself() {
  local script
  add_python
  while read -r script; do
    if [[ ! -x $work/bin/python3 ]] && head -n 1 "$work/tree/$script" | grep -q python3; then continue; fi
    output=$(complaints_of "$script") status=
    [[ -z $output ]] || complain "$script"
  done < <(cd "$work/tree" && find scripts -type f -perm -u+x | sort)
  expect_no_call .
}

for test_name in $(compgen -A function test_); do
  fresh_machine
  touch "$work/calls"
  "$test_name"
done
printf '%d failures\n' "$failures"
[[ $failures -eq 0 ]]
