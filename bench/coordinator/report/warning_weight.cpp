#include "linkgain/report/warning_weight.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace linkgain {
namespace {

using Code = std::string_view;

constexpr std::array kIncomplete = std::to_array<Code>(
    {"budget-used-up", "exec-failed", "job-lost", "journal-lost", "launch-refused", "not-verified",
     "nothing-measured", "operation-not-measured", "record-elsewhere", "record-lost",
     "record-refused", "report-lost"});

constexpr std::array kDoubtful = std::to_array<Code>(
    {"busy-gpu", "busy-processors", "evidence-missing", "exec-nccl-not-replaced", "exec-neighbours",
     "exec-no-change", "exec-throttled", "gpu-silent", "health-not-measured", "host-load",
     "level-change", "link-errors", "links-disturbed", "losses-differ", "neighbours-not-looked-for",
     "same-path", "soak-drift", "test-variable", "unhealthy-samples"});

}  // namespace

bool is_wrong_path(const Warning& warning) {
  return warning.code == "wrong-path" || warning.code == "exec-path";
}

WarningWeight weight_of(const Warning& warning) {
  if (is_wrong_path(warning) || warning.code == "wrong-data") return WarningWeight::wrong;
  if (std::ranges::find(kIncomplete, warning.code) != kIncomplete.end()) {
    return WarningWeight::incomplete;
  }
  return std::ranges::find(kDoubtful, warning.code) != kDoubtful.end() ? WarningWeight::doubtful
                                                                       : WarningWeight::notice;
}

}  // namespace linkgain
