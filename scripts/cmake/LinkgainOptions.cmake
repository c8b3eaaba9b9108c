# linkgain_options: what every target of ours is compiled with.
add_library(linkgain_options INTERFACE)
target_compile_features(linkgain_options INTERFACE cxx_std_20)
target_include_directories(linkgain_options INTERFACE ${PROJECT_SOURCE_DIR}/include)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_EXTENSIONS OFF)
# Programs load no library that they do not use.
target_link_options(linkgain_options INTERFACE -Wl,--as-needed)
# Programs find NCCL where it was found when they were linked. Where they are to be installed with another list of
# folders CMake pads that of the build tree with an empty one, which stands for the current folder.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

set(_host_flags -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  -Wnon-virtual-dtor -Woverloaded-virtual -Wswitch-enum)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
  list(APPEND _host_flags -Wno-array-bounds -Wno-restrict) # wrong about std::string's operator+ (GCC's bug 105651)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_UNITY_BUILD)
  list(APPEND _host_flags -Wno-subobject-linkage) # takes a source that is included for a header
endif()
if(LINKGAIN_WERROR)
  list(APPEND _host_flags -Werror)
endif()
foreach(_flag IN LISTS _host_flags)
  target_compile_options(linkgain_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:${_flag}>)
endforeach()
# linkgain_hardening: what makes a fault in the programs harder to use: canaries on stacks, checked calls of the C
# library, in host code of kernels too, and no table of functions that can be written. Not of Debug, which the
# sanitizers watch.
add_library(linkgain_hardening INTERFACE)
foreach(_flag IN ITEMS -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
  target_compile_options(linkgain_hardening INTERFACE
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<CONFIG:Debug>>>:${_flag}>
    $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<NOT:$<CONFIG:Debug>>>:-Xcompiler=${_flag}>)
endforeach()
target_link_options(linkgain_hardening INTERFACE $<$<NOT:$<CONFIG:Debug>>:LINKER:-z,relro,-z,now>)
target_link_libraries(linkgain_options INTERFACE linkgain_hardening)
# A check of every pointer for null and alignment, and of every call for its object's type, is two thirds of the
# instrumented code: AddressSanitizer ends with a null pointer too. Without relocations of all the places that the
# checks name a program starts in a tenth of the time.
# The library's assertions find what AddressSanitizer does not see: an index behind the end of a vector that once was longer.
if(LINKGAIN_SANITIZE)
  target_compile_definitions(linkgain_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:_GLIBCXX_ASSERTIONS>)
  target_compile_options(linkgain_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=address,undefined>
    $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=null,alignment,vptr>
    $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize-recover=undefined>
    $<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer>)
  target_link_options(linkgain_options INTERFACE -fsanitize=address,undefined
    $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
  # Instrumented programs are large: lld links one in a sixth of ld's time, gold in less than half.
  include(CheckLinkerFlag)
  foreach(_linker IN ITEMS lld gold)
    check_linker_flag(CXX -fuse-ld=${_linker} LINKGAIN_LINKS_BY_${_linker})
    if(LINKGAIN_LINKS_BY_${_linker})
      target_link_options(linkgain_options INTERFACE $<$<LINK_LANGUAGE:CXX>:-fuse-ld=${_linker}>)
      break()
    endif()
  endforeach()
endif()
# libFuzzer learns from it what an input reaches.
if(LINKGAIN_FUZZ)
  target_compile_options(linkgain_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link>)
endif()

# Of the libraries that another machine may lack none is loaded: LinkgainDependencies.cmake takes their archives. C++'s
# is that machine's, since shared libraries that go beside the programs need it: its archive would need a newer C library.
if(LINKGAIN_PORTABLE)
  target_link_options(linkgain_options INTERFACE -Wl,--gc-sections)
  set(CMAKE_INSTALL_RPATH_USE_LINK_PATH OFF)
  set(CMAKE_BUILD_WITH_INSTALL_RPATH OFF)
endif()

# linkgain_precompile(TARGET LINKS...): the heaviest of the headers that its sources include, read once for all targets
# that link the same of the packages below. Only where LINKGAIN_PRECOMPILE is on: a source that forgets an include of
# its own compiles then.
function(linkgain_precompile target)
  if(NOT LINKGAIN_PRECOMPILE)
    return()
  endif()
  set(fmt_headers <fmt/format.h> <fmt/ranges.h>)
  set(nlohmann_json_headers <nlohmann/json.hpp>)
  set(CLI11_headers <CLI/App.hpp>)
  set(shared linkgain_headers)
  set(headers <algorithm> <array> <filesystem> <map> <optional> <string> <string_view> <vector>)
  set(packages)
  foreach(package IN ITEMS fmt nlohmann_json CLI11)
    if("${ARGN}" MATCHES "${package}::${package}")
      string(APPEND shared _${package})
      list(APPEND headers ${${package}_headers})
      list(APPEND packages ${package}::${package})
    endif()
  endforeach()
  if(NOT TARGET ${shared})
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${shared}.cpp CONTENT "")
    add_library(${shared} OBJECT ${PROJECT_BINARY_DIR}/${shared}.cpp)
    target_link_libraries(${shared} PRIVATE linkgain_options ${packages})
    target_precompile_headers(${shared} PRIVATE ${headers})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${shared})
endfunction()

# linkgain_library(NAME [SOURCES...] [GENERATED...] [LINKS...] [PRIVATE_LINKS...]): a library is a folder, made of all
# sources in it, or of those named, and of what was generated for it.
function(linkgain_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;GENERATED;LINKS;PRIVATE_LINKS")
  if(NOT arg_SOURCES)
    file(GLOB arg_SOURCES CONFIGURE_DEPENDS *.cpp)
  endif()
  add_library(linkgain_${name} STATIC ${arg_SOURCES} ${arg_GENERATED})
  target_include_directories(linkgain_${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_features(linkgain_${name} PUBLIC cxx_std_20)
  target_link_libraries(linkgain_${name} PUBLIC $<BUILD_INTERFACE:linkgain_options> ${arg_LINKS}
    PRIVATE ${arg_PRIVATE_LINKS})
  linkgain_precompile(linkgain_${name} ${arg_LINKS} ${arg_PRIVATE_LINKS})
endfunction()
