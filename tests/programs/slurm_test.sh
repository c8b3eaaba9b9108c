#!/usr/bin/env bash
# Tests of --launcher srun and scripts/slurm on a real Slurm: slurmctld and two slurmd on this machine,
# MPI in CPU memory. usage: slurm_test.sh REPOSITORY LINKGAIN NVML-DOUBLE launcher|failures|node_check|all_nodes|health
# Exit status 77 where that is not available here.
set -euo pipefail
repository=$(cd "$1" && pwd)
program=$2
nvml_double=$3
part=$4
work=$(mktemp -d)
# shellcheck source-path=SCRIPTDIR source=slurm_cluster.sh
source "$(dirname "${BASH_SOURCE[0]}")/slurm_cluster.sh"
# shellcheck source-path=SCRIPTDIR source=shell_checks.sh
source "$(dirname "${BASH_SOURCE[0]}")/shell_checks.sh"
trap 'stop_cluster; rm -rf "$work"' EXIT
# One network namespace for all: TCP from node to node is over its loopback interface, which Open MPI
# leaves out by default.
export OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_mpi_yield_when_idle=1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

readonly workers='^[^ ]*linkgain-bench .*--serve'
no_processes_left() { [[ -z $(cluster_processes_of "$workers") ]]; }
expect_nothing_left() {
  wait_until 30 no_jobs_left || complain "jobs are left: $(squeue --noheader)"
  wait_until 5 no_processes_left || complain "workers are left: $(cluster_processes_of "$workers")"
}

job_ended() { [[ $(scontrol --oneliner show job "$1") =~ \ JobState=(COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL) ]]; }

# run_batch FILE ARGUMENT...: a batch job to its end, its status, and what it printed into FILE. sbatch --wait would look
# after 2, 10 and 42 s only.
run_batch() {
  local file=$1 job
  shift
  run sbatch --parsable --output="$file" "$@"
  [[ $status -eq 0 ]] || return 0
  job=$output
  wait_until 120 job_ended "$job" || complain "job $job has not ended"
  status=$(scontrol --oneliner show job "$job" | sed -n 's/.* ExitCode=\([0-9]*\):.*/\1/p')
  output=$(cat "$work/$file" 2>/dev/null || true)
}

readonly short=(--backend mpi --only all_reduce --sizes 1K:64K:x64 --ci-width 0.2 --budget 20 --launches 1)

test_srun_measures_both_variants_in_turn_on_a_node() {
  run salloc --nodes=1 --ntasks=2 "$program" run --launcher srun "${short[@]}" --out node
  expect_status 0
  expect_output 'all_reduce'
  expect_value node/record.json 'r["status"]' complete
  expect_value node/record.json 'r["settings"]["schedule"]' paired
  expect_value node/record.json '[v["name"] for v in r["settings"]["variants"]]' "['shared-memory', 'tcp']"
  expect_value node/record.json '[k["host"] for k in r["machine"]["ranks"]]' "['node1', 'node1']"
  expect_value node/record.json '[v["path"] for v in r["cases"][0]["variants"]]' "['host-memory', 'network']"
  expect_value node/record.json 'all(v["verification"]["wrong"] == 0 for c in r["cases"] for v in c["variants"])' True
  expect_value node/record.json '[len(c["ratios"]) for c in r["cases"]]' '[1, 1]'
  expect_nothing_left
}

test_srun_spans_the_nodes_of_its_allocation() {
  run salloc --nodes=2 --ntasks-per-node=2 "$program" run --launcher srun "${short[@]}" --out nodes
  expect_status 0
  expect_value nodes/record.json 'sorted(k["host"] for k in r["machine"]["ranks"])' \
    "['node1', 'node1', 'node2', 'node2']"
  expect_value nodes/record.json '[v["path"] for v in r["cases"][0]["variants"]]' "['mixed', 'network']"
  expect_value nodes/record.json 'len(r["cases"])' 2
  expect_nothing_left
}

test_mpirun_stays_on_its_host_in_an_allocation_of_two() {
  run salloc --nodes=2 --ntasks=2 "$program" run "${short[@]}" --out here
  expect_status 0
  expect_value here/record.json "sorted(set(k['host'] for k in r['machine']['ranks'])) == ['$(hostname)']" True
  expect_value here/record.json '[v["path"] for v in r["cases"][0]["variants"]]' "['host-memory', 'network']"
}

test_srun_needs_an_allocation() {
  run "$program" run --launcher srun "${short[@]}" --out none
  expect_status 2
  expect_output 'needs a Slurm allocation'
  expect_output 'salloc'
  [[ ! -e $work/none ]] || complain "a folder was made"
}

