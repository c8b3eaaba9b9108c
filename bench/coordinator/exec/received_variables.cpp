#include <algorithm>
#include <tuple>
#include <utility>

#include "linkgain/exec/command_words.hpp"
#include "linkgain/exec/program_run.hpp"
#include "linkgain/watch/program_evidence.hpp"

namespace linkgain {
namespace {

using SeenProcesses = std::vector<SeenProcess>;

/// Gives the variables of the program that the process is or starts. Where its own cannot be read
/// they are what its parent passes on, at last what the command's words leave of what it was given.
Environment environment_behind(const SeenProcess& process, const SeenProcesses& all,
                               const Environment& left) {
  if (process.environment) return received(process.words, *process.environment);
  const auto is_parent = [&](const SeenProcess& each) {
    return each.entry.id == process.entry.parent &&
           std::pair(each.entry.start, each.entry.id) <
               std::pair(process.entry.start, process.entry.id);
  };
  const auto parent = std::ranges::find_if(all, is_parent);
  return received(process.words,
                  parent == all.end() ? left : environment_behind(*parent, all, left));
}

/// Gives the variables of each process that may use P2P. Where none is known to, that is the one
/// that worked most, of several the last: shells and helpers beside it say nothing of the program.
std::vector<Environment> environments_of_program(const SeenProcesses& all,
                                                 const Environment& left) {
  std::vector<Environment> environments;
  for (const SeenProcess& each : all) {
    if (each.may_use_p2p) environments.push_back(environment_behind(each, all, left));
  }
  if (!environments.empty() || all.empty()) return environments;
  const auto program = std::ranges::max_element(all, {}, [](const SeenProcess& each) {
    return std::tuple(each.entry.worked.value, each.entry.start, each.entry.id);
  });
  return {environment_behind(*program, all, left)};
}

}  // namespace

std::optional<Environment> received_in_run(const ExecPlan& plan, const RunPlace& place,
                                           const SeenProcesses& all, const Environment& given) {
  const Variant& own = plan.variants.at(static_cast<std::size_t>(place.variant));
  const std::vector<Environment> seen = environments_of_program(
      all, received(plan.server ? server_of(plan, place) : command_of(plan, place), given));
  if (seen.empty()) return std::nullopt;
  Environment result;
  const auto note = [&](const std::string& name, const std::string& wanted) {
    std::string value = value_of(seen.front(), name);
    const auto has_wanted = [&](const Environment& each) { return value_of(each, name) == wanted; };
    // Scripts add to lists of folders, and launchers share GPUs out.
    const bool is_changed = !value.empty() && !name.starts_with("NCCL_");
    if (is_changed || std::ranges::any_of(seen, has_wanted)) value = wanted;
    if (!value.empty() || own.environment.contains(name)) result[name] = value;
  };
  for (const Variant& variant : plan.variants) {
    for (const auto& [name, value] : variant.environment) note(name, value_of(given, name));
  }
  return result;
}

}  // namespace linkgain
