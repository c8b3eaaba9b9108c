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

namespace linkgain {
namespace {

constexpr CheckGroup kGroup = CheckGroup::software;
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
  const Check check(kGroup, "worker", kHost);
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
  const Check check(kGroup, "cuda-driver", kHost);
  if (!worker.measured()) return check.not_checkable(worker.reason());
  const Software& software = worker.value();
  const auto driver = parse_version(software.cuda_driver);
  const auto runtime = parse_version(software.cuda_runtime);
  if (!runtime) return check.not_checkable("linkgain-bench was built without CUDA");
  if (!driver) return check.not_checkable("the driver does not tell its CUDA version");
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
  const Check check(kGroup, "nccl-version", kHost);
  const auto header = parse_version(software.nccl_header);
  const auto library = parse_version(software.nccl_library);
  if (!header && !library) return check.not_checkable("linkgain-bench was built without NCCL");
  if (!header || !library) return check.not_checkable("NCCL does not tell its version");
  const std::string value =
      fmt::format("header {}, library {}", *software.nccl_header, *software.nccl_library);
  const char* advice =
      "see which library is loaded (ldd linkgain-bench, LD_LIBRARY_PATH) and build against that "
      "one";
  if (library->major_part != header->major_part) {
    return check.problem(value, "functions and structures differ between major versions", advice);
  }
  if (*library < *header) {
    return check.warning(value, "the library lacks what the newer header promises", advice);
  }
  if (*library != *header) {
    return check.warning(value,
                         "another NCCL than the one built against is measured; its device "
                         "functions are not used then",
                         advice);
  }
  return check.ok(value);
}

Finding check_nccl_bugs(const Software& software) {
  const Check check(kGroup, "nccl-known-bugs", kHost);
  const auto library = parse_version(software.nccl_library);
  if (!library) return check.not_checkable("NCCL does not tell its version");
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
  if (!worker.measured()) return Reading<MpiVersion>::missing(worker.reason());
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
  const Check check(kGroup, "mpirun", kHost);
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

}  // namespace linkgain
