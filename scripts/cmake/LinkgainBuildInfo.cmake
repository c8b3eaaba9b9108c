# What was built, for `--version`, the record and the end of configure.
if(LINKGAIN_HAVE_GPU)
  set(_numbers "${CMAKE_CUDA_ARCHITECTURES}")
  list(TRANSFORM _numbers REPLACE "-(real|virtual)" "")
  list(REMOVE_DUPLICATES _numbers)
  list(TRANSFORM _numbers PREPEND "sm_")
  list(JOIN _numbers "," _architectures)
  set(LINKGAIN_BUILD_TEXT "nccl+mpi, CUDA ${CUDAToolkit_VERSION}, NCCL ${LINKGAIN_NCCL_VERSION}, ${_architectures}")
else()
  set(LINKGAIN_BUILD_TEXT "mpi only (${LINKGAIN_GPU_REASON})")
endif()
string(APPEND LINKGAIN_BUILD_TEXT ", ${CMAKE_BUILD_TYPE}")
if(LINKGAIN_SANITIZE)
  string(APPEND LINKGAIN_BUILD_TEXT ", sanitizers")
endif()

string(REGEX REPLACE ",.*" "" LINKGAIN_MPI_TEXT "${MPI_CXX_LIBRARY_VERSION_STRING}")

function(linkgain_print_summary)
  message(STATUS "linkgain ${PROJECT_VERSION}: ${LINKGAIN_BUILD_TEXT}")
  message(STATUS "  MPI: ${LINKGAIN_MPI_TEXT}, Google Benchmark ${benchmark_VERSION}, "
    "CLI11 ${CLI11_VERSION}, nlohmann/json ${nlohmann_json_VERSION}, fmt ${fmt_VERSION}")
  message(STATUS "  tests: ${LINKGAIN_TESTS}, warnings are errors: ${LINKGAIN_WERROR}, sanitizers: ${LINKGAIN_SANITIZE}")
endfunction()
