#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
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
