#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/hardware/machine.hpp"

namespace linkgain {

/// A variable that NCCL will find, and where it comes from.
struct NcclSetting {
  std::string name;
  std::string value;
  std::string source;  ///< "environment" or the path of a file
  bool operator==(const NcclSetting&) const = default;
};

struct NcclSettings {
  std::vector<NcclSetting> in_force;
  /// What was set in a file and does nothing, or files that cannot be read, in words.
  std::vector<std::string> faults;
};

/// The lines NAME=value of a configuration file's text, read as NCCL does: a line without "=" and
/// one that starts with # are skipped; blanks count, so that "NAME = value" sets a variable that
/// nobody reads, which becomes a fault. Of two lines of one name the first holds.
NcclSettings parse_nccl_conf(std::string_view text, const std::string& source);

/// Everything that NCCL will find. The environment goes before the files. The file named by
/// NCCL_CONF_FILE takes the place of `home`/.nccl.conf and goes before `etc`/nccl.conf.
NcclSettings survey_nccl_settings(const Environment& environment, const std::filesystem::path& home,
                                  const std::filesystem::path& etc);

}  // namespace linkgain
