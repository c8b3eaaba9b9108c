#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>
#include <system_error>

#include "linkgain/base/regular_file.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/diagnostics/survey.hpp"
#include "linkgain/hardware/nccl_environment.hpp"
#include "linkgain/telemetry/host.hpp"

namespace linkgain {
namespace {

/// How an implementation names itself.
struct Name {
  std::string_view in_text;
  std::string_view implementation;
};

/// More particular names first: MVAPICH's library mentions MPICH, too.
constexpr Name kImplementations[] = {{"Open MPI", "Open MPI"},
                                     {"Intel(R) MPI", "Intel MPI"},
                                     {"MVAPICH", "MVAPICH"},
                                     {"HYDRA", "MPICH"},
                                     {"MPICH", "MPICH"}};

constexpr std::string_view kDigits = "0123456789";

/// Finds the first "digits.digits..." of the text; empty where there is none. The 2 of "MVAPICH2"
/// is none.
std::string_view first_number(std::string_view text) {
  while (true) {
    const std::size_t begin = text.find_first_of(kDigits);
    if (begin == std::string_view::npos) return {};
    text.remove_prefix(begin);
    const std::size_t dot = text.find_first_not_of(kDigits);
    const bool more = dot != std::string_view::npos && dot + 1 < text.size();
    if (more && text[dot] == '.' && kDigits.find(text[dot + 1]) != std::string_view::npos) {
      std::string_view number = text.substr(0, text.find_first_not_of("0123456789."));
      while (number.ends_with('.')) number.remove_suffix(1);
      return number;
    }
    text.remove_prefix(std::min(dot, text.size()));
  }
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

bool has_blank(std::string_view text) {
  return text.find_first_of(" \t\r") != std::string_view::npos;
}

void add(NcclSettings& settings, NcclSetting setting) {
  const bool set = std::ranges::find(settings.in_force, setting.name, &NcclSetting::name) !=
                   settings.in_force.end();
  if (!set) settings.in_force.push_back(std::move(setting));
}

/// Takes a file that is not there for a fault only if it was asked for.
void add_file(NcclSettings& settings, const std::filesystem::path& path, bool asked_for) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    if (asked_for) {
      settings.faults.push_back(fmt::format("NCCL_CONF_FILE={} is no file", path.string()));
    }
    return;
  }
  const Reading<std::string> text = read_regular_file(path);
  if (!text.measured()) {
    settings.faults.push_back(fmt::format("{} cannot be read", path.string()));
    return;
  }
  NcclSettings of_file = parse_nccl_conf(text.value(), path.string());
  for (NcclSetting& setting : of_file.in_force) add(settings, std::move(setting));
  std::ranges::move(of_file.faults, std::back_inserter(settings.faults));
}

/// Picks what affects a run and is neither NCCL's nor Open MPI's.
Environment cuda_variables(const Environment& environment) {
  Environment cuda;
  for (const auto& [name, value] : environment) {
    const bool others = name.starts_with("NCCL_") || name.starts_with("OMPI_");
    if (!others && known_variable(name) != nullptr) cuda.emplace(name, value);
  }
  return cuda;
}

}  // namespace

std::string version_text(const MpiVersion& version) {
  return fmt::format("{} {}", version.implementation, version.number);
}

Reading<MpiVersion> mpi_version_in(const Reading<std::string>& text) {
  if (!text.measured()) return text.missing();
  for (const Name& name : kImplementations) {
    const std::size_t at = text.value().find(name.in_text);
    if (at == std::string::npos) continue;
    const std::string_view number = first_number(std::string_view(text.value()).substr(at));
    MpiVersion version{std::string(name.implementation), 0, std::string(number)};
    const char* end = number.data() + number.size();
    if (std::from_chars(number.data(), end, version.major_part).ec == std::errc()) return version;
  }
  return Missing{
      fmt::format("'{}' names no version of an MPI known here", first_line(text.value()))};
}

NcclSettings parse_nccl_conf(std::string_view text, const std::string& file) {
  NcclSettings settings;
  int number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    const std::size_t equals = line.find('=');
    if (line.starts_with('#') || equals == std::string::npos) continue;
    const std::string name = line.substr(0, equals);
    const std::string value = line.substr(equals + 1);
    const bool padded = !value.empty() && (has_blank(value.substr(0, 1)) || value.back() == '\r');
    if (has_blank(name) || padded) {
      settings.faults.push_back(fmt::format(
          "{}, line {}: NCCL takes blanks around \"=\" and at the line's end for part of name or "
          "value",
          file, number));
    } else {
      add(settings, {name, value, file});
    }
  }
  return settings;
}

NcclSettings survey_nccl_settings(const Environment& environment, const std::filesystem::path& home,
                                  const std::filesystem::path& etc) {
  NcclSettings settings;
  for (const auto& [name, value] : environment) {
    if (name.starts_with("NCCL_")) add(settings, {name, value});
  }
  const std::string named = value_of(environment, "NCCL_CONF_FILE");
  if (!named.empty()) {
    add_file(settings, named, true);
  } else if (!home.empty()) {
    add_file(settings, home / ".nccl.conf", false);
  }
  add_file(settings, etc / "nccl.conf", false);
  return settings;
}

Reading<std::string> find_mpirun(const SurveySources& sources) {
  if (const auto mpirun = find_program("mpirun", sources.environment)) return mpirun->string();
  return Missing{"it is not on PATH"};
}

SoftwareSurvey survey_software(const SurveySources& sources) {
  SoftwareSurvey software;
  software.mpirun = find_mpirun(sources);
  software.root = ::geteuid() == 0;
  software.root_allowed = value_of(sources.environment, "OMPI_ALLOW_RUN_AS_ROOT") == "1" &&
                          value_of(sources.environment, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM") == "1";
  software.nccl = survey_nccl_settings(sources.environment, sources.home, sources.etc);
  software.cuda_variables = cuda_variables(sources.environment);
  return software;
}

}  // namespace linkgain
