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

constexpr std::string_view kOpenMpi = "Open MPI";

struct Version {
  int major_part = 0;
  int minor_part = 0;
  int patch = 0;
  auto operator<=>(const Version&) const = default;
};

/// "2.28.3" or "13.0"; absent for what is no version.
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
  const Check check(CheckGroup::software, "worker", kHost);
  const Reading<Software>& worker = survey.software.worker;
  if (!worker.measured()) {
    return check.not_checkable(worker.reason(), "linkgain-bench --describe");
  }
  const std::string value =
      fmt::format("linkgain-bench {} ({})", worker.value().linkgain, worker.value().build);
  const bool has_nccl = worker.value().nccl_library || worker.value().nccl_header;
  if (has_nccl || survey.gpus.empty()) return check.ok(value);
  return check.warning(value, "it was built without NCCL: it cannot measure this machine's GPUs",
                       "install CUDA and NCCL, then build again with cmake --preset cuda");
}

/// What the worker's CUDA says, on a machine with GPUs.
Finding check_cuda(const Reading<Software>& worker) {
  const Check check(CheckGroup::software, "cuda-driver", kHost);
  if (!worker.measured()) return check.not_checkable(worker.reason());
  const Software& software = worker.value();
  const auto driver = parse_version(software.cuda_driver);
  const auto runtime = parse_version(software.cuda_runtime);
  if (!runtime) return check.not_checkable("linkgain-bench was built without CUDA");
  if (!driver) return check.not_checkable("the driver does not report its CUDA version");
  const std::string value =
      fmt::format("driver for CUDA {}, runtime {}", *software.cuda_driver, *software.cuda_runtime);
  const std::string advice =
      fmt::format("update the driver to one for CUDA {} or later, or build with CUDA {}",
                  *software.cuda_runtime, *software.cuda_driver);
  if (driver->major_part < runtime->major_part) {
    return check.problem(value, "the driver is too old for the runtime: CUDA does not start",
                         advice);
  }
  if (std::pair(driver->major_part, driver->minor_part) <
      std::pair(runtime->major_part, runtime->minor_part)) {
    return check.warning(value,
                         "within one major version this works but for kernels that are compiled "
                         "when they are loaded, and for newer functions",
                         advice);
  }
  return check.ok(value);
}

Finding check_nccl_versions(const Software& software) {
  const Check check(CheckGroup::software, "nccl-version", kHost);
  const auto header = parse_version(software.nccl_header);
  const auto library = parse_version(software.nccl_library);
  constexpr const char* kAdvice =
      "install NCCL 2.19 or later (NVIDIA's package libnccl2, or pip's nvidia-nccl-cu12, "
      "nvidia-nccl-cu13), or name its file in LINKGAIN_NCCL";
  if (software.nccl_missing) {
    return check.problem("none was opened", *software.nccl_missing, kAdvice);
  }
  if (!header && !library) return check.not_checkable("linkgain-bench was built without NCCL");
  if (!header || !library) return check.not_checkable("NCCL does not report its version");
  std::string value =
      fmt::format("library {}, header {}", *software.nccl_library, *software.nccl_header);
  if (software.nccl_path) {
    value += fmt::format("; {} ({})", *software.nccl_path, software.nccl_found_by.value_or(""));
  }
  if (library->major_part != header->major_part) {
    return check.problem(value, "functions and structures differ between major versions", kAdvice);
  }
  return check.ok(value);
}

Finding check_nccl_bugs(const Software& software) {
  const Check check(CheckGroup::software, "nccl-known-bugs", kHost);
  const auto library = parse_version(software.nccl_library);
  if (!library) return check.not_checkable("NCCL does not report its version");
  constexpr Version kFirst{2, 28, 0};
  constexpr Version kFixed{2, 28, 7};
  if (*library < kFirst || *library >= kFixed) {
    return check.ok("none known for NCCL " + *software.nccl_library);
  }
  return check.warning("NCCL " + *software.nccl_library,
                       "its all-reduce on symmetric memory may give wrong sums for small messages",
                       "update to NCCL 2.28.7 or later, or leave symmetric memory out");
}

/// That of the library that the worker is linked with.
Reading<MpiVersion> library_of(const Reading<Software>& worker) {
  if (!worker.measured()) return Reading<MpiVersion>::missing(worker);
  return mpi_version_in(worker.value().mpi);
}

