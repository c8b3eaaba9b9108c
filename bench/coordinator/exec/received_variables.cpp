#include "linkgain/exec/received_variables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "linkgain/analysis/program_path.hpp"
#include "linkgain/analysis/program_validity.hpp"
#include "linkgain/exec/command_words.hpp"
#include "linkgain/hardware/nccl_environment.hpp"
#include "linkgain/record/warning.hpp"
#include "linkgain/telemetry/nccl_log.hpp"
#include "linkgain/telemetry/program_traffic.hpp"
#include "linkgain/watch/program_evidence.hpp"
#include "program_logs.hpp"

namespace linkgain {
namespace {

using SeenProcesses = std::vector<SeenProcess>;

/// Gives the words that start the variant's program.
std::vector<std::string> words_of(const ExecPlan& plan, const RunPlace& place) {
  return plan.server ? server_of(plan, place) : command_of(plan, place);
}

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

/// What keeps the logs that tell the path from leaving a container that docker or the like starts.
struct LostLogs {
  std::set<std::string> names;  ///< of variables that it is not given
  std::string library;          ///< the folder of no-p2p's, where it is not mounted
};

LostLogs lost_logs(const ExecPlan& plan) {
  LostLogs lost;
  for (std::size_t i = 0; i < plan.variants.size(); ++i) {
    const RunPlace place{.variant = static_cast<int>(i)};
    const std::vector<std::string> words = words_of(plan, place);
    if (!starts_container(words)) continue;
    const Environment& own = plan.variants[i].environment;
    Environment set;
    if (chooses_nccl_log(plan, place, {}).empty()) set = log_variables({});
    if (forbids_p2p(kPreload, value_of(own, kPreload))) {
      set[kRefusalLog];
      const std::filesystem::path library =
          std::filesystem::path(no_p2p_folder(own)) / kNoP2pLibrary;
      if (!may_see(words, library)) lost.library = library.parent_path().string();
    }
    const Environment inside = received(words, set);
    for (const auto& [name, value] : set) {
      if (!inside.contains(name)) lost.names.insert(name);
    }
  }
  return lost;
}

std::string_view it_or_them(const std::set<std::string>& names) {
  return names.size() == 1 ? "it" : "them";
}

/// Says how a container gets variables, and beside them those of logs that linkgain sets and the
/// command does not pass on.
std::string how_to_pass_on(const std::set<std::string>& names, const LostLogs& lost) {
  std::string advice = fmt::format("pass {} on, before the image: -e {}", it_or_them(names),
                                   fmt::join(names, " -e "));
  if (lost.names.empty()) return advice;
  return fmt::format(
      "{}; for the logs that tell the path, -e {}{}, and the results folder, each as by -v, under "
      "its own path",
      advice, fmt::join(lost.names, " -e "),
      lost.library.empty() ? "" : fmt::format(", {} for no-p2p", lost.library));
}

/// Tells whether a variant's variable allows or forbids P2P.
bool switches_p2p(const std::string& name, const std::string& value) {
  return name == "NCCL_P2P_LEVEL" || name == "GGML_CUDA_P2P" || forbids_p2p(name, value);
}

/// Tells whether nothing else that is known parts the variants by P2P: neither a variable that
/// reached a program, nor the command's words, nor the paths of the runs.
bool is_nothing_switched(const ExecPlan& plan, const std::vector<Environment>& received,
                         const Record& record) {
  bool used = false;
  bool without = false;
  for (std::size_t i = 0; i < plan.variants.size(); ++i) {
    const Variant& each = plan.variants[i];
    const auto arrived = [&](const auto& variable) {
      const auto& [name, value] = variable;
      return switches_p2p(name, value) && received[i].at(name) == value;
    };
    if (std::ranges::any_of(each.environment, arrived)) return false;
    if (words_of(plan, {.variant = static_cast<int>(i)}) != words_of(plan, {})) return false;
    const Path path = path_of_program(counted_runs(record, each.name), record.machine);
    used = used || has_p2p(path);
    without = without || is_without_p2p(path);
  }
  return !used || !without;
}

}  // namespace

Environment environment_received(const ExecPlan& plan, int variant,
                                 const Environment& environment) {
  const RunPlace place{.variant = variant};
  const Variant& own = plan.variants.at(static_cast<std::size_t>(variant));
  Environment inside = received(words_of(plan, place), environment_of(own, environment));
  for (const auto& [name, value] : own.environment) inside.try_emplace(name);
  return inside;
}

std::optional<Warning> compose_warning(const ExecPlan& plan) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < plan.variants.size(); ++i) {
    if (!starts_with_compose(words_of(plan, {.variant = static_cast<int>(i)}))) continue;
    for (const auto& [name, value] : plan.variants[i].environment) names.insert(name);
  }
  if (names.empty()) return std::nullopt;
  const std::string all = fmt::format("{}", fmt::join(names, ", "));
  return Warning{
      name_of(WarningCode::exec_compose),
      fmt::format("compose passes on only what environment: of its file lists; variants set {}",
                  all),
      fmt::format("list them there, without values: environment: [{}]", all)};
}

