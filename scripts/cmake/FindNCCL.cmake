# NCCL's header, to compile against: NCCL_INCLUDE_DIR, NCCL_VERSION, NCCL_HAS_DEVICE_API, and NCCL_PROBLEM when it is
# missing. The library is opened when a program runs; NCCL_LIBRARY is where this machine has one, if it has.
find_path(NCCL_INCLUDE_DIR nccl.h HINTS ENV NCCL_HOME ${CUDAToolkit_INCLUDE_DIRS} PATH_SUFFIXES include)
find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ENV NCCL_HOME ${CUDAToolkit_LIBRARY_DIR}
  ${CUDAToolkit_LIBRARY_ROOT} /usr/local/cuda PATH_SUFFIXES lib lib64)

set(NCCL_PROBLEM "")
set(NCCL_HAS_DEVICE_API FALSE)
if(NOT NCCL_INCLUDE_DIR)
  set(NCCL_PROBLEM "NCCL's header nccl.h was not found (Debian, Ubuntu: libnccl-dev)")
else()
  file(STRINGS ${NCCL_INCLUDE_DIR}/nccl.h _lines REGEX "#define NCCL_(MAJOR|MINOR|PATCH) +[0-9]+")
  string(REGEX REPLACE ".*NCCL_MAJOR +([0-9]+).*" "\\1" _major "${_lines}")
  string(REGEX REPLACE ".*NCCL_MINOR +([0-9]+).*" "\\1" _minor "${_lines}")
  string(REGEX REPLACE ".*NCCL_PATCH +([0-9]+).*" "\\1" _patch "${_lines}")
  set(NCCL_VERSION "${_major}.${_minor}.${_patch}")
  if(NCCL_FIND_VERSION AND NCCL_VERSION VERSION_LESS NCCL_FIND_VERSION)
    set(NCCL_PROBLEM "NCCL's header ${NCCL_INCLUDE_DIR}/nccl.h is of ${NCCL_VERSION}, older than ${NCCL_FIND_VERSION}")
  endif()
endif()

if(NCCL_PROBLEM)
  set(NCCL_FOUND FALSE)
else()
  set(NCCL_FOUND TRUE)
  # Packages of some distributions leave the folder of device headers out.
  if(NCCL_VERSION VERSION_GREATER_EQUAL 2.28 AND EXISTS ${NCCL_INCLUDE_DIR}/nccl_device.h)
    set(NCCL_HAS_DEVICE_API TRUE)
  endif()
endif()
mark_as_advanced(NCCL_INCLUDE_DIR NCCL_LIBRARY)
