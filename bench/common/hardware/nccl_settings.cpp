#include "linkgain/hardware/nccl_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <system_error>

#include "linkgain/base/regular_file.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/hardware/nccl_environment.hpp"

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

P2pVariables p2p_variables(const NcclSettings& settings) {
  P2pVariables variables;
  for (const NcclSetting& setting : settings.in_force) {
    if (setting.name == "NCCL_P2P_DISABLE") variables.disable = setting.value;
    if (setting.name == "NCCL_P2P_LEVEL") variables.level = setting.value;
  }
  return variables;
}

const NcclSetting* forbidding_p2p(const NcclSettings& settings) {
  const auto found = std::ranges::find_if(settings.in_force, [](const NcclSetting& setting) {
    return forbids_p2p(setting.name, setting.value);
  });
  return found == settings.in_force.end() ? nullptr : &*found;
}

std::string removal_of(const NcclSetting& setting) {
  if (setting.file.empty()) return "unset " + setting.name;
  return fmt::format("take {} out of {}", setting.name, setting.file);
}

}  // namespace linkgain
