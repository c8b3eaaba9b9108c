#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/environment.hpp"

namespace linkgain::gpu {

/// A file that dlopen() takes, by name or path, and what named it: "LINKGAIN_NCCL", "loader".
struct LibraryFile {
  std::string name;
  std::string found_by;
  bool operator==(const LibraryFile&) const = default;
};

/// Returns files of NCCL in the order in which they are to be tried: LINKGAIN_NCCL alone, a file or
/// a folder, where that is set; else what NCCL_HOME holds, the loader's own search, and Python's
/// wheels. `root` stands for "/" in the system's folders.
std::vector<LibraryFile> nccl_files(const Environment& environment,
                                    const std::filesystem::path& root = "/");

/// Returns files of that name that pip installed into `nvidia/PART/lib` of one of these parts, as
/// in {"nccl"}: those of an active environment, of the python3 on PATH, the user's, the system's.
/// The latest of several versions of Python comes first. Python is not started.
std::vector<std::filesystem::path> wheel_files(const Environment& environment,
                                               const std::vector<std::string_view>& parts,
                                               std::string_view name,
                                               const std::filesystem::path& root = "/");

}  // namespace linkgain::gpu
