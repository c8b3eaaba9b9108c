# find_package(linkgain): the target linkgain::record reads records. The programs need none of this.
include(CMakeFindDependencyMacro)
find_dependency(fmt)
find_dependency(nlohmann_json)
find_dependency(simdjson)
include(${CMAKE_CURRENT_LIST_DIR}/linkgainTargets.cmake)
