#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "linkgain/base/environment.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/secrets.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/case.hpp"
#include "linkgain/exec/command_words.hpp"
#include "linkgain/exec/exec_options.hpp"
#include "linkgain/exec/run_axis.hpp"
#include "linkgain/hardware/nccl_settings.hpp"
#include "linkgain/patterns/output_metrics.hpp"
#include "linkgain/record/record.hpp"

namespace linkgain {

/// A program that is started before each run and ended after it.
struct ServerPlan {
  std::vector<std::string> command;
  LinePattern ready;
  Seconds ready_timeout = kDefaultReadyTimeout;
};

/// Runs of a command with nothing left to decide.
struct ExecPlan {
  std::vector<std::string> command;
  std::vector<Variant> variants;  ///< the control is the last
  std::optional<RunAxis> axis{};  ///< at whose values each variant runs
  std::vector<Case> cases;        ///< what runs are measured by: the wall time first, at each value
  OutputRequest output;
  std::optional<ServerPlan> server{};
  std::string prepare;
  std::string cleanup;
  int warm_up = 0;
  int rounds = kDefaultRounds;
  unsigned seed = 1;
  std::optional<double> ci_width{};
  std::optional<Seconds> budget{};
  std::optional<Seconds> timeout{};
  std::optional<Seconds> silence{};
};

/// Decides everything. `environment` is this program's own, in which the command is looked for.
/// Throws UsageError for what cannot be meant: no command, an unknown variant, a pattern that is
/// none; but for a dry run, what missing_programs() lists first.
ExecPlan make_exec_plan(const ExecOptions& options, const Environment& environment);

/// Lists which programs of server and command cannot be executed, each once.
std::vector<UsageError> missing_programs(const ExecPlan& plan, const Environment& environment);

/// A run to come: the first, second … of a variant at a value of the axis, or one before these, to
/// warm up.
struct RunPlace {
  int variant = 0;
  int round = 1;
  bool warm_up = false;
  int value = 0;  ///< place among the axis' values
  bool operator==(const RunPlace&) const = default;
};

/// Counts what has runs of its own: every variant at every value of the axis.
int arm_count(const ExecPlan& plan);
/// Numbers them, a value's variants one after the other.
int arm_of(const ExecPlan& plan, const RunPlace& place);
/// Gives the place of an arm's run.
RunPlace place_of(const ExecPlan& plan, int arm, int round, bool warm_up = false);

/// Says "LOAD=8"; empty without an axis.
std::string place_on_axis(const ExecPlan& plan, const RunPlace& place);
/// Says "host", on an axis "host at LOAD=8".
std::string spoken_arm(const ExecPlan& plan, const RunPlace& place);

/// Lists the rounds from `first` to `last` of all arms, in one shuffled_order().
std::vector<RunPlace> shuffled_rounds(const ExecPlan& plan, int first, int last);

/// Lists the arms' warm-up runs in the order of their numbers, again and again; then
/// shuffled_rounds().
std::vector<RunPlace> run_order(const ExecPlan& plan);

/// Says what `{variant}` and the like stand for in that run.
Placeholders placeholders_of(const ExecPlan& plan, const RunPlace& place);

/// Gives the words of the command in that run. The variant's arguments come last unless {args} says
/// where else, in the command or in the server's.
std::vector<std::string> command_of(const ExecPlan& plan, const RunPlace& place);
/// Gives those of the server; there must be one.
std::vector<std::string> server_of(const ExecPlan& plan, const RunPlace& place);

/// Says "host-3", "host.warm-up-1", "host-LOAD=8-3": how files of that run are called. No variant
/// has a dot or "=" in its name.
std::string name_of(const ExecPlan& plan, const RunPlace& place);

/// Lists what exec sets for a command of the variant where `environment` is there already: the
/// variant's own variables, and PYTHONUNBUFFERED=1 where it is not set, so that Python's output
/// comes as it is written.
Environment variables_set(const Variant& variant, const Environment& environment);

/// Lists what the command gets: these, and `environment`.
Environment environment_of(const Variant& variant, Environment environment);

/// Tells whether the run's program, or its client, runs in a container.
bool is_in_container(const ExecPlan& plan, const RunPlace& place);

/// Lists what files of NCCL's (NCCL_CONF_FILE or ~/.nccl.conf, and /etc/nccl.conf) set for a
/// program that gets `environment`, which goes before them. Nothing in a container, which has files
/// of its own.
std::vector<NcclSetting> nccl_file_settings(const ExecPlan& plan, const RunPlace& place,
                                            const Environment& environment);

/// Says which variable of NCCL's log the run's program has of the caller, a file of NCCL's, the
/// variant or its command; empty where linkgain may choose what NCCL logs.
std::string chooses_nccl_log(const ExecPlan& plan, const RunPlace& place,
                             const Environment& environment);

/// Collects the secrets in all that commands get: in this program's environment, of variants and
/// command lines.
KnownSecrets secrets_of(const ExecPlan& plan, const Environment& environment);

}  // namespace linkgain
