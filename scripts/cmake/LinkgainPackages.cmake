# What cpack packs: two Debian packages, and one archive of both programs that runs from any folder. Made of a build with
# LINKGAIN_PORTABLE (preset package) they fit Debian 12 and 13 and Ubuntu 24.04; Open MPI and NCCL are those machines' own.
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/linkgain RENAME copyright COMPONENT linkgain)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/linkgain-bench RENAME copyright COMPONENT linkgain-bench)
install(FILES ${PROJECT_SOURCE_DIR}/CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/linkgain COMPONENT linkgain)

if(LINKGAIN_PORTABLE)
  target_link_options(linkgain PRIVATE -static-libstdc++)
  # Google Benchmark has no archive in Debian: its library goes beside the programs.
  set_target_properties(linkgain-bench PROPERTIES INSTALL_RPATH "\$ORIGIN/../lib/linkgain")
  install(CODE "
    file(GET_RUNTIME_DEPENDENCIES EXECUTABLES \"$<TARGET_FILE:linkgain-bench>\"
      RESOLVED_DEPENDENCIES_VAR found UNRESOLVED_DEPENDENCIES_VAR missing
      POST_INCLUDE_REGEXES libbenchmark POST_EXCLUDE_REGEXES .*)
    foreach(library IN LISTS found)
      file(INSTALL \"\${library}\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/lib/linkgain\" FOLLOW_SYMLINK_CHAIN)
    endforeach()" COMPONENT linkgain-bench)
endif()

# What is linked, with its licences, into the documentation of each package.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_FOUND)
  set(_versions fmt=${fmt_VERSION} nlohmann_json=${nlohmann_json_VERSION} CLI11=${CLI11_VERSION} valijson=${valijson_VERSION})
  if(LINKGAIN_HAVE_GPU)
    list(APPEND _versions cudart=${CUDAToolkit_VERSION})
  endif()
  foreach(_program linkgain linkgain-bench)
    set(_sbom ${PROJECT_BINARY_DIR}/sbom/${_program}.spdx.json)
    install(CODE "
      execute_process(COMMAND \"${Python3_EXECUTABLE}\" \"${PROJECT_SOURCE_DIR}/scripts/cmake/write_sbom.py\"
        \"$<TARGET_FILE:${_program}>\" \"${_sbom}\" --version ${PROJECT_VERSION} --built-in ${_versions}
        COMMAND_ERROR_IS_FATAL ANY)" COMPONENT ${_program})
    install(FILES ${_sbom} DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${_program} COMPONENT ${_program})
  endforeach()
endif()

set(CPACK_PACKAGE_NAME linkgain)
set(CPACK_PACKAGE_CONTACT "the linkgain developers <linkgain@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "measures how much NVLink speeds up NCCL")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR "TGZ;DEB")
set(CPACK_COMPONENTS_ALL linkgain linkgain-bench)
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)
# One archive of both, whose top folder may lie anywhere; a Debian package of each.
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_BINARY_DIR}/cpack_by_generator.cmake)
file(CONFIGURE OUTPUT ${CPACK_PROJECT_CONFIG_FILE} @ONLY CONTENT [[
if(CPACK_GENERATOR STREQUAL TGZ)
  set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
else()
  set(CPACK_COMPONENTS_GROUPING IGNORE)
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY OFF)
endif()
]])
set(CPACK_ARCHIVE_FILE_NAME linkgain-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PACKAGE_FILE_NAME ${CPACK_ARCHIVE_FILE_NAME})

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_LINKGAIN_PACKAGE_NAME linkgain)
set(CPACK_DEBIAN_LINKGAIN-BENCH_PACKAGE_NAME linkgain-bench)
set(CPACK_COMPONENT_LINKGAIN_DESCRIPTION
  "Runs each operation with GPU peer-to-peer access on and off, and reports both times and their ratio.\n"
  "This package plans runs, reads records and diagnoses GPUs and links. It needs neither CUDA nor MPI.")
set(CPACK_COMPONENT_LINKGAIN-BENCH_DESCRIPTION
  "The worker of linkgain, one process a GPU, which measures. It opens NCCL 2.19 or later when it runs.")
list(JOIN CPACK_COMPONENT_LINKGAIN_DESCRIPTION "" CPACK_COMPONENT_LINKGAIN_DESCRIPTION)
if(LINKGAIN_PORTABLE)
  # Written by hand: dpkg-shlibdeps would name the package of this Debian's Open MPI, which is another one in the next.
  set(CPACK_DEBIAN_LINKGAIN_PACKAGE_DEPENDS "libc6 (>= 2.36)")
  set(CPACK_DEBIAN_LINKGAIN-BENCH_PACKAGE_DEPENDS
    "libc6 (>= 2.36), libstdc++6 (>= 12), openmpi-bin, libopenmpi3 | libopenmpi3t64 | libopenmpi40")
else()
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_LINKGAIN-BENCH_PACKAGE_DEPENDS "openmpi-bin")
endif()
set(CPACK_DEBIAN_LINKGAIN_PACKAGE_RECOMMENDS "linkgain-bench (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_LINKGAIN-BENCH_PACKAGE_RECOMMENDS "linkgain (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_LINKGAIN-BENCH_PACKAGE_SUGGESTS "libnccl2 (>= 2.19)")
include(CPack)
