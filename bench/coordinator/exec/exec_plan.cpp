#include "linkgain/exec/exec_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <utility>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/secrets.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/exec/command_words.hpp"
#include "linkgain/exec/presets.hpp"
#include "linkgain/hardware/nccl_environment.hpp"
#include "linkgain/protocol/protocol.hpp"
#include "linkgain/record/variants.hpp"
#include "linkgain/record/warning.hpp"
#include "linkgain/statistics/balanced_order.hpp"
#include "linkgain/tables/escaping.hpp"
#include "linkgain/telemetry/host.hpp"

namespace linkgain {
namespace {

constexpr VariantContext kContext{.backend = BackendKind::exec, .several_hosts = false};

/// Splits "NAME:rest" of an option that belongs to a variant.
std::pair<std::string, std::string> named_value(const std::string& text,
                                                const std::string& option) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0) {
    throw UsageError(fmt::format("{} '{}' names no variant", option, text),
                     fmt::format("write it as {} NAME:…", option));
  }
  return {text.substr(0, colon), text.substr(colon + 1)};
}

bool is_built_in(std::string_view name) {
  return std::ranges::any_of(built_in_variants(kContext),
                             [=](const Variant& each) { return each.name == name; });
}

/// Tells whether --args or --gpus-of speak of the variant; such a one needs no variables.
bool is_named(const ExecOptions& options, const std::string& name) {
  const auto names = [&](const std::string& text) { return text.starts_with(name + ":"); };
  return std::ranges::any_of(options.arguments, names) || std::ranges::any_of(options.gpus, names);
}

Variant read_variant(const ExecOptions& options, const std::string& text) {
  const bool plain = text.find(':') == std::string::npos;
  if (plain && !is_built_in(text) && is_named(options, text)) {
    // The rules for names are parse_variant()'s.
    Variant variant = parse_variant(text + ":NAME=", kContext);
    variant.environment.clear();
    return variant;
  }
  return with_files(parse_variant(text, kContext), kContext);
}

Variant& variant_named(std::vector<Variant>& variants, const std::string& name,
                       const std::string& option) {
  const auto found = std::ranges::find(variants, name, &Variant::name);
  if (found != variants.end()) return *found;
  std::vector<std::string_view> names;
  for (const Variant& each : variants) names.push_back(each.name);
  throw UsageError(option + ": " + unknown_name("variant", name, names));
}

/// Numbers or UUIDs, as CUDA_VISIBLE_DEVICES has them; none hides all GPUs.
void require_gpus(const std::string& gpus, const std::string& text) {
  const auto known = [](const std::string& part) {
    return part.starts_with("GPU-") || part.starts_with("MIG-") ||
           (!part.empty() && part.find_first_not_of("0123456789") == std::string::npos);
  };
  const std::vector<std::string> parts = split(gpus, ',');
  const std::set<std::string> distinct(parts.begin(), parts.end());
  if (std::ranges::all_of(parts, known) && distinct.size() == parts.size()) return;
  throw UsageError(fmt::format("--gpus-of '{}' names no GPUs, or one twice", text),
                   "give CUDA's numbers or UUIDs, as two:0,2");
}

std::vector<Variant> read_variants(const ExecOptions& options) {
  std::vector<Variant> variants;
  for (const std::string& text : options.variants) variants.push_back(read_variant(options, text));
  if (variants.empty()) variants = default_variants(kContext);
  require_distinct(variants);
  for (const std::string& text : options.arguments) {
    const auto [name, words] = named_value(text, "--args");
    std::vector<std::string>& arguments = variant_named(variants, name, "--args").arguments;
    std::ranges::move(split_words(words, "--args"), std::back_inserter(arguments));
  }
  add_engine_words(variants, options);
  std::set<std::string> placed;
  for (const std::string& text : options.gpus) {
    const auto [name, gpus] = named_value(text, "--gpus-of");
    require_gpus(gpus, text);
    if (!placed.insert(name).second) {
      throw UsageError(fmt::format("--gpus-of names '{}' twice", name));
    }
    variant_named(variants, name, "--gpus-of").environment["CUDA_VISIBLE_DEVICES"] = gpus;
  }
  return variants;
}

