#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <compare>
#include <optional>
#include <string_view>
#include <utility>

#include "checks.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/hardware/nccl_environment.hpp"

namespace linkgain {
namespace {

struct Version {
  int major_part = 0;
  int minor_part = 0;
  int patch = 0;
  auto operator<=>(const Version&) const = default;
};

/// Reads "2.28.3" or "13.0"; absent for what is no version.
std::optional<Version> parse_version(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  std::array<int, 3> numbers{};
  const std::vector<std::string> parts = split(*text, '.');
  if (parts.size() < 2) return std::nullopt;
  for (std::size_t i = 0; i < std::min(parts.size(), numbers.size()); ++i) {
    const char* end = parts[i].data() + parts[i].size();
    if (std::from_chars(parts[i].data(), end, numbers[i]).ec != std::errc()) return std::nullopt;
  }
  return Version{numbers[0], numbers[1], numbers[2]};
}

Finding check_worker(const Survey& survey) {
  const Check check("worker");
  const Reading<Software>& worker = survey.software.worker;
  if (!worker.measured()) return check.found(fault::worker_silent, worker.reason());
  const std::string value =
      fmt::format("linkgain-bench {} ({})", worker.value().linkgain, worker.value().build);
  const bool has_nccl = worker.value().nccl_library || worker.value().nccl_header;
  if (has_nccl || survey.gpus.empty()) return check.ok(value);
  return check.found(fault::worker_without_nccl, value);
}

/// Says what the worker's CUDA is, on a machine with GPUs.
Finding check_cuda(const Reading<Software>& worker) {
  const Check check("cuda-driver");
  if (!worker.measured()) return check.not_checkable(worker.reason());
  const Software& software = worker.value();
  const auto driver = parse_version(software.cuda_driver);
  const auto runtime = parse_version(software.cuda_runtime);
  if (!runtime) return check.not_checkable("linkgain-bench was built without CUDA");
  if (!driver) return check.not_checkable("the driver does not report its CUDA version");
  const std::string value =
      fmt::format("driver for CUDA {}, runtime {}", *software.cuda_driver, *software.cuda_runtime);
  const Check::Fill fill{{"runtime", *software.cuda_runtime}, {"driver", *software.cuda_driver}};
  if (driver->major_part < runtime->major_part) {
    return check.found(fault::driver_too_old, value, fill);
  }
  return std::pair(driver->major_part, driver->minor_part) <
                 std::pair(runtime->major_part, runtime->minor_part)
             ? check.found(fault::driver_older, value, fill)
             : check.ok(value);
}

Finding check_nccl_versions(const Software& software) {
  const Check check("nccl-version");
  const auto header = parse_version(software.nccl_header);
  const auto library = parse_version(software.nccl_library);
  if (software.nccl_missing) {
    return check.found(fault::nccl_missing, "none was opened",
                       {{"missing", *software.nccl_missing}});
  }
  if (!header && !library) return check.not_checkable("linkgain-bench was built without NCCL");
  if (!header || !library) return check.not_checkable("NCCL does not report its version");
  std::string value =
      fmt::format("library {}, header {}", *software.nccl_library, *software.nccl_header);
  if (software.nccl_path) {
    value += fmt::format("; {} ({})", *software.nccl_path, software.nccl_found_by.value_or(""));
  }
  return library->major_part != header->major_part ? check.found(fault::nccl_differs, value)
                                                   : check.ok(value);
}

Finding check_nccl_bugs(const Software& software) {
  const Check check("nccl-known-bugs");
  const auto library = parse_version(software.nccl_library);
  if (!library) return check.not_checkable("NCCL does not report its version");
  constexpr Version kFirst{2, 28, 0};
  constexpr Version kFixed{2, 28, 7};
  const std::string value = "NCCL " + *software.nccl_library;
  return *library >= kFirst && *library < kFixed ? check.found(fault::nccl_bug, value)
                                                 : check.ok("none known for " + value);
}

/// Gives the MPI of the library that the worker opens.
Reading<MpiVersion> library_of(const Reading<Software>& worker) {
  if (!worker.measured()) return worker.missing();
  return mpi_version_in(worker.value().mpi);
}

/// Judges a launcher by the library; `value` names the mpirun and its version.
Finding judge_launcher(const Check& check, const std::string& value, const MpiVersion& launcher,
                       const Reading<MpiVersion>& library, const std::string& host) {
  const std::string both = library.measured() ? fmt::format("{}; linkgain-bench's library is {}",
                                                            value, version_text(library.value()))
                                              : value;
  if (launcher.implementation != kOpenMpi) return check.found(fault::mpirun_foreign, both);
  if (const std::string unfit = why_mpirun_is_unfit(launcher, host); !unfit.empty()) {
    return check.found(fault::mpirun_host_name,
                       FindingValue(value) + "; the host's name has " +
                           number("characters", host.size()) + " characters",
                       {{"unfit", unfit}});
  }
  if (!library.measured()) {
    return check.not_checkable(fmt::format(
        "{}; whether it fits linkgain-bench's library is not known: {}", value, library.reason()));
  }
  const MpiVersion& other = library.value();
  if (other.implementation == launcher.implementation && other.major_part == launcher.major_part) {
    return check.ok(other == launcher ? value : both);
  }
  return check.found(fault::mpirun_differs, both,
                     {{"library", fmt::format("{} {}", other.implementation, other.major_part)},
                      {"mpirun", version_text(launcher)}});
}

/// Judges whether mpirun is there where it is needed: a worker that measures GPUs starts the ranks
/// of this host itself.
Finding check_launcher(const Survey& survey) {
  const Check check("mpirun");
  const SoftwareSurvey& software = survey.software;
  if (!software.mpirun.measured()) {
    const bool measures_gpus =
        software.worker.measured() && software.worker.value().nccl_library.has_value();
    return measures_gpus ? check.ok(software.mpirun.reason() +
                                    "; several hosts and --backend mpi alone need it")
                         : check.found(fault::mpirun_missing, software.mpirun.reason());
  }
  const std::string& path = software.mpirun.value();
  const Reading<MpiVersion>& launcher = software.mpirun_version;
  if (!software.mpirun_failure.empty()) {
    return check.found(fault::mpirun_fails, fmt::format("{}: {}", path, software.mpirun_failure));
  }
  if (!launcher.measured()) {
    return check.found(fault::mpirun_silent, fmt::format("{}: {}", path, launcher.reason()));
  }
  std::string value = fmt::format("{}, {}", path, version_text(launcher.value()));
  if (software.root && !software.root_allowed) {
    value += ", as root: linkgain run tells mpirun that this is meant";
  }
  return judge_launcher(check, value, launcher.value(), library_of(software.worker),
                        survey.topology.host);
}

const std::string* value_of(const NcclSettings& settings, std::string_view name) {
  const auto found = std::ranges::find(settings.in_force, name, &NcclSetting::name);
  return found == settings.in_force.end() ? nullptr : &found->value;
}

/// Tells whether something is logged for each call: NCCL_DEBUG=TRACE, or INFO with a subsystem that
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

Finding judge_setting(const NcclSetting& setting, const EnvironmentVariable& variable) {
  const std::string value =
      fmt::format("={} ({})", setting.value, setting.file.empty() ? "environment" : setting.file);
  const bool forbids = forbids_p2p(setting.name, setting.value);
  const Fault& fault = forbids                                ? fault::variable_forbids
                       : is_harmless(variable, setting.value) ? fault::variable_misread
                                                              : fault::variable_affects;
  return Check("nccl-variable", setting.name)
      .found(fault, value,
             {{"effect", std::string(variable.effect)},
              {"removal", removal_of(setting)},
              {"name", setting.name}});
}

Finding judge_log(const NcclSettings& settings) {
  const std::string* subsystems = value_of(settings, "NCCL_DEBUG_SUBSYS");
  return Check("nccl-variable", "NCCL_DEBUG")
      .found(fault::log_of_calls,
             fmt::format("={}{}", *value_of(settings, "NCCL_DEBUG"),
                         subsystems == nullptr ? "" : " with NCCL_DEBUG_SUBSYS=" + *subsystems));
}

}  // namespace

void check_software(const Survey& survey, Findings& findings) {
  findings.push_back(check_worker(survey));
  findings.push_back(check_launcher(survey));
  if (!survey.gpus.empty()) findings.push_back(check_cuda(survey.software.worker));
  if (!survey.software.worker.measured()) return;
  const Software& worker = survey.software.worker.value();
  if (!worker.cuda_runtime && !worker.nccl_library && survey.gpus.empty()) return;
  findings.push_back(check_nccl_versions(worker));
  findings.push_back(check_nccl_bugs(worker));
}

void check_nccl_settings(const Survey& survey, Findings& findings) {
  const NcclSettings& settings = survey.software.nccl;
  const std::size_t before = findings.size();
  for (const NcclSetting& setting : settings.in_force) {
    const EnvironmentVariable* variable = known_variable(setting.name);
    if (variable == nullptr || variable->affects == Affects::log) continue;
    const bool does_nothing =
        is_harmless(*variable, setting.value) && !is_misread(*variable, setting.value);
    if (setting.name == "NCCL_CONF_FILE" || does_nothing) continue;
    findings.push_back(judge_setting(setting, *variable));
  }
  if (logs_each_call(settings)) findings.push_back(judge_log(settings));
  for (const std::string& line : settings.faults) {
    findings.push_back(Check("nccl-conf").found(fault::conf_fault, line));
  }
  if (findings.size() > before) return;
  findings.push_back(
      Check("nccl-variable").ok("none set that affects NCCL (environment, nccl.conf)"));
}

void check_cuda_variables(const Survey& survey, Findings& findings) {
  const std::size_t before = findings.size();
  for (const auto& [name, value] : survey.software.cuda_variables) {
    const EnvironmentVariable* variable = known_variable(name);
    if (variable == nullptr || is_harmless(*variable, value)) continue;
    findings.push_back(Check("cuda-variable", name)
                           .found(fault::cuda_affected, "=" + value,
                                  {{"effect", std::string(variable->effect)}, {"variable", name}}));
  }
  if (findings.size() > before) return;
  findings.push_back(Check("cuda-variable").ok("none set that affects CUDA or cuBLAS"));
}

}  // namespace linkgain
