# Run by cpack on what it is about to pack: Debian's policy has man pages and changelogs compressed, and a changelog of
# the package's own.
if(NOT CPACK_GENERATOR STREQUAL DEB)
  return()
endif()
string(TIMESTAMP _now "%a, %d %b %Y %H:%M:%S +0000" UTC)
foreach(_package IN LISTS CPACK_COMPONENTS_ALL)
  set(_share ${CPACK_TEMPORARY_DIRECTORY}/${_package}/usr/share)
  set(_version ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
  file(WRITE ${_share}/doc/${_package}/changelog.Debian
    "linkgain (${_version}) unstable; urgency=medium\n\n  * Packed by cpack of linkgain ${CPACK_PACKAGE_VERSION}.\n\n"
    " -- ${CPACK_PACKAGE_CONTACT}  ${_now}\n")
  if(EXISTS ${_share}/doc/${_package}/CHANGELOG.md)
    file(RENAME ${_share}/doc/${_package}/CHANGELOG.md ${_share}/doc/${_package}/changelog)
  endif()
  file(GLOB _files ${_share}/man/man1/*.1 ${_share}/doc/${_package}/changelog*)
  execute_process(COMMAND gzip -9n ${_files} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
