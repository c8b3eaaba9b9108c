#include "mapped_nccl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>
#include <utility>

#include "linkgain/hardware/nccl_file.hpp"

namespace linkgain {
namespace {

bool is_nccl(std::string_view file) {
  constexpr std::string_view kStem = "libnccl";
  if (!file.starts_with(kStem)) return false;
  file.remove_prefix(kStem.size());
  if (file.starts_with(".so")) return true;
  // Wheels that were repaired have a hash in the name: libnccl-0a1b2c3d.so.2.
  const std::size_t end = file.find(".so");
  if (!file.starts_with('-') || end == std::string_view::npos || end < 2) return false;
  return std::all_of(file.begin() + 1, file.begin() + static_cast<std::ptrdiff_t>(end),
                     [](unsigned char c) { return std::isxdigit(c) != 0; });
}

/// The sixth field of a line of maps, which may hold spaces; empty where there is none.
std::string_view mapped_path(std::string_view line) {
  const std::size_t slash = line.find('/');
  return slash == std::string_view::npos ? std::string_view() : line.substr(slash);
}

}  // namespace

std::vector<MappedNccl> nccl_in_maps(std::string_view maps) {
  constexpr std::string_view kDeleted = " (deleted)";
  std::vector<MappedNccl> found;
  std::istringstream lines{std::string(maps)};
  for (std::string line; std::getline(lines, line);) {
    std::string_view path = mapped_path(line);
    const bool deleted = path.ends_with(kDeleted);
    if (deleted) path.remove_suffix(kDeleted.size());
    if (!is_nccl(path.substr(path.rfind('/') + 1))) continue;
    // A library has a line for each of its segments.
    MappedNccl library{.path = std::string(path), .version{}, .deleted = deleted};
    if (std::ranges::find(found, library) == found.end()) found.push_back(std::move(library));
  }
  return found;
}

void NcclFinder::look(const std::vector<ProcessEntry>& processes) {
  constexpr int kLongestPause = 7;
  for (const ProcessEntry& process : processes) {
    const Identity identity{process.id, process.start};
    const auto known = looked_.find(identity);
    if (known != looked_.end() && known->second.left > 0) {
      --known->second.left;
      continue;
    }
    const std::string maps = read_process_file(fmt::format("/proc/{}/maps", process.id));
    if (maps.empty()) continue;
    Looked& looked = looked_[identity];
    for (const MappedNccl& found : nccl_in_maps(maps)) {
      if (looked.paths.insert(found.path).second) count(process.id, found);
    }
    if (looked.paths.empty()) continue;
    looked.left = looked.pause;
    looked.pause = std::min(2 * looked.pause + 1, kLongestPause);
  }
}

void NcclFinder::count(pid_t process, const MappedNccl& found) {
  MappedNccl& library = libraries_.try_emplace({found.path, found.deleted}, found).first->second;
  if (library.version.empty() && !found.deleted) {
    // By its own root, for a process in a container has other files, unless it has ended.
    library.version = nccl_build_of(fmt::format("/proc/{}/root{}", process, found.path));
    if (library.version.empty()) library.version = nccl_build_of(found.path);
  }
  ++library.processes;
}

std::vector<MappedNccl> NcclFinder::found() const {
  std::vector<MappedNccl> all;
  for (const auto& [key, library] : libraries_) all.push_back(library);
  return all;
}

}  // namespace linkgain
