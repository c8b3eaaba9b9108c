#include "linkgain/exec/exec_settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "linkgain/base/secrets.hpp"
#include "linkgain/exec/command_words.hpp"
#include "linkgain/exec/exec.hpp"
#include "linkgain/exec/received_variables.hpp"
#include "linkgain/record/recorded_variables.hpp"
#include "linkgain/tables/escaping.hpp"
#include "linkgain/telemetry/host.hpp"
#include "linkgain/telemetry/nccl_log.hpp"

namespace linkgain {
namespace {

/// Says "loss: last of 'loss=([0-9.]+)', 10 skipped, higher is better".
std::vector<std::string> metric_texts(const OutputRequest& output) {
  const std::string skipped = output.skip > 0 ? fmt::format(", {} skipped", output.skip) : "";
  std::vector<std::string> texts;
  for (const MetricRequest& each : output.metrics) {
    texts.push_back(fmt::format("{}: {} of '{}'{}{}", each.metric.name, name_of(output.use),
                                each.pattern.text(), skipped,
                                each.metric.higher_is_better ? ", higher is better" : ""));
  }
  if (output.step) {
    texts.push_back(
        fmt::format("{}: time between '{}'{}", ProgramMetric::kStep, output.step->text(), skipped));
  }
  return texts;
}

std::map<std::string, std::string> units_of(const OutputRequest& output) {
  std::map<std::string, std::string> units;
  for (const MetricRequest& each : output.metrics) {
    if (!each.metric.unit.empty()) units.emplace(each.metric.name, each.metric.unit);
  }
  return units;
}

/// Masks values where they stand a second time, behind no name that tells.
void mask_again(Settings& settings, const KnownSecrets& secrets) {
  const auto mask = [&](std::string& text) { text = secrets.masked(std::move(text)); };
  const auto mask_values = [&](Environment& environment) {
    for (auto& [name, value] : environment) mask(value);
  };
  std::ranges::for_each(settings.argv, mask);
  for (Variant& each : settings.variants) {
    mask_values(each.environment);
    std::ranges::for_each(each.arguments, mask);
  }
  std::ranges::for_each(settings.environment_in_force, mask_values);
  ProgramPlan& program = settings.program.value();
  std::ranges::for_each(program.command, mask);
  std::ranges::for_each(program.metrics, mask);
  for (std::string* each : {&program.server, &program.prepare, &program.cleanup}) mask(*each);
}

/// Gives what has NCCL log the variant's connections; nothing where others choose what it logs.
Environment log_variables_of(const ExecPlan& plan, int variant, const Environment& environment) {
  const Variant& own = plan.variants.at(static_cast<std::size_t>(variant));
  const auto by = chooses_nccl_log(plan, {.variant = variant}, environment_of(own, environment));
  const NcclLogFiles files{.pattern = fmt::format("runs/nccl-{}-ROUND.%h.%p.log", own.name)};
  return by.empty() ? log_variables(files) : Environment{};
}

std::string shell_line(const std::string& command, const Placeholders& placeholders) {
  return "sh -c " + pasted_word(without_secrets(filled_in(command, placeholders)));
}

/// Says "NCCL_P2P_DISABLE=1 CUDA_VISIBLE_DEVICES=0,1 ", or nothing.
std::string assignments_before(const Environment& environment) {
  std::string text;
  for (const auto& [name, value] : environment) {
    text += fmt::format("{}={} ", name, pasted_word(value));
  }
  return text;
}

/// Says "env -u NCCL_ALGO ", or nothing.
std::string unset_before(const Variant& variant) {
  if (variant.unset.empty()) return {};
  return fmt::format("env -u {} ", fmt::join(variant.unset, " -u "));
}

}  // namespace

Settings settings_of(const ExecOptions& options, const ExecPlan& plan,
                     const Environment& environment) {
  Settings settings;
  settings.argv = without_secrets(options.argv);
  settings.backend = BackendKind::exec;
  settings.profile = "exec";
  settings.launches = plan.rounds;
  settings.precision = plan.ci_width;
  settings.budget = plan.budget;
  settings.label = options.label;
  for (const Variant& variant : plan.variants) {
    Variant& shown = settings.variants.emplace_back(variant);
    shown.environment = without_secrets(variant.environment);
    shown.arguments = without_secrets(variant.arguments);
    Environment& in_force = settings.environment_in_force.emplace_back();
    const auto place = static_cast<int>(settings.variants.size()) - 1;
    Environment given = environment;
    given.merge(log_variables_of(plan, place, environment));
    for (const auto& [name, value] : environment_received(plan, place, given)) {
      if (may_be_recorded(name) || variant.environment.contains(name)) {
        in_force[name] = value;
      }
    }
    const Environment own = environment_of(variant, environment);
    for (const NcclSetting& each : nccl_file_settings(plan, {.variant = place}, own)) {
      if (!may_be_recorded(each.name) || !in_force.try_emplace(each.name, each.value).second)
        continue;
      settings.nccl_files[each.name] = each.file;
    }
    in_force = without_secrets(in_force);
  }
  settings.program = ProgramPlan{.command = without_secrets(plan.command),
                                 .server = without_secrets(options.server),
                                 .prepare = without_secrets(plan.prepare),
                                 .cleanup = without_secrets(plan.cleanup),
                                 .metrics = metric_texts(plan.output),
                                 .warm_up = plan.warm_up,
                                 .units = units_of(plan.output)};
  mask_again(settings, secrets_of(plan, environment));
  return settings;
}

Record begin_record(const ExecOptions& options, const ExecPlan& plan,
                    const Environment& environment) {
  Record record;
  record.started = utc_now(false);
  record.machine = survey_machine();
  record.settings = settings_of(options, plan, environment);
  return record;
}

std::string dry_run_text(const ExecPlan& plan, const Environment& environment) {
  std::string text;
  std::vector<std::string> comments = metric_texts(plan.output);
  const std::vector<RunPlace> places = run_order(plan);
  comments.push_back(fmt::format("{} planned{}", counted(std::ssize(places), "run", "runs"),
                                 plan.server ? ", each with its own start of the server" : ""));
  if (plan.server) comments.push_back("the server is ready at: " + plan.server->ready.text());
  std::ranges::copy(plan.output.notes, std::back_inserter(comments));
  for (const std::string& each : comments) text += fmt::format("# {}\n", visible(each));
  for (int i = 0; i < std::ssize(plan.variants); ++i) {
    const std::string log = assignments_before(log_variables_of(plan, i, environment));
    const std::string& name = plan.variants[static_cast<std::size_t>(i)].name;
    if (!log.empty()) {
      text += fmt::format("# {}for {}, too, so that NCCL logs its path\n", log, name);
    }
  }
  for (const RunPlace& place : places) {
    const Variant& variant = plan.variants[static_cast<std::size_t>(place.variant)];
    const Placeholders placeholders = placeholders_of(plan, place);
    const std::string before =
        unset_before(variant) +
        assignments_before(without_secrets(variables_set(variant, environment)));
    text += fmt::format("# {} {}: {}\n", place.warm_up ? "warm-up" : "round", place.round,
                        spoken_arm(plan, place));
    if (!plan.prepare.empty()) {
      text += fmt::format("{}{}\n", before, shell_line(plan.prepare, placeholders));
    }
    if (plan.server) {
      text +=
          fmt::format("{}{} &\n", before, pasted_command(without_secrets(server_of(plan, place))));
    }
    text += fmt::format("{}{}\n", before, pasted_command(without_secrets(command_of(plan, place))));
    if (!plan.cleanup.empty()) {
      text += fmt::format("{}{}\n", before, shell_line(plan.cleanup, placeholders));
    }
  }
  return secrets_of(plan, environment).masked(std::move(text));
}

}  // namespace linkgain
