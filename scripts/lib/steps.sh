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

# run_step TEXT LOG COMMAND...: one line on the screen, everything else in LOG; the end of LOG where
# the command fails. Returns the command's status. With show_progress=yes the screen has a build's.
run_step() {
  local text=$1 log=$2 status=0
  shift 2
  if ! mkdir -p "$(dirname "$log")" 2>/dev/null || [[ ! -w $(dirname "$log") ]]; then
    fail "$exit_machine" "cannot write $(dirname "$log"): use a clone of your own"
  fi
  say "$text (log: $log)"
  if [[ ${show_progress:-no} == yes ]]; then
    rm -f "$log.status"
    { "$@" 2>&1 </dev/null || echo $? >"$log.status"; } | show_build_progress "$log"
    if [[ -e $log.status ]]; then status=$(cat "$log.status") && rm "$log.status"; fi
  else
    "$@" >"$log" 2>&1 </dev/null || status=$?
  fi
  if [[ $status -ne 0 ]]; then
    printf 'linkgain: this failed with status %d; the end of %s:\n' "$status" "$log" >&2
    tail -n 80 "$log" >&2
  fi
  return "$status"
}

readonly seconds_between_lines=60

# shows_lines_anew: whether the screen is a terminal on which a line can be written anew.
shows_lines_anew() { [[ -t 1 && ${TERM:-dumb} != dumb ]]; }

# "about 9 min left" of a build of so many steps; nothing in its first seconds.
build_time_left() {
  local step=$1 steps=$2 seconds=$3
  ((seconds >= 10 && step > 0)) || return 0
  local left=$((seconds * (steps - step) / step))
  if ((left < 120)); then printf ', about %d s left' "$left"; else printf ', about %d min left' $((left / 60)); fi
}

# Copies a build's output to LOG; of "[12/292] ..." or "[ 12%] ..." the screen has how far it is: in
# one line of a terminal, elsewhere in a line a minute.
show_build_progress() {
  local log=$1 line now shown_at=0 next=$seconds_between_lines text=
  SECONDS=0
  while IFS= read -r line || [[ -n $line ]]; do
    printf '%s\n' "$line"
    if [[ $line =~ ^\[\ *([0-9]+)/([0-9]+)\] ]]; then
      text="building: step ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]}"
      text+=$(build_time_left "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" "$SECONDS")
    elif [[ $line =~ ^\[\ *([0-9]+)%\] ]]; then
      text="building: ${BASH_REMATCH[1]} %$(build_time_left "${BASH_REMATCH[1]}" 100 "$SECONDS")"
    else
      continue
    fi
    if shows_lines_anew >&3; then
      now=${EPOCHREALTIME//[!0-9]/}
      ((now - shown_at >= 100000)) || continue
      shown_at=$now
      printf '\r\033[Klinkgain: %s' "$text" >&3
    elif ((SECONDS >= next)); then
      next=$((SECONDS + seconds_between_lines))
      say "$text" >&3
    fi
  done 3>&1 >"$log"
  if shows_lines_anew; then printf '\r\033[K'; fi
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
  show_progress=yes run_step "building with $jobs jobs; the first time takes minutes" "$folder/logs/build.log" \
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
