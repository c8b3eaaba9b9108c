#pragma once

#include <filesystem>
#include <string>

/// Files of NCCL, without opening them as libraries.
namespace linkgain {

/// Under this name programs ask the dynamic loader for NCCL.
inline constexpr const char* kNcclFile = "libnccl.so.2";

/// Returns kNcclFile in a folder: in itself, in that of an installation (lib, lib64, …), or where
/// pip unpacked a wheel (nvidia/nccl/lib); without one where it would be.
std::filesystem::path nccl_in(const std::filesystem::path& folder);

/// Returns "2.28.9+cuda13.0", version and build as a library's file holds them; empty if it does
/// not in its first 64 MiB.
std::string nccl_build_of(const std::filesystem::path& file);

}  // namespace linkgain