/// Finds what a script names behind "#!"; empty where the file is none.
std::string interpreter_of(const std::filesystem::path& file) {
  constexpr std::size_t kMost = 256;  // that Linux looks at
  std::string line(kMost, '\0');
  std::ifstream stream(file, std::ios::binary);
  stream.read(line.data(), kMost);
  line.resize(static_cast<std::size_t>(stream.gcount()));
  line.resize(std::min(line.find('\n'), line.size()));
  if (!line.starts_with("#!")) return "";
  const std::size_t begin = std::min(line.find_first_not_of(" \t", 2), line.size());
  return line.substr(begin, line.find_first_of(" \t", begin) - begin);
}

/// Names the interpreter that is missing, where the system says "No such file".
std::optional<UsageError> missing_interpreter(const std::filesystem::path& program,
                                              const std::string& what) {
  const std::string interpreter = interpreter_of(program);
  if (interpreter.empty() || is_executable(interpreter)) return std::nullopt;
  return UsageError(fmt::format("{} '{}' is a script for '{}', which is no program here", what,
                                program.string(), interpreter),
                    interpreter.ends_with('\r')
                        ? "its lines end as those of Windows: take the carriage returns out"
                        : "install that, or name another in its first line");
}

/// Says what is wrong with a program that posix_spawnp would not start.
std::optional<UsageError> missing_program(const std::string& program,
                                          const Environment& environment, const std::string& what) {
  const bool path = program.find('/') != std::string::npos;
  const std::optional<std::filesystem::path> found =
      path ? std::filesystem::path(program) : find_program(program, environment);
  if (found && is_executable(*found)) return missing_interpreter(*found, what);
  const bool blank = program.find(' ') != std::string::npos;
  return UsageError(
      fmt::format("{} '{}' {}", what, program,
                  path ? "is no file that can be executed" : "is not on PATH"),
      fmt::format("{}{}; variables need env, as env A=1 train, and pipes a shell, as sh "
                  "-c '…'",
                  blank || program.empty() ? "give program and arguments as words of their own"
                                           : "name a program, or its path as ./train.sh",
                  path || blank ? "" : "; in a container? see docs/exec.md"));
}

ProgramMetric& metric_named(std::vector<MetricRequest>& metrics, const std::string& name,
                            const std::string& option) {
  std::vector<std::string_view> names;
  for (MetricRequest& each : metrics) {
    if (each.metric.name == name) return each.metric;
    names.push_back(each.metric.name);
  }
  throw UsageError(option + ": " + unknown_name("metric", name, names));
}

/// Requires that an option without a metric's name speaks of a single one: what is right for a rate
/// is wrong for a latency beside it. `written` has an example of the form with a name.
void require_single(const std::vector<MetricRequest>& metrics, const std::string& given,
                    const std::string& written) {
  if (metrics.size() == 1) return;
  std::vector<std::string_view> names;
  for (const MetricRequest& each : metrics) names.push_back(each.metric.name);
  throw UsageError(fmt::format("{} names none of the {} metrics: {}", given, names.size(),
                               fmt::join(names, ", ")),
                   "name those that it is about: " + written);
}

void set_directions(std::vector<MetricRequest>& metrics, const ExecOptions& options) {
  for (const std::string& text : options.higher_is_better) {
    if (text == kOnlyMetric) {
      const std::string& first = metrics.front().metric.name;
      require_single(metrics, "--higher-is-better", "--higher-is-better=" + first);
      metrics.front().metric.higher_is_better = true;
      continue;
    }
    for (const std::string& name : split(text, ',')) {
      metric_named(metrics, name, "--higher-is-better").higher_is_better = true;
    }
  }
}

/// Takes "tok/s" for the only metric, "rate=tok/s" for one of several.
void set_units(std::vector<MetricRequest>& metrics, const ExecOptions& options) {
  for (const std::string& text : options.units) {
    const std::size_t equals = text.find('=');
    const std::string unit = parse_unit(text.substr(equals == text.npos ? 0 : equals + 1));
    if (equals != text.npos) {
      metric_named(metrics, text.substr(0, equals), "--unit").unit = unit;
      continue;
    }
    const std::string& first = metrics.front().metric.name;
    require_single(metrics, fmt::format("--unit '{}'", text),
                   fmt::format("--unit {}={}", first, unit));
    metrics.front().metric.unit = unit;
  }
}

