#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/environment.hpp"
#include "linkgain/hardware/nccl_choice.hpp"

namespace linkgain {

/// A variable that NCCL will find.
struct NcclSetting {
  std::string name;
  std::string value;
  std::string file{};  ///< that sets it; empty: the environment does
  bool operator==(const NcclSetting&) const = default;
};

struct NcclSettings {
  std::vector<NcclSetting> in_force;
  /// What was set in a file and does nothing, or files that cannot be read, in words.
  std::vector<std::string> faults;
};

/// Reads the lines NAME=value of a configuration file's text as NCCL does: a line without "=" and
/// one that starts with # are skipped; blanks count, so that "NAME = value" sets a variable that
/// nobody reads, which becomes a fault. Of two lines of one name the first holds.
NcclSettings parse_nccl_conf(std::string_view text, const std::string& file);

/// Finds everything that NCCL will. The environment goes before the files. The file named by
/// NCCL_CONF_FILE takes the place of `home`/.nccl.conf and goes before `etc`/nccl.conf.
NcclSettings survey_nccl_settings(const Environment& environment, const std::filesystem::path& home,
                                  const std::filesystem::path& etc);

/// Picks the variables that limit P2P, and the one that forbids it; null where none does.
P2pVariables p2p_variables(const NcclSettings& settings);
const NcclSetting* forbidding_p2p(const NcclSettings& settings);

/// Says "unset NCCL_P2P_DISABLE", "take NCCL_P2P_DISABLE out of /etc/nccl.conf".
std::string removal_of(const NcclSetting& setting);

}  // namespace linkgain
