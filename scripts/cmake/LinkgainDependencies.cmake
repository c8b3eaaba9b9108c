# Third-party packages, Debian's names in the messages. docs/building.md says why each is there.
macro(linkgain_require package debian)
  find_package(${package} QUIET ${ARGN})
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "${package} was not found: apt-get install ${debian} (scripts/quickstart does it), "
      "or name its place in CMAKE_PREFIX_PATH.")
  endif()
endmacro()

find_package(Threads REQUIRED)
linkgain_require(fmt libfmt-dev)
linkgain_require(nlohmann_json nlohmann-json3-dev)
linkgain_require(simdjson libsimdjson-dev)
linkgain_require(valijson libvalijson-dev)
linkgain_require(CLI11 libcli11-dev)
linkgain_require(benchmark libbenchmark-dev)

if(LINKGAIN_PORTABLE)
  # Debian has no archive of fmt: one source that keeps every function of its headers makes it.
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/fmt.cpp CONTENT "#define FMT_HEADER_ONLY\n#include <fmt/format.h>\n")
  add_library(linkgain_fmt STATIC ${PROJECT_BINARY_DIR}/fmt.cpp)
  target_compile_features(linkgain_fmt PRIVATE cxx_std_20)
  target_compile_options(linkgain_fmt PRIVATE -fkeep-inline-functions -ffunction-sections)
  target_include_directories(linkgain_fmt PRIVATE $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)
  foreach(_kind "" _NONE _RELEASE)
    set_target_properties(fmt::fmt PROPERTIES IMPORTED_LOCATION${_kind} ${PROJECT_BINARY_DIR}/liblinkgain_fmt.a)
  endforeach()
  add_dependencies(fmt::fmt linkgain_fmt)
endif()

if(LINKGAIN_PORTABLE)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a .so)
endif()
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
