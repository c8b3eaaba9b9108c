#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "checks.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/hardware/nccl_environment.hpp"

namespace linkgain {
namespace {

constexpr CheckGroup kGroup = CheckGroup::software;

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

const std::string* value_of(const NcclSettings& settings, std::string_view name) {
  const auto found = std::ranges::find(settings.in_force, name, &NcclSetting::name);
  return found == settings.in_force.end() ? nullptr : &found->value;
}

/// Whether something is logged for each call: NCCL_DEBUG=TRACE, or INFO with a subsystem that
/// speaks of calls.
bool logs_each_call(const NcclSettings& settings) {
  const std::string* level = value_of(settings, "NCCL_DEBUG");
  if (level == nullptr) return false;
  if (upper(*level) == "TRACE") return true;
  const std::string* subsystems = value_of(settings, "NCCL_DEBUG_SUBSYS");
  if (upper(*level) != "INFO" || subsystems == nullptr) return false;
  if (subsystems->starts_with('^')) return true;  // everything but the named ones
  const auto speaks_of_calls = [](const std::string& subsystem) {
    static constexpr std::string_view kPerCall[] = {"COLL",  "TUNING", "ALL", "CALL",
                                                    "ALLOC", "PROXY",  "P2P", "PROFILE"};
    return std::ranges::find(kPerCall, upper(subsystem)) != std::end(kPerCall);
  };
  return std::ranges::any_of(split(*subsystems, ','), speaks_of_calls);
}

std::string removal(const NcclSetting& setting) {
  if (setting.source == "environment") return "unset " + setting.name + " unless it is meant";
  return fmt::format("take it out of {} unless it is meant", setting.source);
}

Finding judge(const NcclSetting& setting, const SteeringVariable& variable) {
  const Check check(kGroup, "nccl-variable", setting.name);
  const std::string value = fmt::format("={} ({})", setting.value, setting.source);
  if (forbids_p2p(setting.name, setting.value)) {
    return check.problem(value,
                         "no NCCL program of yours uses NVLink or PCIe P2P: all variants take the "
                         "road through host memory",
                         removal(setting));
  }
  return check.warning(value, fmt::format("it {}, for every variant alike", variable.effect),
                       removal(setting));
}

Finding judge_log(const NcclSettings& settings) {
  const Check check(kGroup, "nccl-variable", "NCCL_DEBUG");
  const std::string* subsystems = value_of(settings, "NCCL_DEBUG_SUBSYS");
  return check.warning(
      fmt::format("={}{}", *value_of(settings, "NCCL_DEBUG"),
                  subsystems == nullptr ? "" : " with NCCL_DEBUG_SUBSYS=" + *subsystems),
      "NCCL writes a line for each call, which makes small operations slower",
      "set NCCL_DEBUG=WARN, or NCCL_DEBUG_SUBSYS=INIT,ENV");
}

}  // namespace

void check_nccl_settings(const Survey& survey, Findings& findings) {
  const NcclSettings& settings = survey.software.nccl;
  const std::size_t before = findings.size();
  for (const NcclSetting& setting : settings.in_force) {
    const SteeringVariable* variable = steering_variable(setting.name);
    if (variable == nullptr || variable->steers == Steers::log) continue;
    if (setting.name == "NCCL_CONF_FILE" || is_harmless(*variable, setting.value)) continue;
    findings.push_back(judge(setting, *variable));
  }
  if (logs_each_call(settings)) findings.push_back(judge_log(settings));
  for (const std::string& fault : settings.faults) {
    findings.push_back(Check(kGroup, "nccl-conf", "host")
                           .warning(fault, "NCCL does not do what the file seems to say",
                                    "correct the file, or the variable that names it"));
  }
  if (findings.size() > before) return;
  findings.push_back(Check(kGroup, "nccl-variable", "host")
                         .ok("none set that steers NCCL (environment, nccl.conf)"));
}

void check_cuda_variables(const Survey& survey, Findings& findings) {
  const std::size_t before = findings.size();
  for (const auto& [name, value] : survey.software.cuda_variables) {
    const SteeringVariable* variable = steering_variable(name);
    if (variable == nullptr || is_harmless(*variable, value)) continue;
    findings.push_back(Check(kGroup, "cuda-variable", name)
                           .warning("=" + value,
                                    fmt::format("it {}, for every variant alike", variable->effect),
                                    fmt::format("unset {} unless it is meant", name)));
  }
  if (findings.size() > before) return;
  findings.push_back(
      Check(kGroup, "cuda-variable", "host").ok("none set that steers CUDA or cuBLAS"));
}

}  // namespace linkgain
