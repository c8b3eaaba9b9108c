# What cpack packs: two Debian packages, and one archive of both programs that runs from any folder. Made of a build with
# LINKGAIN_PORTABLE (preset package) they fit the distribution they are built on and later ones; Open MPI and NCCL are
# those machines' own.
if(LINKGAIN_PORTABLE)
  # Google Benchmark and simdjson have no archives in Debian: their libraries go beside the programs.
  set(_libraries_linkgain simdjson::simdjson)
  set(_libraries_linkgain-bench simdjson::simdjson benchmark::benchmark)
  foreach(_program linkgain linkgain-bench)
    set_target_properties(${_program} PROPERTIES INSTALL_RPATH "\$ORIGIN/../lib/${_program}")
    foreach(_library IN LISTS _libraries_${_program})
      get_target_property(_type ${_library} TYPE)
      if(NOT _type STREQUAL STATIC_LIBRARY)
        list(APPEND _beside_${_program} $<TARGET_SONAME_FILE:${_library}>)
        install(FILES $<TARGET_FILE:${_library}> DESTINATION lib/${_program}
          RENAME $<TARGET_SONAME_FILE_NAME:${_library}> COMPONENT ${_program})
      endif()
    endforeach()
  endforeach()
endif()

# What is linked, with its licences, into the documentation of each package. Programs alone need no Python.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(NOT Python3_FOUND)
  return()
endif()
set(_headers)
foreach(_library fmt=fmt/core.h nlohmann_json=nlohmann/json.hpp CLI11=CLI/CLI.hpp)
  string(REGEX MATCH "(.*)=(.*)" _ ${_library})
  find_file(_header ${CMAKE_MATCH_2} NO_CACHE)
  list(APPEND _headers ${CMAKE_MATCH_1}=${${CMAKE_MATCH_1}_VERSION}=${_header})
  unset(_header)
endforeach()
set(_headers_linkgain ${_headers})
set(_headers_linkgain-bench ${_headers})
if(NCCL_HAS_DEVICE_API)
  list(APPEND _headers_linkgain-bench nccl=${NCCL_VERSION}=${NCCL_INCLUDE_DIR}/nccl.h)
endif()
foreach(_program linkgain linkgain-bench)
  set(_folder ${PROJECT_BINARY_DIR}/sbom/${_program})
  target_link_options(${_program} PRIVATE -Wl,--dependency-file=${PROJECT_BINARY_DIR}/${_program}.inputs)
  install(CODE "
    execute_process(COMMAND \"${Python3_EXECUTABLE}\" \"${PROJECT_SOURCE_DIR}/scripts/packages/write_sbom.py\"
      \"$<TARGET_FILE:${_program}>\" \"${_folder}\" --version ${PROJECT_VERSION} --licence \"${PROJECT_SOURCE_DIR}/LICENSE\"
      --inputs \"${PROJECT_BINARY_DIR}/${_program}.inputs\" --beside ${_beside_${_program}} --headers ${_headers_${_program}}
      COMMAND_ERROR_IS_FATAL ANY)" COMPONENT ${_program})
  install(FILES ${_folder}/${_program}.spdx.json ${_folder}/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${_program}
    COMPONENT ${_program})
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/linkgain COMPONENT linkgain)

# Who distributes packages names himself: cmake -DCPACK_PACKAGE_CONTACT="NAME <ADDRESS>".
set(CPACK_PACKAGE_CONTACT "the linkgain developers <linkgain@localhost>" CACHE STRING "Whom the packages name as their maintainer")
set(CPACK_PACKAGE_NAME linkgain)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "measures how much NVLink speeds up NCCL")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR "TGZ;DEB")
set(CPACK_COMPONENTS_ALL linkgain linkgain-bench)
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)
# One archive of both, whose top folder may lie anywhere; a Debian package of each.
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_ARCHIVE_FILE_NAME linkgain-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PACKAGE_FILE_NAME ${CPACK_ARCHIVE_FILE_NAME})

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_LINKGAIN_PACKAGE_NAME linkgain)
set(CPACK_DEBIAN_LINKGAIN-BENCH_PACKAGE_NAME linkgain-bench)
set(CPACK_COMPONENT_LINKGAIN_DESCRIPTION "Runs each operation with GPU peer-to-peer access on and off, and reports both
times and their ratio. This package plans runs, reads records and diagnoses
GPUs and links. It needs neither CUDA nor MPI.")
set(CPACK_COMPONENT_LINKGAIN-BENCH_DESCRIPTION "The worker of linkgain, one process a GPU, which measures. It opens NCCL 2.19
or later when it runs, and Open MPI for ranks on several hosts.")
set(_other_program "(= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
set(CPACK_DEBIAN_LINKGAIN_PACKAGE_RECOMMENDS "linkgain-bench ${_other_program}")
set(CPACK_DEBIAN_LINKGAIN-BENCH_PACKAGE_RECOMMENDS "linkgain ${_other_program}, openmpi-bin")
set(CPACK_DEBIAN_LINKGAIN-BENCH_PACKAGE_SUGGESTS "libnccl2 (>= 2.19)")
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/scripts/packages/by_generator.cmake)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/scripts/packages/compress_for_debian.cmake)
include(CPack)
