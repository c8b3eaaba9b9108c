#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "linkgain/record/record.hpp"

namespace linkgain {

/// Gives the same training without communication; null where the record has none.
const CaseResult* without_communication(const Record& record, const Case& training);

/// Gives exposed communication, in seconds: the mean over launches of what a step took longer than
/// one without communication in the same launch, with Student's t interval: the two share the GPUs'
/// pace at the time. `result` is a case of `record`; the step without communication is the first
/// variant's that measured it. Absent where no launch has both.
std::optional<Estimate> exposed_communication(const Record& record, const CaseResult& result,
                                              std::size_t variant);

/// Writes exposed_communication() into every training of a run that is over.
void note_exposed_communication(Record& record);

/// Steps of a launch over which losses are judged.
inline constexpr int kJudgedSteps = 200;

/// Gives the largest difference of the variant's losses to the first variant's, over that, in the
/// steps that are judged. Absent for the first variant and where there is nothing to compare.
std::optional<double> judged_loss_difference(const CaseResult& result, std::size_t variant);

/// Tells whether that is beyond loss_bound(): a sign of wrong data in one of the two variants, or
/// of one that changes the arithmetic.
bool have_losses_parted(const CaseResult& result, std::size_t variant);

/// Tells whether a case stands for the whole of its run where it was measured: a training whose
/// ranks communicate. Of several the first one does, in the report as in a comparison with another
/// run.
bool may_stand_for_run(const Case& definition);

/// Gives the steps of each training that the run was asked for.
std::int64_t planned_steps(const Settings& settings);

/// Gives the time of as many, from that of one.
Seconds time_of_all_steps(const Settings& settings, Seconds step);

}  // namespace linkgain
