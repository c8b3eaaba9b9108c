# shellcheck shell=bash
# Sourced by setup.sh: messages, logged steps, and the build.

: "${root:?the repository, set by the script that sources this}"

readonly exit_usage=2
readonly exit_machine=3

say() { printf 'linkgain: %s\n' "$*"; }

# fail STATUS LINE...: says why, one line each, and ends.
fail() {
  local status=$1
  shift
  printf 'linkgain: %s\n' "$@" >&2
  exit "$status"
}

# option_value NAME [VALUE]: the value of an option, or a usage error where there is none.
option_value() {
  [[ $# -ge 2 && -n $2 ]] || fail "$exit_usage" "$1 needs a value (see --help)"
  printf '%s\n' "$2"
}

readonly milliseconds_between_lines=8000

# run_step TEXT LOG COMMAND...: what COMMAND prints goes to LOG, and the screen has TEXT, then how far it is; the end of
# LOG where the command fails. Returns the command's status.
run_step() {
  local text=$1 log=$2 status=0 watcher
  shift 2
  if ! mkdir -p "$(dirname "$log")" 2>/dev/null || [[ ! -w $(dirname "$log") ]]; then
    fail "$exit_machine" "cannot write $(dirname "$log"): use a clone of your own"
  fi
  say "$text (log: $log)"
  : >"$log"
  # It ends with this descriptor, thus also where this script is interrupted.
  exec 8> >(show_progress "${text%% *}" "$log")
  watcher=$!
  "$@" >"$log" 2>&1 </dev/null 8>&- || status=$?
  exec 8>&-
  wait "$watcher" || true
  if [[ $status -ne 0 ]]; then
    printf 'linkgain: this failed with status %d; the end of %s:\n' "$status" "$log" >&2
    tail -n 80 "$log" >&2
  fi
  return "$status"
}

# shows_lines_anew: whether the screen is a terminal on which a line can be written anew.
shows_lines_anew() { [[ -t 1 && ${TERM:-dumb} != dumb ]]; }

# show_progress VERB LOG: until standard input ends, says where in LOG the step is and how long it has taken: in one line
# of a terminal, elsewhere in a line every milliseconds_between_lines, also while nothing is written to LOG.
show_progress() {
  local verb=$1 line unfinished='' text next=$milliseconds_between_lines milliseconds
  local begin=${EPOCHREALTIME//[!0-9]/} place='' packages=0 unpacked=0 ready=0
  exec 9<"$2"
  while read -r -t 0.2 _ || (($? > 128)); do
    milliseconds=$(((${EPOCHREALTIME//[!0-9]/} - begin) / 1000))
    while IFS= read -r line <&9; do
      find_place "$unfinished$line" $((milliseconds / 1000))
      unfinished=
    done
    unfinished+=$line
    text="$verb${place:+: ${place:0:45}} ($((milliseconds / 1000)) s)"
    if shows_lines_anew; then
      printf '\r\033[Klinkgain: %s' "$text"
    elif ((milliseconds >= next)); then
      next=$((milliseconds + milliseconds_between_lines))
      say "$text"
    fi
  done
  if shows_lines_anew; then printf '\r\033[K'; fi
}

# find_place LINE SECONDS: sets place to where the step is whose log has LINE after so many seconds: a build, apt-get, CMake,
# pip, or a function of these scripts. Counts apt-get's packages.
find_place() {
  local line=$1 seconds=$2
  if [[ $line =~ ^\[\ *([0-9]+)/([0-9]+)\] ]]; then
    place="step ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]}"
    place+=$(build_time_left "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" "$seconds")
  elif [[ $line =~ ^\[\ *([0-9]+)%\] ]]; then
    place="${BASH_REMATCH[1]} %$(build_time_left "${BASH_REMATCH[1]}" 100 "$seconds")"
  elif [[ $line =~ ^([0-9]+)\ upgraded,\ ([0-9]+)\ newly\ installed ]]; then
    packages=$((BASH_REMATCH[1] + BASH_REMATCH[2]))
  elif [[ $line =~ ^Get:[0-9]+\ [^\ ]+\ [^\ ]+\ [^\ ]+\ ([^\ ]+)\ [^\ ]+\ [^\ ]+\ \[ ]]; then
    place="fetching ${BASH_REMATCH[1]}"
  elif [[ $line =~ ^Unpacking\ ([^\ :]+) ]]; then
    unpacked=$((unpacked + 1))
    place="unpacking ${BASH_REMATCH[1]}$(packages_left "$unpacked" "$packages")"
  elif [[ $line =~ ^Setting\ up\ ([^\ :]+) ]]; then
    ready=$((ready + 1))
    place="setting up ${BASH_REMATCH[1]}$(packages_left "$ready" "$packages")"
  elif [[ $line == 'Waiting for cache lock'* ]]; then
    place='another apt is at work'
  elif [[ $line =~ ^(--|linkgain:|Processing\ triggers\ for|\ *Collecting|\ *Downloading)\ +([^\ ].*) ]]; then
    place=${BASH_REMATCH[2]}
  fi
}

# ", 3 of 12 left" of so many packages; nothing where their number is not known.
packages_left() {
  local done=$1 packages=$2
  if ((packages >= done)); then printf ', %d of %d left' $((packages - done)) "$packages"; fi
}

# "about 90 s left" of a build of so many steps, from a fifth of them on. The last ones, of programs, take an eighth longer than
# those of libraries.
build_time_left() {
  local step=$1 steps=$2 seconds=$3
  ((step * 5 >= steps)) || return 0
  local left=$((seconds * (steps - step) * 9 / (step * 8)))
  if ((left >= 300)); then
    printf ', about %d min left' $(((left + 30) / 60))
  elif ((left >= 5)); then
    printf ', about %d s left' $(((left + 5) / 10 * 10))
  fi
}

# Memory that this process may still use, in KiB: the machine's, or its control group's if less.
available_memory_kib() {
  local available limit
  available=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo 2>/dev/null || true)
  limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || true)
  [[ $available =~ ^[0-9]+$ ]] || available=1572864
  if [[ $limit =~ ^[0-9]+$ ]] && ((limit / 1024 < available)); then
    available=$((limit / 1024))
  fi
  printf '%d\n' "$available"
}

# One compiler per core, but no more than there is memory for at 1.5 GiB each.
build_jobs() {
  local cores by_memory
  cores=$(nproc)
  by_memory=$(($(available_memory_kib) / 1572864))
  ((by_memory >= 1)) || by_memory=1
  printf '%d\n' $((cores < by_memory ? cores : by_memory))
}

# Ninja, or Makefiles where there is none.
cmake_generator() {
  if command -v ninja >/dev/null; then
    printf 'Ninja\n'
  elif command -v make >/dev/null; then
    printf 'Unix Makefiles\n'
  else
    fail "$exit_machine" "neither ninja nor make is here: install ninja-build"
  fi
}

# configure PRESET BUILD [CMAKE-ARGUMENT...]: starts afresh where BUILD belongs to another source
# tree or generator, as after the tree was moved.
configure() {
  local preset=$1 build=$2 generator fresh=()
  shift 2
  generator=$(cmake_generator) || return
  if [[ -f $build/CMakeCache.txt ]] &&
    ! { grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$build/CMakeCache.txt" &&
      grep -qxF "CMAKE_GENERATOR:INTERNAL=$generator" "$build/CMakeCache.txt"; }; then
    fresh=(--fresh)
  fi
  run_step "configuring with preset $preset in $build" "$build/logs/configure.log" \
    cmake "${fresh[@]}" -S "$root" --preset "$preset" -B "$build" -G "$generator" "$@" || return
  grep '^-- linkgain ' "$build/logs/configure.log" | sed 's/^-- linkgain/linkgain: will be built:/' || true
}

# build BUILD [TARGET...]
build() {
  local folder=$1 jobs
  shift
  jobs=$(build_jobs)
  run_step "building with $jobs jobs; the first time takes minutes" "$folder/logs/build.log" \
    cmake --build "$folder" --parallel "$jobs" ${1+--target "$@"}
}

# has_preset NAME
has_preset() {
  grep -qF "\"configurePreset\": \"$1\"" "$root/CMakePresets.json"
}

# For tests built with sanitizers; the others do not look. tests/CMakeLists.txt has more for those that start
# MPI. CUDA maps memory where AddressSanitizer keeps its gap.
set_sanitizer_options() {
  export ASAN_OPTIONS=protect_shadow_gap=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}
  export UBSAN_OPTIONS=print_stacktrace=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}
  local leaks=suppressions=$root/tests/support/lsan.supp:print_suppressions=0
  export LSAN_OPTIONS=$leaks${LSAN_OPTIONS:+:$LSAN_OPTIONS}
}
