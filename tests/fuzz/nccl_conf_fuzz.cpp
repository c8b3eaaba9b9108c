// NCCL's own configuration file, as `doctor` reads it.
#include <algorithm>

#include "fuzz_target.hpp"
#include "linkgain/diagnostics/survey.hpp"

namespace linkgain {
namespace {

void read(std::string_view text) {
  const NcclSettings settings = parse_nccl_conf(text, "nccl.conf");
  const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
  if (settings.in_force.size() + settings.faults.size() > lines) {
    throw std::logic_error("more settings and faults than lines");
  }
  for (const NcclSetting& setting : settings.in_force) {
    if (setting.name.find_first_of(" \t=\n") != std::string::npos) {
      throw std::logic_error("a name that NCCL does not look for: " + setting.name);
    }
    if (text.find(setting.name + "=" + setting.value) == std::string_view::npos) {
      throw std::logic_error("a setting that the file does not have: " + setting.name);
    }
  }
}

}  // namespace
}  // namespace linkgain
