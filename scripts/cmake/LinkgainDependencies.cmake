# Third-party packages, Debian's names in the messages. docs/building.md says why each is there.
macro(linkgain_require package debian)
  find_package(${package} QUIET ${ARGN})
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "${package} was not found: apt-get install ${debian} (scripts/quickstart does it), "
      "or name its place in CMAKE_PREFIX_PATH.")
  endif()
endmacro()

set(MPI_CXX_SKIP_MPICXX TRUE)
set(MPI_DETERMINE_LIBRARY_VERSION TRUE)
find_package(Threads REQUIRED)
linkgain_require(fmt libfmt-dev)
linkgain_require(nlohmann_json nlohmann-json3-dev)
linkgain_require(valijson libvalijson-dev)
linkgain_require(CLI11 libcli11-dev)
linkgain_require(benchmark libbenchmark-dev)
linkgain_require(MPI "libopenmpi-dev openmpi-bin" COMPONENTS CXX)

if(LINKGAIN_PORTABLE)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a .so)  # of hwloc only the CPU sets are used, which need no other library
endif()
find_path(HWLOC_INCLUDE_DIR hwloc.h)
find_library(HWLOC_LIBRARY hwloc)
if(NOT HWLOC_INCLUDE_DIR OR NOT HWLOC_LIBRARY)
  message(FATAL_ERROR "hwloc was not found: apt-get install libhwloc-dev (scripts/quickstart does it).")
endif()
add_library(hwloc::hwloc UNKNOWN IMPORTED)
set_target_properties(hwloc::hwloc PROPERTIES IMPORTED_LOCATION ${HWLOC_LIBRARY}
  INTERFACE_INCLUDE_DIRECTORIES ${HWLOC_INCLUDE_DIR})

find_path(PCRE2_INCLUDE_DIR pcre2.h)
find_library(PCRE2_LIBRARY pcre2-8)
if(NOT PCRE2_INCLUDE_DIR OR NOT PCRE2_LIBRARY)
  message(FATAL_ERROR "PCRE2 was not found: apt-get install libpcre2-dev (scripts/quickstart does it).")
endif()
add_library(pcre2::pcre2 UNKNOWN IMPORTED)
set_target_properties(pcre2::pcre2 PROPERTIES IMPORTED_LOCATION ${PCRE2_LIBRARY}
  INTERFACE_INCLUDE_DIRECTORIES ${PCRE2_INCLUDE_DIR})

if(LINKGAIN_TESTS)
  find_package(GTest QUIET)
  if(NOT GTest_FOUND)
    message(FATAL_ERROR "GTest was not found: apt-get install libgtest-dev libgmock-dev (scripts/test does it), "
      "or configure with -DLINKGAIN_TESTS=OFF.")
  endif()
endif()
