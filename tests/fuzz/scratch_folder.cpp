#include <unistd.h>

#include <cstdlib>
#include <system_error>

#include "fuzz_input.hpp"

namespace linkgain::fuzz {
namespace {

struct Folder {
  Folder() {
    std::error_code unknown;
    const bool in_memory = std::filesystem::is_directory("/dev/shm", unknown);
    const std::filesystem::path base =
        in_memory ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path();
    // With the process's number, by which scripts/validation/fuzz finds what libFuzzer leaves.
    std::string pattern = base / ("linkgain-fuzz-" + std::to_string(owner) + "-XXXXXX");
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no folder " + pattern);
    path = pattern;
  }
  ~Folder() {
    std::error_code unknown;
    if (getpid() == owner) std::filesystem::remove_all(path, unknown);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  pid_t owner = getpid();
  std::filesystem::path path;
};

}  // namespace

const std::filesystem::path& scratch_folder() {
  static const Folder folder;
  return folder.path;
}

}  // namespace linkgain::fuzz
