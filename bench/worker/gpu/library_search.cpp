#include "library_search.hpp"

#include <algorithm>
#include <system_error>

#include "linkgain/hardware/nccl_file.hpp"
#include "linkgain/telemetry/host.hpp"

namespace linkgain::gpu {
namespace {

using std::filesystem::path;

bool is_there(const path& file) {
  std::error_code ignored;
  return std::filesystem::exists(file, ignored);
}

/// Sorts "python3.12" before "python3.9".
bool is_later(const path& a, const path& b) {
  const std::string first = a.filename().string();
  const std::string second = b.filename().string();
  return first.size() != second.size() ? first.size() > second.size() : first > second;
}

std::vector<path> folders_of_python(const path& library) {
  std::vector<path> folders;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(library, ignored)) {
    if (entry.path().filename().string().starts_with("python3")) folders.push_back(entry.path());
  }
  std::ranges::sort(folders, is_later);
  return folders;
}

/// Returns folders that hold those of Python's versions.
std::vector<path> library_folders(const Environment& environment, const path& root) {
  std::vector<path> folders;
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const std::string prefix = value_of(environment, name);
    if (!prefix.empty()) folders.push_back(path(prefix) / "lib");
  }
  if (const auto python = find_program("python3", environment)) {
    folders.push_back(path(*python).parent_path().parent_path() / "lib");
  }
  const std::string home = value_of(environment, "HOME");
  if (!home.empty()) folders.push_back(path(home) / ".local/lib");
  folders.push_back(root / "usr/local/lib");
  folders.push_back(root / "usr/lib");
  return folders;
}

}  // namespace

std::vector<path> wheel_files(const Environment& environment,
                              const std::vector<std::string_view>& parts, std::string_view name,
                              const path& root) {
  std::vector<path> files;
  for (const path& library : library_folders(environment, root)) {
    for (const path& python : folders_of_python(library)) {
      for (const char* packages : {"site-packages", "dist-packages"}) {
        for (const std::string_view part : parts) {
          const path file = python / packages / "nvidia" / part / "lib" / name;
          if (is_there(file) && std::ranges::find(files, file) == files.end())
            files.push_back(file);
        }
      }
    }
  }
  return files;
}

std::vector<LibraryFile> nccl_files(const Environment& environment, const path& root) {
  const std::string named = value_of(environment, "LINKGAIN_NCCL");
  if (!named.empty()) {
    std::error_code ignored;
    const bool folder = std::filesystem::is_directory(named, ignored);
    return {{folder ? nccl_in(named).string() : named, "LINKGAIN_NCCL"}};
  }
  std::vector<LibraryFile> files;
  const std::string home = value_of(environment, "NCCL_HOME");
  if (!home.empty()) files.push_back({nccl_in(home).string(), "NCCL_HOME"});
  files.push_back({kNcclFile, "loader"});
  for (const path& file : wheel_files(environment, {"nccl"}, kNcclFile, root)) {
    files.push_back({file.string(), "Python wheel"});
  }
  return files;
}

}  // namespace linkgain::gpu