/// `value` names the mpirun and its version.
Finding judge_launcher(const Check& check, const std::string& value, const MpiVersion& launcher,
                       const Reading<MpiVersion>& library) {
  const std::string both = library.measured() ? fmt::format("{}; linkgain-bench's library is {}",
                                                            value, describe(library.value()))
                                              : value;
  if (launcher.implementation != kOpenMpi) {
    return check.problem(both,
                         "linkgain run starts its ranks with options of Open MPI's mpirun, but "
                         "for --launcher srun",
                         "put the folder of Open MPI's mpirun first on PATH (module load openmpi)");
  }
  if (!library.measured()) {
    return check.not_checkable(
        fmt::format("{}; whether it fits linkgain-bench's library is not "
                    "known: {}",
                    value, library.reason()));
  }
  const MpiVersion& other = library.value();
  if (other.implementation == launcher.implementation && other.major_part == launcher.major_part) {
    return check.ok(other == launcher ? value : both);
  }
  return check.problem(
      both,
      "ranks that the launcher of another MPI starts do not find each other: each is alone, or "
      "MPI_Init fails",
      fmt::format("put the folder of the mpirun of {} {} first on PATH, or build linkgain with {}",
                  other.implementation, other.major_part, describe(launcher)));
}

Finding check_launcher(const Survey& survey) {
  const Check check(CheckGroup::software, "mpirun", kHost);
  const SoftwareSurvey& software = survey.software;
  if (!software.mpirun.measured()) {
    return check.problem(
        software.mpirun.reason(), "linkgain run starts its ranks with it",
        "install Open MPI (apt-get install openmpi-bin) or add its folder to PATH");
  }
  const std::string& path = software.mpirun.value();
  const Reading<MpiVersion>& launcher = software.mpirun_version;
  if (!launcher.measured()) {
    return check.not_checkable(fmt::format("{}: {}", path, launcher.reason()), "mpirun --version");
  }
  std::string value = fmt::format("{}, {}", path, describe(launcher.value()));
  if (software.root && !software.root_allowed) {
    value += ", as root: linkgain run tells mpirun that this is meant";
  }
  return judge_launcher(check, value, launcher.value(), library_of(software.worker));
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

namespace {

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
  if (setting.file.empty()) return "unset " + setting.name + " unless it is meant";
  return fmt::format("take it out of {} unless it is meant", setting.file);
}

Finding judge_setting(const NcclSetting& setting, const EnvironmentVariable& variable) {
  const Check check(CheckGroup::software, "nccl-variable", setting.name);
  const std::string value =
      fmt::format("={} ({})", setting.value, setting.file.empty() ? "environment" : setting.file);
  if (forbids_p2p(setting.name, setting.value)) {
    return check.problem(value,
                         "no NCCL program of yours uses NVLink or PCIe P2P: all variants take the "
                         "path through host memory",
                         removal(setting));
  }
  return check.warning(value, fmt::format("it {}, for every variant alike", variable.effect),
                       removal(setting));
}

Finding judge_log(const NcclSettings& settings) {
  const Check check(CheckGroup::software, "nccl-variable", "NCCL_DEBUG");
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
    const EnvironmentVariable* variable = known_variable(setting.name);
    if (variable == nullptr || variable->affects == Affects::log) continue;
    if (setting.name == "NCCL_CONF_FILE" || is_harmless(*variable, setting.value)) continue;
    findings.push_back(judge_setting(setting, *variable));
  }
  if (logs_each_call(settings)) findings.push_back(judge_log(settings));
  for (const std::string& fault : settings.faults) {
    findings.push_back(Check(CheckGroup::software, "nccl-conf", "host")
                           .warning(fault, "NCCL does not do what the file seems to say",
                                    "correct the file, or the variable that names it"));
  }
  if (findings.size() > before) return;
  findings.push_back(Check(CheckGroup::software, "nccl-variable", "host")
                         .ok("none set that affects NCCL (environment, nccl.conf)"));
}

void check_cuda_variables(const Survey& survey, Findings& findings) {
  const std::size_t before = findings.size();
  for (const auto& [name, value] : survey.software.cuda_variables) {
    const EnvironmentVariable* variable = known_variable(name);
    if (variable == nullptr || is_harmless(*variable, value)) continue;
    findings.push_back(Check(CheckGroup::software, "cuda-variable", name)
                           .warning("=" + value,
                                    fmt::format("it {}, for every variant alike", variable->effect),
                                    fmt::format("unset {} unless it is meant", name)));
  }
  if (findings.size() > before) return;
  findings.push_back(Check(CheckGroup::software, "cuda-variable", "host")
                         .ok("none set that affects CUDA or cuBLAS"));
}

}  // namespace linkgain
