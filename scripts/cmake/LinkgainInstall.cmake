# What `cmake --install` puts where: programs, what clusters run and read, and the package for programs that read
# records (component development).
include(CMakePackageConfigHelpers)

foreach(_program linkgain linkgain-bench)
  install(TARGETS ${_program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${_program})
  install(FILES scripts/completions/linkgain.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
    RENAME ${_program} COMPONENT ${_program})
  install(FILES scripts/completions/_linkgain DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions
    RENAME _${_program} COMPONENT ${_program})
  install(FILES scripts/completions/linkgain.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
    RENAME ${_program}.fish COMPONENT ${_program})
endforeach()
# What exec's variant no-p2p preloads: linkgain looks for it beside its own folder, wherever both were moved to.
if(TARGET linkgain_no_p2p)
  install(TARGETS linkgain_no_p2p LIBRARY DESTINATION lib/linkgain COMPONENT linkgain)
endif()
# Of linkgain's subcommand bench and of the worker there is one page by that name: the worker's.
install(DIRECTORY docs/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT linkgain PATTERN linkgain-bench.1 EXCLUDE)
install(FILES docs/man/linkgain-bench.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT linkgain-bench)

install(PROGRAMS scripts/slurm/all-nodes.sbatch scripts/slurm/health-check scripts/slurm/node-check.sbatch
  DESTINATION ${CMAKE_INSTALL_DATADIR}/linkgain/slurm COMPONENT linkgain)
install(DIRECTORY scripts/grafana scripts/kubernetes scripts/prometheus scripts/reframe
  DESTINATION ${CMAKE_INSTALL_DATADIR}/linkgain COMPONENT linkgain PATTERN __pycache__ EXCLUDE)
install(FILES scripts/modulefiles/linkgain DESTINATION ${CMAKE_INSTALL_DATADIR}/modulefiles/linkgain
  RENAME ${PROJECT_VERSION} COMPONENT linkgain)

# linkgain::record and what it is made of. Its users see headers, fmt and nlohmann/json, and link simdjson; nothing of how it was built.
set(_package ${CMAKE_INSTALL_LIBDIR}/cmake/linkgain)
foreach(_library base statistics hardware gpt2 cases record)
  set_target_properties(linkgain_${_library} PROPERTIES EXPORT_NAME ${_library})
  install(TARGETS linkgain_${_library} EXPORT linkgainTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(DIRECTORY include/linkgain/${_library} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/linkgain
    COMPONENT development)
endforeach()
install(EXPORT linkgainTargets NAMESPACE linkgain:: DESTINATION ${_package} COMPONENT development)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/linkgainConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES scripts/cmake/linkgainConfig.cmake ${PROJECT_BINARY_DIR}/linkgainConfigVersion.cmake
  DESTINATION ${_package} COMPONENT development)