# Runs in an allocation, and sends a signal to the youngest worker once some case is measured.
# run_and_signal SIGNAL OUT DEADLINE
run_and_signal() {
  {
    declare -f cluster_processes_of
    cat <<'SCRIPT'
signal=$1 out=$2 workers=$3
shift 3
"$@" &
job=$!
for _ in {1..300}; do
  sleep 0.1
  kill -0 "$job" || break
  [[ $(wc -l <"$out/journal.jsonl") -ge 2 && -n $(cluster_processes_of "$workers") ]] && break
done 2>/dev/null
kill -"$signal" "$(cluster_processes_of "$workers" | tail -n 1)"
wait "$job"
SCRIPT
  } >"$work/signal"
  run salloc --nodes=1 --ntasks=2 bash "$work/signal" "$1" "$2" "$workers" "$program" run --launcher srun --backend mpi \
    --only all_reduce --sizes 64K:384K:+64K --launches 1 --out "$2" --timeout "$3"
}

test_a_killed_rank_ends_its_step_only() {
  run_and_signal KILL killed 15
  expect_status 6
  expect_output 'ended instead of answering'
  expect_value killed/record.json 'r["exit_code"]' 6
  expect_nothing_left
}

test_a_stopped_rank_is_given_up_at_the_deadline() {
  run_and_signal STOP stopped 3
  expect_status 6
  # While ranks start, those that wait see it before the deadline of the job.
  [[ $output == *'a signal has stopped it'* ]] || expect_output 'gave no answer'
  expect_nothing_left
}

test_two_mpiruns_over_a_hostfile_share_an_allocation() {
  printf 'node1 slots=1\nnode2 slots=1\n' >"$work/hosts"
  local -r measure=(salloc --nodes=2 --ntasks-per-node=1 "$program" run --hostfile hosts "${short[@]}" --out hostfile)
  run "${measure[@]}"
  # Of two at once mpirun's daemon now and then does not find the way back: Open MPI's own words.
  if [[ $output == *'communicating back to mpirun'* ]]; then run "${measure[@]}"; fi
  expect_status 0
  expect_value hostfile/record.json '[k["host"] for k in r["machine"]["ranks"]]' "['node1', 'node2']"
  # A rank a host: both variants are TCP.
  expect_value hostfile/record.json '[v["path"] for v in r["cases"][0]["variants"]]' "['network', 'network']"
  expect_nothing_left
}

