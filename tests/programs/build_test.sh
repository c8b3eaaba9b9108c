#!/usr/bin/env bash
# What configuring and installing promise. usage: build_test.sh SOURCE BUILD
set -euo pipefail
source_dir=$1
build_dir=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
# Of CMake's generators only the build's is sure to find its program.
CMAKE_GENERATOR=$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "$build_dir/CMakeCache.txt")
export CMAKE_GENERATOR

# expect TEXT FILE WHAT
expect() {
  if ! grep -qF -- "$1" "$2"; then
    printf 'FAILED: %s: no "%s" in:\n' "$3" "$1"
    tail -n 15 "$2"
    failures=$((failures + 1))
  fi
}

# find_nccl NAME MINOR: configures with only a header of that version to be found; prints into NAME.log
find_nccl() {
  mkdir -p "$work/$1/include"
  printf '#define NCCL_MAJOR 2\n#define NCCL_MINOR %s\n#define NCCL_PATCH 3\n' "$2" >"$work/$1/include/nccl.h"
  cmake -S "$source_dir/tests/programs/find_nccl" -B "$work/$1/build" \
    -DNCCL_INCLUDE_DIR="$work/$1/include" -DNCCL_LIBRARY=NCCL_LIBRARY-NOTFOUND >"$work/$1.log" 2>&1 || true
}

find_nccl header 28
expect 'result: TRUE 2.28.3' "$work/header.log" 'the header alone is enough: the library is opened at run time'
expect 'device API: FALSE' "$work/header.log" 'without its header there is no device API'

mkdir -p "$work/device/include"
touch "$work/device/include/nccl_device.h"
find_nccl device 28
expect 'device API: TRUE' "$work/device.log" 'the device API is found by its header'

find_nccl old 18
expect 'result: FALSE' "$work/old.log" 'a header before 2.19 is refused'
expect 'is of 2.18.3, older than 2.19' "$work/old.log" 'the refusal names both versions'

# Asked for and missing is an error, not a build without GPUs.
status=0
CUDACXX=/nonexistent/nvcc cmake -S "$source_dir" -B "$work/gpu" -DLINKGAIN_GPU=ON -DLINKGAIN_TESTS=OFF \
  -DLINKGAIN_NVCC=LINKGAIN_NVCC-NOTFOUND >"$work/gpu.log" 2>&1 || status=$?
if ((status == 0)); then
  printf 'FAILED: LINKGAIN_GPU=ON without a CUDA compiler configured\n'
  failures=$((failures + 1))
fi
expect 'LINKGAIN_GPU=ON, but no CUDA compiler was found' "$work/gpu.log" 'the refusal says what is missing'

# What an old toolkit left behind is no compiler, and does not keep CPUs from being measured.
printf '#!/bin/sh\nexit 1\n' >"$work/nvcc"
chmod +x "$work/nvcc"
env -u CUDACXX cmake -S "$source_dir" -B "$work/stale" -DLINKGAIN_GPU=AUTO -DLINKGAIN_TESTS=OFF \
  -DLINKGAIN_NVCC="$work/nvcc" >"$work/stale.log" 2>&1 || true
expect "mpi only (no CUDA compiler was found that works (tried: $work/nvcc))" "$work/stale.log" 'a broken nvcc is none'

# Programs as they are installed are compiled and linked with what makes faults harder to use; here in a folder as
# browsers and people name it.
odd="$work/linkgain (1), Ann's & Bob's"
ln -s "$source_dir" "$odd"
ln -s "$odd, built" "$work/release"
env -u CUDACXX cmake -S "$odd" -B "$odd, built" -DLINKGAIN_GPU=AUTO -DLINKGAIN_TESTS=OFF \
  -DCMAKE_BUILD_TYPE=Release >"$work/release.log" 2>&1 || true
cmake --build "$odd, built" --target linkgain_commit >"$work/commit.log" 2>&1 || cat "$work/commit.log"
expect 'commit_suffix()' "$work/release/bench/common/base/commit.cpp" 'the commit is looked up in such a folder'
for flag in -fstack-protector-strong -D_FORTIFY_SOURCE=2; do
  expect " $flag" "$work/release/compile_commands.json" 'sources are hardened'
  if grep -qF '.cu"' "$work/release/compile_commands.json"; then
    expect " -Xcompiler=$flag" "$work/release/compile_commands.json" 'host code of kernels is hardened'
  fi
done
grep -rhs -e '-z,now' "$work/release/build.ninja" "$work/release/bench" >"$work/release.link" || true
expect '-z,relro,-z,now' "$work/release.link" 'programs are hardened'

# CMake itself fails in others, in words of its own.
for name in 'a;b' 'a"b'; do
  ln -s "$source_dir" "$work/$name"
  cmake -S "$work/$name" -B "$work/refused" >"$work/refused.log" 2>&1 || true
  expect 'CMake cannot build in a folder with' "$work/refused.log" "a folder called $name is refused"
done

cmake --install "$build_dir" --prefix "$work/installed" >"$work/install.log" 2>&1 || true
for file in man/man1/linkgain.1 man/man1/linkgain-run.1 man/man1/linkgain-bench.1 \
  bash-completion/completions/linkgain zsh/site-functions/_linkgain-bench fish/vendor_completions.d/linkgain.fish; do
  if [[ ! -s $work/installed/share/$file ]]; then
    printf 'FAILED: cmake --install gives no share/%s\n' "$file"
    failures=$((failures + 1))
  fi
