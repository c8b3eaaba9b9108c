# shellcheck shell=bash
# Sourced by tests that need Slurm, beside shell_checks.sh: a cluster of two nodes, node1 and node2, on this machine, each a
# slurmd with a host name of its own (a UTS namespace). Nothing of the machine's own Slurm is touched.

: "${work:?a folder for the test, set by the script that sources this}"

cluster_processes=()

# A TCP port that nobody listens on.
free_port() {
  local port
  for _ in {1..50}; do
    port=$((20000 + RANDOM % 12000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
  done
  printf '%d\n' "$port"
}

require_slurm() {
  local program
  for program in slurmctld slurmd srun salloc sbatch scontrol unshare; do
    type -P "$program" >/dev/null || skip "$program is not here (apt-get install slurmctld slurmd slurm-client)"
  done
  [[ $(id -u) -eq 0 ]] || skip "slurmd starts jobs as root only"
  unshare --uts true 2>/dev/null || skip "no host names of their own can be given here (unshare --uts)"
  mknod "$work/device" c 1 3 2>/dev/null || skip "no device node can be made here (mknod)"
  srun --mpi=list 2>&1 | grep -q pmix || [[ -n $(find /usr/lib -name 'mpi_pmix.so' -print -quit) ]] ||
    skip "this Slurm has no PMIx"
}

# write_configuration GPUS [LINE...]: slurm.conf of nodes with so many GPUs, ended by these lines.
write_configuration() {
  local gpus=$1
  shift
  rm -rf "$work/slurm"
  mkdir -p "$work"/slurm/{state,log} "$work"/slurm/{spool,tmp}/node{1,2}
  cat >"$work/slurm/slurm.conf" <<CONFIGURATION
ClusterName=linkgain
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
StateSaveLocation=$work/slurm/state
SlurmdSpoolDir=$work/slurm/spool/%n
TmpFS=$work/slurm/tmp/%n
SlurmctldPidFile=$work/slurm/slurmctld.pid
SlurmdPidFile=$work/slurm/slurmd-%n.pid
SlurmctldLogFile=$work/slurm/log/slurmctld.log
SlurmdLogFile=$work/slurm/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
KillWait=5
MailProg=/bin/true
SlurmdParameters=config_overrides
GresTypes=gpu
NodeName=node1 NodeAddr=127.0.0.1 Port=$(free_port) CPUs=4 Gres=gpu:$gpus State=UNKNOWN
NodeName=node2 NodeAddr=127.0.0.1 Port=$(free_port) CPUs=4 Gres=gpu:$gpus State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONFIGURATION
  printf '%s\n' "$@" >>"$work/slurm/slurm.conf"
  # Nobody computes on them: any devices will do (null, zero, full and random).
  mknod "$work/slurm/gpu0" c 1 3
  mknod "$work/slurm/gpu1" c 1 5
  mknod "$work/slurm/gpu2" c 1 7
  mknod "$work/slurm/gpu3" c 1 8
  printf 'Name=gpu File=%s\n' "$work/slurm/gpu[0-$((gpus - 1))]" >"$work/slurm/gres.conf"
  export SLURM_CONF=$work/slurm/slurm.conf
}

# wait_until SECONDS COMMAND...: until it succeeds.
wait_until() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < end)) || return 1
    sleep 0.2
  done
}

# Both have reported; a health check may have drained one since.
all_up() {
  [[ $(sinfo --noheader --Node --format=%T 2>/dev/null | grep -cxE 'idle|drained|draining') -eq 2 ]]
}

start_cluster() {
  local node
  slurmctld -D >"$work/slurm/log/slurmctld.out" 2>&1 &
  cluster_processes+=($!)
  for node in node1 node2; do
    # shellcheck disable=SC2016 # $0 is the node
    unshare --uts bash -c 'hostname "$0"; exec slurmd -D -N "$0"' "$node" >"$work/slurm/log/$node.out" 2>&1 &
    cluster_processes+=($!)
  done
  wait_until 30 all_up || {
    tail -n 20 "$work"/slurm/log/*
    return 1
  }
}

# cluster_processes_of PATTERN: the processes of this cluster, and of no other one of the machine, whose command
# line the pattern matches, the youngest last.
cluster_processes_of() {
  local process
  for process in $(pgrep -f "$1"); do
    # It may have ended by now.
    ! { tr '\0' '\n' <"/proc/$process/environ"; } 2>/dev/null | grep -qxF "SLURM_CONF=$SLURM_CONF" ||
      printf '%d\n' "$process"
  done
}

no_jobs_left() { [[ -z $(squeue --noheader 2>/dev/null) ]]; }

# Without a controller Slurm's commands would try for half a minute to reach it.
stop_cluster() {
  ((${#cluster_processes[@]} > 0)) || return 0
  scancel --user=root 2>/dev/null || true
  wait_until 15 no_jobs_left || true
  kill "${cluster_processes[@]}" 2>/dev/null || true
  wait "${cluster_processes[@]}" 2>/dev/null || true
  cluster_processes_of 'slurmd|slurmstepd|slurmctld|linkgain' | grep -vxF $$ | xargs --no-run-if-empty kill -KILL 2>/dev/null ||
    true
  cluster_processes=()
}
