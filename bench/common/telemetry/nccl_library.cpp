#include "linkgain/telemetry/nccl_library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <system_error>

#include "linkgain/base/errors.hpp"
#include "linkgain/telemetry/host.hpp"

namespace linkgain {
namespace {

namespace fs = std::filesystem;

/// Under this name programs ask the dynamic loader for NCCL.
constexpr const char* kLoaded = "libnccl.so.2";

/// Where a folder may have it: itself, a prefix, one that a wheel was unpacked into.
constexpr std::array<const char*, 5> kFolders{"", "lib", "lib64", "nccl/lib", "nvidia/nccl/lib"};

/// The version after kPrefix' first place in `text` where a digit follows, one with "+cuda"
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

[[noreturn]] void refuse(const fs::path& path) {
  throw UsageError(fmt::format("nccl={}: there is no {}", path.string(), kLoaded),
                   "name the library, its folder, or the folder that a wheel was unpacked into: "
                   "pip install --no-deps --target FOLDER nvidia-nccl-cu12==VERSION");
}

fs::path without_links(const fs::path& file) {
  std::error_code error;
  const fs::path found = fs::canonical(file, error);
  return !error && fs::is_regular_file(found, error) ? found : fs::path();
}

/// The folder for LD_LIBRARY_PATH: it has the library under the name that is asked for.
fs::path folder_of(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    const fs::path file = without_links(path);
    if (file.empty()) refuse(path);
    const fs::path folder = fs::absolute(path).parent_path();
    for (const fs::path& each : {folder, file.parent_path()}) {
      if (without_links(each / kLoaded) == file) return each;
    }
    throw UsageError(fmt::format("nccl={}: programs look for {}, which is not this file",
                                 path.string(), kLoaded),
                     fmt::format("give it that name, in a folder of its own: ln -s {} FOLDER/{}",
                                 fs::absolute(path).string(), kLoaded));
  }
  for (const char* below : kFolders) {
    const fs::path file = fs::absolute(path) / below / kLoaded;
    if (!without_links(file).empty()) return file.lexically_normal().parent_path();
  }
  refuse(path);
}

std::string find_worker(const std::string& text) {
  std::error_code error;
  const fs::path path = fs::absolute(text);
  for (const fs::path& each : {path, path / "linkgain-bench", path / "bin/linkgain-bench"}) {
    if (!fs::is_directory(each, error) && is_executable(each)) {
      return each.lexically_normal().string();
    }
  }
  throw UsageError(fmt::format("worker={}: there is no linkgain-bench", text),
                   "name the program of another build of linkgain, or its folder");
}

}  // namespace

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

fs::path find_nccl_library(const fs::path& path) {
  return without_links(folder_of(path) / kLoaded);
}

Variant resolve_variant(std::string_view text, const VariantContext& context) {
  Variant variant = parse_variant(text, context);
  if (!variant.nccl.empty()) {
    if (context.backend != BackendKind::nccl) {
      throw UsageError(fmt::format("variant '{}': nccl= goes with GPUs, not with MPI", text));
    }
    const fs::path folder = folder_of(variant.nccl);
    const fs::path library = find_nccl_library(variant.nccl);
    VariantContext own = context;
    if (const std::string version = nccl_version_of(library); !version.empty()) {
      own.nccl_version = version;
    }
    variant = parse_variant(text, own);
    variant.nccl = library.string();
    const auto [place, is_new] =
        variant.environment.try_emplace("LD_LIBRARY_PATH", context.library_path);
    const std::string rest = place->second.empty() ? "" : ":" + place->second;
    place->second = folder.string() + rest;
  }
  if (!variant.worker.empty()) variant.worker = find_worker(variant.worker);
  return variant;
}

}  // namespace linkgain
