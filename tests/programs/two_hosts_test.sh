#!/usr/bin/env bash
# Tests of --hostfile: mpirun across two hosts, which are network and UTS namespaces of this machine,
# joined by a bridge; MPI in CPU memory. usage: two_hosts_test.sh REPOSITORY LINKGAIN
# Exit status 77 where that is not available here.
set -euo pipefail
program=$2
work=$(mktemp -d)
# shellcheck source-path=SCRIPTDIR source=shell_checks.sh
source "$(dirname "${BASH_SOURCE[0]}")/shell_checks.sh"
# Names of this process's own, so that nothing else of the machine is touched.
readonly net=lg$$
readonly subnet=10.213.$((RANDOM % 250))
trap 'remove_hosts; rm -rf "$work"' EXIT

require_namespaces() {
  type -P ip unshare mpirun >/dev/null || skip "ip, unshare or mpirun is not here (apt-get install iproute2)"
  [[ $(id -u) -eq 0 ]] || skip "namespaces are root's to make"
  unshare --uts true 2>/dev/null || skip "no host names of their own can be given here (unshare --uts)"
  ip netns add "$net-try" 2>/dev/null || skip "no network namespace can be made here (ip netns add)"
  ip netns delete "$net-try"
}

# This machine is .1, the hosts are .11 and .12.
make_hosts() {
  local host
  ip link add "$net" type bridge 2>/dev/null || skip "no bridge can be made here (ip link add type bridge)"
  ip address add "$subnet.1/24" dev "$net"
  ip link set "$net" up
  for host in 11 12; do
    ip netns add "$net-$host"
    ip link add "$net.$host" type veth peer name eth0 netns "$net-$host"
    ip link set "$net.$host" master "$net" up
    ip -n "$net-$host" address add "$subnet.$host/24" dev eth0
    ip -n "$net-$host" link set eth0 up
    ip -n "$net-$host" link set lo up
  done
  # What mpirun starts its daemons with, in ssh's place: AGENT HOST COMMAND...
  cat >"$work/agent" <<AGENT
#!/bin/sh
host=\${1##*.}
shift
exec ip netns exec $net-\$host unshare --uts sh -c 'hostname "host\$0"; exec sh -c "\$*"' "\$host" "\$@"
AGENT
  chmod +x "$work/agent"
}

remove_hosts() {
  local host
  for host in 11 12; do
    ip netns pids "$net-$host" 2>/dev/null | xargs --no-run-if-empty kill -KILL 2>/dev/null || true
    ip netns delete "$net-$host" 2>/dev/null || true
  done
  ip link delete "$net" 2>/dev/null || true
}

# linkgain run on both hosts.
# Once more where a daemon of Open MPI 4.1 found its folder of sessions gone, as one that ends removes the host's.
run_on_both() {
  try_on_both "$@"
  [[ $output != *session_dir.c* ]] || try_on_both "$@"
}

try_on_both() {
  run env OMPI_MCA_plm_rsh_agent="$work/agent" OMPI_MCA_oob_tcp_if_include="$subnet.0/24" \
    OMPI_MCA_btl_tcp_if_include="$subnet.0/24" OMPI_MCA_mpi_yield_when_idle=1 \
    "$program" run --backend mpi --only all_reduce --sizes 1K:64K:x64 --ci-width 0.2 --budget 20 --launches 1 "$@"
}

# Both hosts' processes are the daemons' and the workers'.
expect_nothing_left() {
  local host
  for host in 11 12; do
    for _ in {1..50}; do
      [[ -n $(ip netns pids "$net-$host") ]] || break
      sleep 0.1
    done
    [[ -z $(ip netns pids "$net-$host") ]] || complain "processes are left on host$host"
  done
}

test_one_job_spans_the_hosts_of_the_hostfile() {
  printf '%s.11 slots=1\n%s.12 slots=1 # the second\n' "$subnet" "$subnet" >"$work/hosts"
  run_on_both --hostfile hosts --out two
  expect_status 0
  expect_value two/record.json '[k["host"] for k in r["machine"]["ranks"]]' "['host11', 'host12']"
  expect_value two/record.json '[v["path"] for v in r["cases"][0]["variants"]]' "['network', 'network']"
  expect_value two/record.json 'all(v["verification"]["wrong"] == 0 for c in r["cases"] for v in c["variants"])' True
  expect_nothing_left
}

test_slots_are_ranks_and_memory_is_shared_within_a_host() {
  printf '%s.11 slots=2\n%s.12 slots=2\n' "$subnet" "$subnet" >"$work/hosts"
  run_on_both --hostfile hosts --out four
  expect_status 0
  expect_value four/record.json '[k["host"] for k in r["machine"]["ranks"]]' "['host11', 'host11', 'host12', 'host12']"
  expect_value four/record.json '[v["path"] for v in r["cases"][0]["variants"]]' "['mixed', 'network']"
  expect_value four/record.json 'r["settings"]["variants"][0]["environment"]["OMPI_MCA_btl"]' self,vader,tcp
  expect_nothing_left
}

test_a_host_that_cannot_be_reached_is_said() {
  printf '%s.11 slots=1\n%s.99 slots=1\n' "$subnet" "$subnet" >"$work/hosts"
  run_on_both --hostfile hosts --out unreachable
  expect_status 3
  expect_output 'ended instead of answering'
  expect_nothing_left
}

test_a_hostfile_that_is_none_is_refused() {
  : >"$work/hosts"
  run_on_both --hostfile hosts --out empty
  expect_status 2
  expect_output 'there is no host in it'
}

main() {
  require_namespaces
  make_hosts
  local tests
  mapfile -t tests < <(sed -n 's/^\(test_[a-z_]*\)() {$/\1/p' "${BASH_SOURCE[0]}")
  for test_name in "${tests[@]}"; do
    printf '%s\n' "$test_name"
    "$test_name"
  done
  printf '%d failures\n' "$failures"
  ((failures == 0))
}

main "$@"
