#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace linkgain {

/// What a variable decides about.
enum class Affects {
  transport,  ///< which transport carries the messages
  resources,  ///< algorithms, protocols, channels, memory: how fast it does
  network,    ///< which network interface is used, and how
  gemm,       ///< how products of matrices are computed: a training's time and losses
  log,        ///< what is logged, which costs time where it is done for each call
};

/// A variable of NCCL's, CUDA's, cuBLAS's or Open MPI's that changes what a measurement means.
struct EnvironmentVariable {
  std::string_view name;  ///< a trailing * stands for any end
  Affects affects;
  std::string_view effect;    ///< completes "it ..."
  std::string_view harmless;  ///< values, separated by blanks, that change nothing
};

/// Returns the row of a variable; null where it affects nothing that is known here. The object
/// lives as long as the program.
const EnvironmentVariable* known_variable(std::string_view name);

/// Names the libraries that a program loads before its own.
inline constexpr const char* kPreload = "LD_PRELOAD";
/// The library of ours that refuses peer access to the program that loads it.
inline constexpr const char* kNoP2pLibrary = "liblinkgain_no_p2p.so";
/// Names the file in which that library notes what it refused.
inline constexpr const char* kRefusalLog = "LINKGAIN_NO_P2P_LOG";

/// Returns whether this assignment keeps NCCL from P2P altogether, read as NCCL reads it
/// (src/graph/paths.cc, ncclGetLevel): NCCL_P2P_DISABLE is 1 as a number of any base, with anything
/// after it; NCCL_P2P_LEVEL is LOC in these letters, as other cases are ignored, or begins with a
/// number that is 0. LD_PRELOAD keeps every program from P2P that loads kNoP2pLibrary by it.
bool forbids_p2p(std::string_view name, std::string_view value);

/// Tells whether such an assignment keeps NCCL from P2P, and nothing else.
bool reaches_nccl_alone(std::string_view assignment);

/// Says what such an assignment does not close, and what to do about it.
std::string what_bypasses(std::string_view assignment);

/// Returns whether `value` leaves things as they are without the variable.
bool is_harmless(const EnvironmentVariable& variable, std::string_view value);

/// Returns whether it does so because NCCL does not read it as it seems, as "true" where it takes a
/// number.
bool is_misread(const EnvironmentVariable& variable, std::string_view value);

/// Under this name programs ask the dynamic loader for NCCL.
inline constexpr const char* kNcclFile = "libnccl.so.2";

/// Returns kNcclFile in a folder: in itself, in that of an installation (lib, lib64, …), or where
/// pip unpacked a wheel (nvidia/nccl/lib); without one where it would be.
std::filesystem::path nccl_in(const std::filesystem::path& folder);

/// Returns "2.28.9+cuda13.0", version and build as a library's file holds them; empty if it does
/// not in its first 64 MiB.
std::string nccl_build_of(const std::filesystem::path& file);

}  // namespace linkgain
