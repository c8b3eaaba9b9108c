#include "linkgain/hardware/nccl_file.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <string_view>
#include <system_error>

namespace linkgain {
namespace {

/// Returns the version after `prefix`'s first place in `text` where a digit follows, one with
/// "+cuda" first.
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

std::filesystem::path nccl_in(const std::filesystem::path& folder) {
  for (const char* place : {"", "lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu",
                            "nccl/lib", "nvidia/nccl/lib"}) {
    std::error_code ignored;
    const std::filesystem::path file = folder / place / kNcclFile;
    if (std::filesystem::exists(file, ignored)) return file;
  }
  return folder / kNcclFile;
}

std::string nccl_build_of(const std::filesystem::path& file) {
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

}  // namespace linkgain
