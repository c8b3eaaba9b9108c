#pragma once

#include <optional>
#include <vector>

#include "linkgain/base/environment.hpp"
#include "linkgain/exec/exec_plan.hpp"
#include "linkgain/record/record.hpp"

/// Which variables of variants reach the program that is measured.
namespace linkgain {

struct SeenProcess;

/// Gives what the variant's program gets of it, the server's where there is one: an empty value
/// where a variable of the variant does not reach it.
Environment environment_received(const ExecPlan& plan, int variant, const Environment& environment);

/// Gives the same of each variant, as far as the command's words tell.
std::vector<Environment> all_received(const ExecPlan& plan);

/// Warns of variables that a file of compose must list.
std::optional<Warning> compose_warning(const ExecPlan& plan);

/// Warns of variables of variants that do not reach the program, as a container or sudo does not
/// pass them on or the command sets them itself. `received` is by variant; `record` has the runs so
/// far, whose paths may show that P2P was switched all the same.
std::optional<Warning> container_warning(const ExecPlan& plan,
                                         const std::vector<Environment>& received,
                                         const Record& record = {});

/// Warns of what keeps the logs that tell the path from leaving a container, and no-p2p's library
/// from coming into it, by the command's words; absent where container_warning() says more.
std::optional<Warning> lost_logs_warning(const ExecPlan& plan);

/// Gives all of these before any run, and those of P2P that a variable forbids or the driver
/// refuses.
std::vector<Warning> warnings_of(const ExecPlan& plan, const Record& begun);

/// Finds which variables of variants the program had in a run of one of them, whose own reached it
/// if any of its processes had it.
std::optional<Environment> received_in_run(const ExecPlan& plan, const RunPlace& place,
                                           const std::vector<SeenProcess>& all,
                                           const Environment& given);

}  // namespace linkgain