OutputRequest read_output(const ExecOptions& options) {
  OutputRequest request{.metrics = {}, .use = options.metric_use, .skip = options.skip};
  for (const std::string& text : options.metrics) {
    request.metrics.push_back(parse_metric(text));
  }
  request.notes = name_metrics(request.metrics);
  if (!options.step.empty()) request.step.emplace(options.step, "--step");
  const bool reads = !request.metrics.empty() || request.step;
  if (options.skip > 0 && !reads) {
    throw UsageError("--skip goes with --metric or --step");
  }
  const std::pair<const char*, bool> with_metrics[]{
      {"--metric-use", options.metric_use != MetricUse::last},
      {"--higher-is-better", !options.higher_is_better.empty()},
      {"--unit", !options.units.empty()}};
  for (const auto& [option, is_given] : with_metrics) {
    if (!is_given || !request.metrics.empty()) continue;
    throw UsageError(fmt::format("{} goes with --metric", option));
  }
  set_directions(request.metrics, options);
  set_units(request.metrics, options);
  return request;
}

int value_count(const ExecPlan& plan) {
  return plan.axis ? static_cast<int>(plan.axis->values.size()) : 1;
}

std::vector<Case> cases_of(const ExecPlan& plan) {
  std::vector<ProgramMetric> metrics{{}};
  const bool reads = !plan.output.metrics.empty() || plan.output.step;
  if (reads || plan.server) metrics.push_back({.name = std::string(ProgramMetric::kStartUp)});
  for (const MetricRequest& each : plan.output.metrics) metrics.push_back(each.metric);
  if (plan.output.step) metrics.push_back({.name = std::string(ProgramMetric::kStep)});
  std::vector<Case> cases;
  for (ProgramMetric& metric : metrics) {
    for (int value = 0; value < value_count(plan); ++value) {
      metric.at = place_on_axis(plan, {.value = value});
      cases.push_back(program_case(metric));
    }
  }
  return cases;
}

/// Gives what runs as the first variant does.
Variant control_of(const std::vector<Variant>& variants) {
  constexpr const char* kName = "control";
  if (std::ranges::count(variants, kName, &Variant::name) > 0) {
    throw UsageError("--control: a variant is called control already", "give it another name");
  }
  Variant control = variants.front();
  control.name = kName;
  control.is_control = true;
  return control;
}

/// Reads the axis, whose name must stand somewhere, and not where nothing replaces it.
std::optional<RunAxis> read_axis(const ExecOptions& options, const ExecPlan& plan) {
  if (options.axis.empty()) return std::nullopt;
  RunAxis axis = parse_axis(options.axis);
  const std::string placeholder = "{" + axis.name + "}";
  std::vector<std::string> words = plan.command;
  if (plan.server) std::ranges::copy(plan.server->command, std::back_inserter(words));
  words.insert(words.end(), {plan.prepare, plan.cleanup});
  for (const Variant& each : plan.variants) {
    std::ranges::copy(each.arguments, std::back_inserter(words));
    for (const auto& [name, value] : each.environment) {
      if (value.find(placeholder) == value.npos) continue;
      throw UsageError(fmt::format("{} in {} of variant {} is not replaced: the variables of a "
                                   "variant are the same at each value",
                                   placeholder, name, each.name),
                       fmt::format("let the command set it: -- env {}={} COMMAND", name, value));
    }
  }
  if (has_placeholder(words, placeholder)) return axis;
  throw UsageError(
      fmt::format("--axis {}: {} stands nowhere in the command, --server, --args, "
                  "--prepare or --cleanup",
                  options.axis, placeholder),
      fmt::format("write it where the value goes, as in -- bench --load {}", placeholder));
}

std::optional<ServerPlan> read_server(const ExecOptions& options) {
  if (options.server.empty() != options.ready.empty()) {
    throw UsageError(options.ready.empty() ? "--server needs --ready: the line that says that it "
                                             "can be asked"
                                           : "--ready goes with --server");
  }
  if (options.server.empty()) {
    if (!options.ready_timeout) return std::nullopt;
    throw UsageError("--ready-timeout goes with --server");
  }
  ServerPlan server{.command = split_words(options.server, "--server"),
                    .ready = LinePattern(options.ready, "--ready"),
                    .ready_timeout = options.ready_timeout.value_or(kDefaultReadyTimeout)};
  if (server.command.empty()) throw UsageError("--server names no program");
  return server;
}