std::optional<Warning> container_warning(const ExecPlan& plan,
                                         const std::vector<Environment>& received,
                                         const Record& record) {
  std::set<std::string> names;
  std::set<std::string> parts;  // of variants
  bool is_p2p = false;
  bool is_set_by_command = false;
  bool is_container = false;
  for (std::size_t i = 0; i < plan.variants.size(); ++i) {
    const RunPlace place{.variant = static_cast<int>(i)};
    for (const auto& [name, value] : plan.variants[i].environment) {
      if (received[i].at(name) == value) continue;
      names.insert(name);
      parts.insert(name);
      is_p2p = is_p2p || switches_p2p(name, value);
      is_set_by_command = is_set_by_command || !received[i].at(name).empty();
      is_container = is_container || starts_container(words_of(plan, place));
    }
    for (const std::string& name : plan.variants[i].unset) {
      if (!received[i].contains(name)) continue;
      names.insert(name);
      parts.insert("-" + name);
      is_set_by_command = true;
    }
  }
  if (names.empty()) return std::nullopt;
  const std::string all = fmt::format("{}", fmt::join(names, ", "));
  is_p2p = is_p2p && is_nothing_switched(plan, received, record);
  Warning warning = warning_of(
      WarningCode::exec_container,
      fmt::format("{} of the variants {} not reach the program{}", fmt::join(parts, ", "),
                  parts.size() == 1 ? "does" : "do", is_p2p ? ", so P2P is not switched" : ""));
  warning.advice =
      is_set_by_command ? fmt::format("give the command no values for {}", all)
      : is_container
          ? how_to_pass_on(names, lost_logs(plan))
          : fmt::format("pass {0} on, as by sudo --preserve-env={1}, or set {0} in the script",
                        it_or_them(names), fmt::join(names, ","));
  return warning;
}

std::optional<Warning> lost_logs_warning(const ExecPlan& plan) {
  if (container_warning(plan, all_received(plan))) return std::nullopt;
  const LostLogs lost = lost_logs(plan);
  std::vector<std::string> what;
  std::vector<std::string> advice;
  if (!lost.names.empty()) {
    what.push_back(
        fmt::format("the container does not get {}: without logs, only counters tell "
                    "the path",
                    fmt::join(lost.names, ", ")));
    advice.push_back(
        fmt::format("before the image, -e {}, and the results folder as by -v, under its own path",
                    fmt::join(lost.names, " -e ")));
  }
  if (!lost.library.empty()) {
    what.push_back(
        "the library of no-p2p is not mounted where LD_PRELOAD names it: unless the image has it "
        "there, no-p2p runs with P2P");
    advice.push_back(fmt::format("-v {0}:{0}:ro", lost.library));
  }
  if (what.empty()) return std::nullopt;
  return Warning{name_of(WarningCode::exec_container), fmt::format("{}", fmt::join(what, "; ")),
                 fmt::format("{}", fmt::join(advice, "; "))};
}

std::vector<Environment> all_received(const ExecPlan& plan) {
  std::vector<Environment> received;
  for (int variant = 0; variant < std::ssize(plan.variants); ++variant) {
    received.push_back(environment_received(plan, variant, {}));
  }
  return received;
}

std::vector<Warning> warnings_of(const ExecPlan& plan, const Record& begun) {
  std::vector<Warning> warnings = forbidden_p2p_warnings(begun);
  for (const auto& warning :
       {refused_p2p_warning(begun), compose_warning(plan),
        container_warning(plan, all_received(plan), begun), lost_logs_warning(plan)}) {
    if (warning) warnings.push_back(*warning);
  }
  return warnings;
}

std::optional<Environment> received_in_run(const ExecPlan& plan, const RunPlace& place,
                                           const SeenProcesses& all, const Environment& given) {
  const Variant& own = plan.variants.at(static_cast<std::size_t>(place.variant));
  const std::vector<Environment> seen =
      environments_of_program(all, received(words_of(plan, place), given));
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
  for (const std::string& name : own.unset) {
    const auto has = [&](const Environment& each) { return each.contains(name); };
    if (std::ranges::all_of(seen, has)) result[name] = value_of(seen.front(), name);
  }
  return result;
}

}  // namespace linkgain
