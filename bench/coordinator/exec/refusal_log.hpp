#pragma once

#include <cstddef>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "linkgain/base/environment.hpp"
#include "linkgain/base/temporary_folder.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/hardware/nccl_environment.hpp"

namespace linkgain {

/// The file in which the library of no-p2p notes which functions refused peer access in a run.
class RefusalLog {
 public:
  /// Names the file to programs that load the library.
  explicit RefusalLog(Environment& environment) {
    if (!forbids_p2p(kPreload, value_of(environment, kPreload))) return;
    folder_.emplace();
    environment["LINKGAIN_NO_P2P_LOG"] = file();
  }

  /// Gives the functions by name. The file is the program's to write: there are never as many.
  std::vector<std::string> functions() const {
    constexpr std::size_t kMost = 32;
    std::set<std::string> names;
    if (!folder_) return {};
    std::ifstream lines(file());
    for (std::string name; names.size() < kMost && std::getline(lines, name);) {
      if (name.starts_with("cu") || name.starts_with("nvml")) names.insert(plain_text(name));
    }
    return {names.begin(), names.end()};
  }

 private:
  std::string file() const { return (folder_->path() / "refused").string(); }

  std::optional<TemporaryFolder> folder_;
};

}  // namespace linkgain
