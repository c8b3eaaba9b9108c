# shellcheck shell=bash
# Sourced by setup.sh: finds GPUs, the CUDA compiler and NCCL.

# Set by find_gpu_software; an empty path was not found.
gpu_count=0
nvcc=
nccl_header=
cublas_header=
nccl_library=

# Where installers put CUDA and NCCL.
system_places=(/usr/local/cuda /usr/local /usr)

# GPUs that a program started here would see.
count_gpus() {
  local count visible
  count=$(timeout 60 nvidia-smi -L 2>/dev/null | grep -c '^GPU ' || true)
  if [[ -n ${CUDA_VISIBLE_DEVICES+set} ]]; then
    visible=$(tr ',' '\n' <<<"$CUDA_VISIBLE_DEVICES" | sed '/^ *-1/,$d' | grep -c . || true)
    count=$((visible < count ? visible : count))
  fi
  printf '%d\n' "$count"
}

# first_file PATH...: the first that exists, or nothing.
first_file() {
  local path
  for path in "$@"; do
    if [[ -e $path ]]; then
      printf '%s\n' "$path"
      return
    fi
  done
}

# CUDA's installer does not put nvcc on PATH.
find_nvcc() {
  command -v "${CUDACXX:-nvcc}" ||
    first_file ${CUDA_HOME:+"$CUDA_HOME/bin/nvcc"} ${CUDA_PATH:+"$CUDA_PATH/bin/nvcc"} \
      "${system_places[@]/%//bin/nvcc}"
}

# find_in_roots SUFFIX...: the first ROOT/SUFFIX among the places where CUDA and NCCL are installed.
find_in_roots() {
  local place suffix candidates=()
  for place in "${NCCL_HOME:-}" ${prefix:+"$prefix/usr"} \
    ${nvcc:+"$(dirname "$(dirname "$nvcc")")"} "${system_places[@]}"; do
    [[ -n $place ]] || continue
    for suffix in "$@"; do candidates+=("$place/$suffix"); done
  done
  first_file "${candidates[@]}"
}

find_gpu_software() {
  gpu_count=$(count_gpus)
  nvcc=$(find_nvcc)
  nccl_header=$(find_in_roots include/nccl.h)
  cublas_header=$(find_in_roots include/cublasLt.h)
  nccl_library=$(find_in_roots "lib/$(uname -m)-linux-gnu/libnccl.so" lib64/libnccl.so lib/libnccl.so)
}

# NVIDIA's package of cuBLASLt for the CUDA toolkit that was found.
cublas_package() {
  local release
  release=$("$nvcc" --version 2>/dev/null | sed -n 's/.*release \([0-9]*\)\.\([0-9]*\).*/\1-\2/p')
  printf 'libcublas-dev%s\n' "${release:+-$release}"
}

# What the nccl backend lacks to be built, one a line, with how to get it.
missing_gpu_software() {
  if [[ -z $nvcc ]]; then
    printf '%s\n' "the CUDA compiler nvcc is missing: install the CUDA toolkit" \
      "(https://developer.nvidia.com/cuda-downloads), or set CUDACXX to nvcc's path"
  fi
  if [[ -n $nvcc && -z $cublas_header ]]; then
    printf '%s\n' "cuBLASLt's header cublasLt.h is missing: apt-get install $(cublas_package) from NVIDIA's" \
      "repository, or install the whole CUDA toolkit"
  fi
  if [[ -z $nccl_header || -z $nccl_library ]]; then
    printf '%s\n' "NCCL's header or library is missing: apt-get install libnccl2 libnccl-dev from NVIDIA's" \
      "repository (the CUDA download page adds it), or set NCCL_HOME to where it is unpacked"
  fi
}

have_gpu_software() {
  [[ -n $nvcc && -n $cublas_header && -n $nccl_header && -n $nccl_library ]]
}

# Says what was found; where GPUs are there that cannot be used, says why and what is done instead.
report_gpu_software() {
  say "GPUs: $gpu_count; nvcc: ${nvcc:-none}; NCCL: ${nccl_library:-no library}, ${nccl_header:-no header}"
  if ((gpu_count >= 2)) && ! have_gpu_software; then
    missing_gpu_software
    say "so the GPUs are left alone and only the mpi backend is built"
  fi
}