/// Refuses a command that gives its work to others and ends at once.
void require_waiting(const std::vector<std::string>& words) {
  const std::string waiting = how_to_wait(words);
  if (waiting.empty()) return;
  throw UsageError(fmt::format("'{}' ends at once: its work goes on in another program, which "
                               "linkgain neither times nor ends",
                               shown_command(without_secrets(words))),
                   "let it wait for that: " + waiting);
}

}  // namespace

ExecPlan make_exec_plan(const ExecOptions& options, const Environment& environment) {
  if (options.command.empty()) {
    throw UsageError("there is no command to run",
                     "put it behind --, as in: linkgain exec -- python train.py");
  }
  ExecPlan plan;
  plan.command = options.command;
  plan.variants = read_variants(options);
  if (options.control) plan.variants.push_back(control_of(plan.variants));
  plan.output = read_output(options);
  plan.server = read_server(options);
  plan.prepare = options.prepare;
  plan.cleanup = options.cleanup;
  plan.axis = read_axis(options, plan);
  plan.cases = cases_of(plan);
  plan.warm_up = options.warm_up;
  plan.rounds = options.rounds;
  plan.seed = options.seed.value_or(1);
  plan.ci_width = options.ci_width;
  plan.budget = options.budget;
  plan.timeout = options.timeout;
  plan.silence = options.silence;
  for (int arm = 0; arm < arm_count(plan); ++arm) {
    const RunPlace place = place_of(plan, arm, 1);
    require_waiting(command_of(plan, place));
    if (plan.server) require_waiting(server_of(plan, place));
  }
  if (options.dry_run) return plan;
  if (const auto missing = missing_programs(plan, environment); !missing.empty()) {
    throw missing.front();
  }
  return plan;
}

std::vector<UsageError> missing_programs(const ExecPlan& plan, const Environment& environment) {
  std::vector<UsageError> missing;
  const auto look_for = [&](const std::string& program, const Environment& its,
                            const std::string& what) {
    const std::optional<UsageError> found = missing_program(program, its, what);
    const auto is_known = [&](const UsageError& each) {
      return std::string_view(each.what()) == found->what();
    };
    if (found && std::ranges::none_of(missing, is_known)) missing.push_back(*found);
  };
  const auto look_for_each = [&](const std::vector<std::string>& words, const Variant& variant,
                                 const std::string& what) {
    const std::string first = words.empty() ? "" : words.front();
    look_for(first, environment, what);
    Environment its = environment_of(variant, environment);
    const std::string behind = program_behind(words, its);
    if (!behind.empty() && behind != first) look_for(behind, its, what);
  };
  for (int arm = 0; arm < arm_count(plan); ++arm) {
    const RunPlace place = place_of(plan, arm, 1);
    const Variant& variant = plan.variants[static_cast<std::size_t>(place.variant)];
    if (plan.server) look_for_each(server_of(plan, place), variant, "--server:");
    look_for_each(command_of(plan, place), variant, "the command");
  }
  return missing;
}

int arm_count(const ExecPlan& plan) {
  return static_cast<int>(plan.variants.size()) * value_count(plan);
}

int arm_of(const ExecPlan& plan, const RunPlace& place) {
  return place.value * static_cast<int>(plan.variants.size()) + place.variant;
}

RunPlace place_of(const ExecPlan& plan, int arm, int round, bool warm_up) {
  const auto variants = static_cast<int>(plan.variants.size());
  return {arm % variants, round, warm_up, arm / variants};
}

std::string place_on_axis(const ExecPlan& plan, const RunPlace& place) {
  return plan.axis ? plan.axis->at(place.value) : "";
}

std::string spoken_arm(const ExecPlan& plan, const RunPlace& place) {
  const std::string& name = plan.variants.at(static_cast<std::size_t>(place.variant)).name;
  return plan.axis ? fmt::format("{} at {}", name, place_on_axis(plan, place)) : name;
}

std::vector<RunPlace> shuffled_rounds(const ExecPlan& plan, int first, int last) {
  // Another seed for rounds that are added, or they would repeat the order of the first ones.
  const unsigned seed = plan.seed + static_cast<unsigned>(first - 1);
  const auto arms = static_cast<std::size_t>(arm_count(plan));
  std::vector<RunPlace> order;
  for (const auto& [arm, time] : shuffled_order(arms, last - first + 1, seed)) {
    order.push_back(place_of(plan, arm, first + time));
  }
  return order;
}

