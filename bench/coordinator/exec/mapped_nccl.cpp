#include "mapped_nccl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>

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

/// The version after `prefix`'s first place in `text` where a digit follows, one with "+cuda"
/// first.
std::string version_in(std::string_view text) {
  constexpr std::string_view kPrefix = "NCCL version ";
  std::string plain;
  for (std::size_t at = text.find(kPrefix); at != std::string_view::npos;
       at = text.find(kPrefix, at + 1)) {
    std::size_t end = at + kPrefix.size();
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 ||
                                 text[end] == '.' || text[end] == '+' || text[end] == '-')) {
      ++end;
    }
    const std::string version(text.substr(at + kPrefix.size(), end - at - kPrefix.size()));
    if (version.empty() || std::isdigit(static_cast<unsigned char>(version.front())) == 0) continue;
    if (version.find('+') != std::string::npos) return version;
    if (plain.empty()) plain = version;
  }
  return plain;
}

}  // namespace

std::optional<MappedNccl> nccl_in_maps(std::string_view maps) {
  constexpr std::string_view kDeleted = " (deleted)";
  std::istringstream lines{std::string(maps)};
  for (std::string line; std::getline(lines, line);) {
    std::string_view path = mapped_path(line);
    const bool deleted = path.ends_with(kDeleted);
    if (deleted) path.remove_suffix(kDeleted.size());
    if (!is_nccl(path.substr(path.rfind('/') + 1))) continue;
    return MappedNccl{.path = std::string(path), .version{}, .deleted = deleted};
  }
  return std::nullopt;
}

std::string nccl_version_of(const std::filesystem::path& file) {
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  constexpr std::size_t kMostChunks = 64;
  constexpr std::size_t kOverlap = 64;
  std::ifstream stream(file, std::ios::binary);
  std::string text;
  std::string plain;
  for (std::size_t i = 0; i < kMostChunks && stream; ++i) {
    text.erase(0, text.size() - std::min(text.size(), kOverlap));
    const std::size_t kept = text.size();
    text.resize(kept + kChunk);
    stream.read(text.data() + kept, kChunk);
    text.resize(kept + static_cast<std::size_t>(stream.gcount()));
    const std::string version = version_in(text);
    if (version.find('+') != std::string::npos) return version;
    if (plain.empty()) plain = version;
  }
  return plain;
}

void NcclFinder::look(const std::vector<ProcessEntry>& processes) {
  for (const ProcessEntry& process : processes) {
    const Identity identity{process.id, process.start};
    if (done_.contains(identity)) continue;
    const std::string maps = read_process_file(fmt::format("/proc/{}/maps", process.id));
    if (maps.empty()) continue;
    looked_.insert(identity);
    const std::optional<MappedNccl> found = nccl_in_maps(maps);
    if (!found) continue;
    done_.insert(identity);
    const auto [place, is_new] = libraries_.try_emplace({found->path, found->deleted}, *found);
    // By its own root: a process in a container has other files.
    if (is_new && !found->deleted) {
      place->second.version =
          nccl_version_of(fmt::format("/proc/{}/root{}", process.id, found->path));
    }
    ++place->second.processes;
  }
}

std::vector<MappedNccl> NcclFinder::found() const {
  std::vector<MappedNccl> all;
  for (const auto& [key, library] : libraries_) all.push_back(library);
  return all;
}

}  // namespace linkgain