done
for program in linkgain linkgain-bench; do
  "$work/installed/bin/$program" --version >"$work/$program.log" 2>&1 || true
  expect "$program " "$work/$program.log" "cmake --install gives $program"
  if ! readelf -d "$work/installed/bin/$program" >"$work/$program.needs" 2>&1; then
    printf 'FAILED: readelf cannot tell what %s loads:\n' "$program"
    tail -n 15 "$work/$program.needs"
    failures=$((failures + 1))
  elif grep -E 'NEEDED.*(cublas|nccl|mpi)' "$work/$program.needs"; then
    printf 'FAILED: every start of %s loads cuBLAS, NCCL or MPI\n' "$program"
    failures=$((failures + 1))
  fi
done

for file in linkgain/slurm/node-check.sbatch linkgain/reframe/linkgain_check.py linkgain/kubernetes/node-check.yaml \
  linkgain/prometheus/linkgain-alerts.yml linkgain/grafana/linkgain.json; do
  if [[ ! -s $work/installed/share/$file ]]; then
    printf 'FAILED: cmake --install gives no share/%s\n' "$file"
    failures=$((failures + 1))
  fi
done

# A module file finds the programs wherever its tree was moved to.
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build_dir/CMakeCache.txt")
mv "$work/installed" "$work/moved"
# So does linkgain find the library that it has programs load, which needs glibc alone.
"$work/moved/bin/linkgain" exec --dry-run --rounds 1 --variant no-p2p -- true >"$work/preload.log" 2>&1 || true
library=$work/moved/lib/linkgain/liblinkgain_no_p2p.so
expect "LD_PRELOAD=$library" "$work/preload.log" 'no-p2p names the moved library'
readelf -d "$library" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]$/\1/p' | tr '\n' ' ' >"$work/preload.log"
[[ $(<"$work/preload.log") == 'libdl.so.2 libc.so.6 ' ]] || expect 'libdl.so.2 libc.so.6 and nothing else' "$work/preload.log" 'what the library needs'
# module_shows TOOL COMMAND...: what the module file does, as COMMAND prints it for a shell
module_shows() {
  local name=$1
  shift
  "$@" >"$work/module.log" 2>&1 || true
  expect "$work/moved/bin" "$work/module.log" "$name puts the moved programs on PATH"
  expect "$work/moved/share/linkgain" "$work/module.log" "$name says where the scripts lie"
}
modules=$work/moved/share/modulefiles
for modulecmd in /usr/lib/*/modulecmd.tcl; do
  [[ ! -e $modulecmd ]] ||
    module_shows 'Environment Modules' env MODULEPATH="$modules" tclsh "$modulecmd" bash load "linkgain/$version"
done
lmod=/usr/share/lmod/lmod/libexec/lmod
[[ ! -e $lmod ]] || module_shows Lmod env MODULEPATH="$modules" "$lmod" bash load "linkgain/$version"

# A program of somebody else's reads records by the installed package. One that was built with sanitizers needs them.
linker_flags=
! grep -q '^LINKGAIN_SANITIZE:BOOL=ON' "$build_dir/CMakeCache.txt" || linker_flags='-fsanitize=address,undefined'
if cmake -S "$source_dir/tests/programs/record_consumer" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$work/moved" \
  -DCMAKE_EXE_LINKER_FLAGS="$linker_flags" >"$work/consumer.log" 2>&1 &&
  cmake --build "$work/consumer" >>"$work/consumer.log" 2>&1; then
  ASAN_OPTIONS=detect_leaks=0 "$work/consumer/fastest_case" "$source_dir/results/2xH200-node-1/record.json" \
    >"$work/fastest.log" 2>&1 || true
  expect 'with p2p: ' "$work/fastest.log" 'a program that links linkgain::record reads a record'
else
  printf 'FAILED: a program that links linkgain::record is not built:\n'
  tail -n 15 "$work/consumer.log"
  failures=$((failures + 1))
fi
mv "$work/moved" "$work/installed"

# Whoever can write into the folder that a program is started in must not choose its libraries.
mkdir "$work/planted"
printf '#include <cstdio>\n#include <cstdlib>\n__attribute__((constructor)) static void tell() {\n'\
'  if (FILE* file = std::fopen(std::getenv("PLANTED_LOADED"), "a")) std::fclose(file);\n}\n' >"$work/planted.cpp"
"${CXX:-g++}" -shared -fPIC -o "$work/planted/libnvidia-ml.so.1" "$work/planted.cpp"

# expect_own_libraries PROGRAM: none of the folders that it looks for libraries in is the current one
expect_own_libraries() {
  local program=$1 paths library
  paths=$(readelf -d "$program" | sed -nE 's/.*\((RPATH|RUNPATH)\).*\[(.*)\]$/\2/p')
  if [[ -n $paths ]] && grep -qE '(^|:)([^/$:]|:|$)' <<<"$paths"; then
    printf 'FAILED: %s looks for libraries in an empty or relative folder: %s\n' "$program" "$paths"
    failures=$((failures + 1))
  fi
  # But for those that the planted one itself needs.
  for library in $(readelf -d "$program" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]$/\1/p' | grep -vE '^lib(c|m|gcc_s|stdc\+\+|asan|ubsan)\.'); do
    [[ -e $work/planted/$library ]] || cp "$work/planted/libnvidia-ml.so.1" "$work/planted/$library"
  done
  rm -f "$work/loaded"
  (cd "$work/planted" && PLANTED_LOADED=$work/loaded "$program" --version >"$work/planted.log" 2>&1) || true
  expect "${program##*/} " "$work/planted.log" "$program starts beside libraries of the current folder"
  if [[ -e $work/loaded ]]; then
    printf 'FAILED: %s loads libraries of the current folder\n' "$program"
    failures=$((failures + 1))
  fi
}
for program in linkgain linkgain-bench; do
  expect_own_libraries "$build_dir/bin/$program"
  expect_own_libraries "$work/installed/bin/$program"
done

if ((failures > 0)); then
  exit 1
fi
printf 'all passed\n'
