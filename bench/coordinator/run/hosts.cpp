#include "linkgain/run/hosts.hpp"

#include <fmt/format.h>

#include <charconv>
#include <set>
#include <sstream>
#include <string>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/whole_file.hpp"

namespace linkgain {
namespace {

constexpr std::string_view kSlots = "slots=";

std::optional<int> parse_count(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 1) return std::nullopt;
  return number;
}

std::optional<int> count_of(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::nullopt : parse_count(found->second);
}

UsageError no_hostfile(const std::string& why) {
  return UsageError("--hostfile: " + why, "it names a host a line, as in: node1 slots=4");
}

/// The slots that a line states after its host.
std::optional<int> slots_of(std::istringstream& words, int line) {
  std::optional<int> slots;
  for (std::string word; words >> word;) {
    if (!word.starts_with(kSlots)) continue;
    slots = parse_count(std::string_view(word).substr(kSlots.size()));
    if (!slots) throw no_hostfile(fmt::format("line {} has '{}'", line, word));
  }
  return slots;
}

}  // namespace

Hosts parse_hostfile(std::string_view text) {
  std::set<std::string> names;
  int slots = 0;
  bool all_stated = true;
  bool repeated = false;
  std::istringstream lines{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line.substr(0, line.find('#')));
    std::string name;
    if (!(words >> name)) continue;
    if (name.find('=') != std::string::npos) {
      throw no_hostfile(fmt::format("line {} starts with '{}', no host", number, name));
    }
    repeated = !names.insert(name).second || repeated;
    const std::optional<int> stated = slots_of(words, number);
    slots += stated.value_or(1);
    all_stated = all_stated && stated.has_value();
  }
  if (names.empty()) throw no_hostfile("there is no host in it");
  Hosts hosts{static_cast<int>(names.size()), std::nullopt};
  if (all_stated || repeated) hosts.slots = slots;
  return hosts;
}

Hosts read_hostfile(const std::filesystem::path& path) {
  const std::optional<std::string> text = whole_file(path);
  if (!text) throw no_hostfile(fmt::format("cannot read {}", path.string()));
  return parse_hostfile(*text);
}

std::optional<Hosts> slurm_allocation(const Environment& environment) {
  if (!environment.contains("SLURM_JOB_ID")) return std::nullopt;
  Hosts hosts;
  hosts.count = count_of(environment, "SLURM_JOB_NUM_NODES").value_or(1);
  const std::optional<int> tasks = count_of(environment, "SLURM_NTASKS");
  if (tasks && *tasks > 1) hosts.slots = tasks;
  return hosts;
}

}  // namespace linkgain
