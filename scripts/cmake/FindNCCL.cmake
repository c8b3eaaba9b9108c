# NCCL::NCCL, NCCL_VERSION, NCCL_HAS_DEVICE_API, and NCCL_PROBLEM when it is missing or its header and library differ.
find_path(NCCL_INCLUDE_DIR nccl.h HINTS ENV NCCL_HOME ${CUDAToolkit_INCLUDE_DIRS} PATH_SUFFIXES include)
find_library(NCCL_LIBRARY nccl HINTS ENV NCCL_HOME ${CUDAToolkit_LIBRARY_DIR} ${CUDAToolkit_LIBRARY_ROOT}
  /usr/local/cuda PATH_SUFFIXES lib lib64)

set(NCCL_PROBLEM "")
set(NCCL_HAS_DEVICE_API FALSE)
if(NOT NCCL_INCLUDE_DIR)
  set(NCCL_PROBLEM "NCCL's header nccl.h was not found (Debian, Ubuntu: libnccl-dev)")
elseif(NOT NCCL_LIBRARY)
  set(NCCL_PROBLEM "NCCL's library was not found (Debian, Ubuntu: libnccl2 and libnccl-dev)")
else()
  file(STRINGS ${NCCL_INCLUDE_DIR}/nccl.h _lines REGEX "#define NCCL_(MAJOR|MINOR|PATCH) +[0-9]+")
  string(REGEX REPLACE ".*NCCL_MAJOR +([0-9]+).*" "\\1" _major "${_lines}")
  string(REGEX REPLACE ".*NCCL_MINOR +([0-9]+).*" "\\1" _minor "${_lines}")
  string(REGEX REPLACE ".*NCCL_PATCH +([0-9]+).*" "\\1" _patch "${_lines}")
  set(NCCL_VERSION "${_major}.${_minor}.${_patch}")
  set(_header_code "NCCL_VERSION(${_major},${_minor},${_patch})")
  set(_probe ${CMAKE_BINARY_DIR}/nccl_version_probe.cpp)
  file(WRITE ${_probe} "
    #include <cstdio>
    extern \"C\" int ncclGetVersion(int*);
    int main() { int v = 0; if (ncclGetVersion(&v)) return 1;
      std::printf(\"%d.%d.%d\", v / 10000, v % 10000 / 100, v % 100); }")
  try_run(_ran _compiled ${CMAKE_BINARY_DIR}/nccl_version ${_probe}
    LINK_LIBRARIES ${NCCL_LIBRARY} RUN_OUTPUT_VARIABLE _library_version)
  if(NOT _compiled)
    set(NCCL_PROBLEM "a program with NCCL's library ${NCCL_LIBRARY} does not link")
  elseif(NOT _ran EQUAL 0)
    set(NCCL_PROBLEM "a program with NCCL's library ${NCCL_LIBRARY} does not run")
  elseif(NOT _library_version VERSION_EQUAL NCCL_VERSION)
    set(NCCL_PROBLEM "NCCL's header ${NCCL_INCLUDE_DIR}/nccl.h is ${NCCL_VERSION}, its library ${NCCL_LIBRARY} ${_library_version}")
  elseif(NCCL_FIND_VERSION AND NCCL_VERSION VERSION_LESS NCCL_FIND_VERSION)
    set(NCCL_PROBLEM "NCCL ${NCCL_VERSION} is older than ${NCCL_FIND_VERSION}")
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
  if(NOT TARGET NCCL::NCCL)
    add_library(NCCL::NCCL UNKNOWN IMPORTED)
    set_target_properties(NCCL::NCCL PROPERTIES IMPORTED_LOCATION ${NCCL_LIBRARY}
      INTERFACE_INCLUDE_DIRECTORIES ${NCCL_INCLUDE_DIR})
  endif()
endif()
mark_as_advanced(NCCL_INCLUDE_DIR NCCL_LIBRARY)