test_every_task_sees_the_gpus_of_the_job() {
  if [[ $("$program" --version) != *nccl+mpi* ]]; then
    printf 'skipped: this build has no nccl backend\n'
    return
  fi
  # linkgain starts the worker that lies beside it.
  mkdir "$work/bin"
  cp "$program" "$work/bin/linkgain"
  cat >"$work/bin/linkgain-bench" <<'SCRIPT'
#!/bin/sh
echo "task $SLURM_PROCID sees ${CUDA_VISIBLE_DEVICES-all}" >&2
SCRIPT
  chmod +x "$work/bin/linkgain-bench"
  # The first two are another job's.
  run salloc --nodes=1 --nodelist=node1 --ntasks=1 --gres=gpu:2 salloc --nodes=1 --nodelist=node1 --ntasks=2 \
    --gpus-per-task=1 "$work/bin/linkgain" run --launcher srun --backend nccl --only all_reduce --sizes 1K --out gpus
  output=$(cat "$work"/gpus/*.log 2>/dev/null || true)
  expect_output 'task 0 sees 2,3'
  expect_output 'task 1 sees 2,3'
}

test_node_check_writes_a_record_per_node_then_fleet() {
  run_batch node-check.out --nodes=2 "$repository/scripts/slurm/node-check.sbatch" \
    --out checked --linkgain "$program" -- --backend mpi --only all_reduce --sizes 1K:64K:x64 --launches 2 --ci-width 0.2 --budget 15
  expect_status 7 # two nodes judge no third
  expect_value checked/node1/record.json 'set(k["host"] for k in r["machine"]["ranks"])' "{'node1'}"
  expect_value checked/node2/record.json 'set(k["host"] for k in r["machine"]["ranks"])' "{'node2'}"
  expect_value checked/node1/record.json 'r["settings"]["profile"]' node
  expect_value checked/node1/record.json 'r["settings"]["launches"]' 2
  expect_output 'node1'
  expect_output 'node2'
  [[ -s $work/checked/fleet.txt ]] || complain "there is no fleet.txt"
  grep -q '^linkgain_fleet_node_drain{node="' "$work/checked/linkgain_fleet.prom" || complain "no node in linkgain_fleet.prom"
}

test_node_check_compares_nodes_with_a_baseline() {
  run "$program" baseline checked/node1/record.json -o baseline.json
  expect_status 0
  # Of a machine a million times as fast: two launches decide that however much they scatter on a loaded machine.
  python3 -c 'if True:
    import json, sys
    baseline = json.load(open(sys.argv[1]))
    for case in baseline["cases"]:
        case["time_s"] /= 1e6
        case["spread"] = 0.1
        case["degrees_of_freedom"] = 10
        del case["busbw_gb_per_s"]
    json.dump(baseline, open(sys.argv[1], "w"))' "$work/baseline.json" || complain "no baseline to edit"
  run_batch against.out --nodes=2 "$repository/scripts/slurm/node-check.sbatch" \
    --out against --baseline baseline.json --linkgain "$program" \
    -- --backend mpi --only all_reduce --sizes 1K:64K:x64 --launches 2 --ci-width 0.2 --budget 15
  expect_status 1
  expect_output 'check node1: exit status 1'
  expect_output 'check node2: exit status 1'
  grep -q '<failure' "$work/against/node2/check.xml" || complain "no failure in check.xml"
  grep -q '|' "$work/against/node1/check.md" || complain "no table in check.md"
}

test_node_check_says_which_node_has_no_record() {
  # Like a node whose program is broken; what an earlier check left there is not taken for its own.
  cat >"$work/program" <<SCRIPT
#!/bin/sh
[ "\$1 \$SLURMD_NODENAME" != 'run node2' ] || exit 3
exec '$program' "\$@"
SCRIPT
  chmod +x "$work/program"
  run_batch broken.out --nodes=2 "$repository/scripts/slurm/node-check.sbatch" \
    --out checked --linkgain "$work/program" -- --backend mpi --only all_reduce --sizes 1K --launches 1 --budget 10
  expect_status 1
  expect_output 'exit status 3'
  expect_output 'missing'
  [[ ! -e $work/checked/node2/record.json ]] || complain "an old record is left"
}

test_node_check_does_not_measure_cpus_for_gpus() {
  ! nvidia-smi -L >/dev/null 2>&1 || return 0
  run_batch no-gpus.out --nodes=1 "$repository/scripts/slurm/node-check.sbatch" \
    --out no-gpus --linkgain "$program" -- --only all_reduce --sizes 1K --launches 1 --budget 10
  expect_status 1
  expect_output 'missing'
}

test_node_check_needs_no_mpirun_for_gpus() {
  local -r variant=worker=${program%/*}/double/linkgain-bench
  mkdir "$work/broken"
  printf '#!/bin/sh\nexit 1\n' >"$work/broken/mpirun"
  cat >"$work/on_gpus" <<SCRIPT
#!/bin/sh
export LINKGAIN_NVML_LIBRARY='$nvml_double' LINKGAIN_NVML_SCENARIO=no-nvlink PATH='$work/broken':"\$PATH"
exec '$program' "\$@"
SCRIPT
  chmod +x "$work/broken/mpirun" "$work/on_gpus"
  local -r check=("$repository/scripts/slurm/node-check.sbatch" --linkgain "$work/on_gpus")
  local -r options=(--variant "first:$variant" --variant "second:$variant" --only all_reduce --sizes 1K --launches 1)
  run_batch gpus.out --nodes=2 "${check[@]}" --out gpus -- "${options[@]}"
  expect_status 7 # two nodes judge no third
  expect_value gpus/node1/record.json 'r["status"]' complete
  expect_value gpus/node2/record.json 'r["status"]' complete
  run_batch asked.out --nodes=2 "${check[@]}" --out asked -- "${options[@]}" --launcher=mpirun
  expect_status 1 # both nodes lack what they were asked to take
}

test_all_nodes_is_one_job_over_all() {
  run_batch all-nodes.out --nodes=2 --ntasks-per-node=1 \
    "$repository/scripts/slurm/all-nodes.sbatch" --out all --linkgain "$program" \
    -- --backend mpi --sizes 64K --launches 2 --ci-width 0.2 --budget 20
  expect_status 0
  expect_value all/record.json '[k["host"] for k in r["machine"]["ranks"]]' "['node1', 'node2']"
  expect_value all/record.json 'r["cases"][0]["case"]' all_reduce/float32/sum/64KiB/np2
}

test_scripts_refuse_what_they_cannot_do() {
  local script
  for script in node-check.sbatch all-nodes.sbatch; do
    run env -u SLURM_JOB_ID "$repository/scripts/slurm/$script" --out out
    expect_status 2
    expect_output 'sbatch'
    run "$repository/scripts/slurm/$script" --colour
    expect_status 2
    expect_output "--colour"
    run "$repository/scripts/slurm/$script" --help
    expect_status 0
    expect_output 'usage: sbatch'
  done
}

# The node's doctor sees the machine that $work/scenario names.
write_health_check() {
  cat >"$work/doctor" <<SCRIPT
#!/bin/sh
export LINKGAIN_NVML_LIBRARY='$nvml_double' LINKGAIN_NVML_SCENARIO="\$(cat '$work/scenario')"
export ASAN_OPTIONS='${ASAN_OPTIONS:-}' LSAN_OPTIONS='${LSAN_OPTIONS:-}'
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
[ "\$SLURMD_NODENAME" = node2 ] || LINKGAIN_NVML_SCENARIO=h200x2
exec '$program' "\$@"
SCRIPT
  cat >"$work/health-check" <<SCRIPT
#!/bin/sh
export SLURM_CONF='$work/slurm/slurm.conf' # not where Slurm looks by itself
exec '$repository/scripts/slurm/health-check' --linkgain '$work/doctor' "\$@"
SCRIPT
  chmod +x "$work/doctor" "$work/health-check"
}

node_is() { [[ $(sinfo --noheader --Node --nodes="$1" --format=%T) == "$2" ]]; }

test_health_check_drains_a_bad_node_and_takes_it_back() {
  status=0
  output=
  wait_until 60 node_is node2 drained || complain "node2 is not drained: $(scontrol --oneliner show node node2)"
  output=$(scontrol --oneliner show node node2)
  expect_output 'Reason=linkgain doctor: nvlink-links, GPU0, GPU1: 17 of 18 links active'
  node_is node1 idle || complain "node1 is not idle"
  # Without its driver it is not in order either.
  echo no-driver >"$work/scenario"
  sleep 6
  node_is node2 drained || complain "node2 is taken back: $(scontrol --oneliner show node node2)"
  echo h200x2 >"$work/scenario"
  wait_until 60 node_is node2 idle || complain "node2 is not taken back: $(scontrol --oneliner show node node2)"
}

test_health_check_leaves_alone_what_others_drained() {
  echo h200x2 >"$work/scenario"
  run env SLURMD_NODENAME=node2 "$work/health-check"
  expect_status 0
  echo no-driver >"$work/scenario"
  run env SLURMD_NODENAME=node2 "$work/health-check" --dry-run --prometheus "$work/doctor.prom"
  expect_status 1
  grep -q '^linkgain_doctor_gpus 0$' "$work/doctor.prom" || complain "doctor.prom does not say that there is no GPU"
  expect_output 'the driver shows 0 of 2 GPUs'
  node_is node2 idle || complain "--dry-run drained node2"
  run env SLURMD_NODENAME=node3 "$work/health-check"
  expect_status 2
  expect_output 'node3'
  run scontrol update nodename=node1 state=drain reason='[HW] fans to be changed'
  run env SLURMD_NODENAME=node1 "$work/health-check"
  expect_status 0
  run scontrol --oneliner show node node1
  expect_output 'Reason=[HW] fans to be changed'
  echo one-link-down >"$work/scenario"
  run scontrol update nodename=node2 state=drain reason='fans to be changed'
  run env SLURMD_NODENAME=node2 "$work/health-check"
  expect_status 1
  run scontrol --oneliner show node node2
  expect_output 'Reason=fans to be changed'
  run scontrol update nodename=node1,node2 state=resume
}

# run_all TEST...: on the cluster as it is configured.
run_all() {
  start_cluster
  for test_name in "$@"; do
    printf '%s\n' "$test_name"
    "$test_name"
  done
  stop_cluster
}

# tests_of PATTERN: this file's tests that it names, but those of the health check.
tests_of() { sed -n 's/^\(test_[a-z_]*\)() {$/\1/p' "${BASH_SOURCE[0]}" | grep -v health_check | grep "${@}"; }

readonly all_nodes='all_nodes\|scripts'

main() {
  local tests
  require_slurm
  write_health_check
  echo h200x2 >"$work/scenario"
  write_configuration 4 WaitTime=3
  case $part in
    # What the launcher does is what no other part names, so that no test is left out.
    launcher) mapfile -t tests < <(tests_of -v "node_check\|$all_nodes\|killed\|stopped") ;;
    failures) mapfile -t tests < <(tests_of 'killed\|stopped') ;;
    node_check) mapfile -t tests < <(tests_of node_check) ;;
    all_nodes) mapfile -t tests < <(tests_of "$all_nodes") ;;
  esac
  if [[ $part == health ]]; then
    # With the health check, which goes on beside everything else.
    echo one-link-down >"$work/scenario"
    write_configuration 2 "HealthCheckProgram=$work/health-check" HealthCheckInterval=2 HealthCheckNodeState=ANY
    run_all test_health_check_drains_a_bad_node_and_takes_it_back
    write_configuration 2
    run_all test_health_check_leaves_alone_what_others_drained
  else
    run_all "${tests[@]}"
  fi
  printf '%d failures\n' "$failures"
  ((failures == 0))
}

main