std::vector<RunPlace> run_order(const ExecPlan& plan) {
  std::vector<RunPlace> order;
  for (int turn = 1; turn <= plan.warm_up; ++turn) {
    for (int arm = 0; arm < arm_count(plan); ++arm) {
      order.push_back(place_of(plan, arm, turn, true));
    }
  }
  std::ranges::copy(shuffled_rounds(plan, 1, plan.rounds), std::back_inserter(order));
  return order;
}

Placeholders placeholders_of(const ExecPlan& plan, const RunPlace& place) {
  const Variant& variant = plan.variants.at(static_cast<std::size_t>(place.variant));
  Placeholders placeholders{
      .variant = variant.is_control ? plan.variants.front().name : variant.name,
      .round = place.warm_up ? 0 : place.round};
  if (plan.axis) {
    placeholders.axis = plan.axis->name;
    placeholders.value = plan.axis->values.at(static_cast<std::size_t>(place.value));
  }
  placeholders.arguments = filled_in(variant.arguments, placeholders);
  return placeholders;
}

std::vector<std::string> command_of(const ExecPlan& plan, const RunPlace& place) {
  const Placeholders placeholders = placeholders_of(plan, place);
  std::vector<std::string> words = filled_in(plan.command, placeholders);
  const bool placed = has_placeholder(plan.command, kArguments) ||
                      (plan.server && has_placeholder(plan.server->command, kArguments));
  if (!placed) std::ranges::copy(placeholders.arguments, std::back_inserter(words));
  return words;
}

std::vector<std::string> server_of(const ExecPlan& plan, const RunPlace& place) {
  return filled_in(plan.server.value().command, placeholders_of(plan, place));
}

std::string name_of(const ExecPlan& plan, const RunPlace& place) {
  return fmt::format("{}{}{}{}{}", plan.variants.at(static_cast<std::size_t>(place.variant)).name,
                     plan.axis ? "-" : "", place_on_axis(plan, place),
                     place.warm_up ? ".warm-up-" : "-", place.round);
}

Environment variables_set(const Variant& variant, const Environment& environment) {
  constexpr const char* kUnbuffered = "PYTHONUNBUFFERED";
  Environment variables = variant.environment;
  if (!environment.contains(kUnbuffered)) variables.try_emplace(kUnbuffered, "1");
  for (const std::string& name : variant.unset) variables.erase(name);
  return variables;
}

Environment environment_of(const Variant& variant, Environment environment) {
  for (const auto& [name, value] : variables_set(variant, environment)) environment[name] = value;
  for (const std::string& name : variant.unset) environment.erase(name);
  return environment;
}

bool is_in_container(const ExecPlan& plan, const RunPlace& place) {
  return runs_in_container(command_of(plan, place)) ||
         (plan.server && runs_in_container(server_of(plan, place)));
}

std::vector<NcclSetting> nccl_file_settings(const ExecPlan& plan, const RunPlace& place,
                                            const Environment& environment) {
  if (is_in_container(plan, place)) return {};
  std::vector<NcclSetting> settings =
      survey_nccl_settings(environment, value_of(environment, "HOME"), "/etc").in_force;
  std::erase_if(settings, [](const NcclSetting& each) { return each.file.empty(); });
  return settings;
}

std::string chooses_nccl_log(const ExecPlan& plan, const RunPlace& place,
                             const Environment& environment) {
  std::vector<std::string> words = command_of(plan, place);
  if (plan.server) std::ranges::copy(server_of(plan, place), std::back_inserter(words));
  const std::vector<NcclSetting> files = nccl_file_settings(plan, place, environment);
  for (const std::string name : {"NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE"}) {
    const std::string assignment = fmt::format("{}=", name);
    const auto sets = [&](const std::string& word) { return word.find(assignment) != word.npos; };
    if (environment.contains(name) || std::ranges::any_of(words, sets)) return name;
    const auto in_file = std::ranges::find(files, name, &NcclSetting::name);
    if (in_file != files.end()) return fmt::format("{} in {}", name, in_file->file);
  }
  return {};
}

KnownSecrets secrets_of(const ExecPlan& plan, const Environment& environment) {
  KnownSecrets secrets;
  secrets.add(environment);
  for (const Variant& variant : plan.variants) {
    secrets.add(variant.environment);
    secrets.add(variant.arguments);
  }
  secrets.add(plan.command);
  if (plan.server) secrets.add(plan.server->command);
  secrets.add(plan.prepare);
  secrets.add(plan.cleanup);
  return secrets;
}

}  // namespace linkgain
