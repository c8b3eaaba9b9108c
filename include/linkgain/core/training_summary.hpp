#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "linkgain/core/record.hpp"

namespace linkgain {

/// The same training without communication; null where the record has none.
const CaseResult* without_communication(const Record& record, const Case& training);

/// What a step takes longer than one without communication: the difference of the two medians of
/// the same launch, and of several launches the median. `result` is a case of `record`; the step
/// without communication is the first variant's that measured it. Absent where no launch has both.
std::optional<Seconds> exposed_communication(const Record& record, const CaseResult& result,
                                             std::size_t variant);

/// Writes exposed_communication() into every training of a run that is over.
void note_exposed_communication(Record& record);

/// Whether a case stands for the whole of its run where it was measured: a training whose ranks
/// communicate. Of several the first one does, in the report as in a comparison with another run.
bool may_stand_for_run(const Case& definition);

/// The steps of each training that the run was asked for.
std::int64_t planned_steps(const Settings& settings);

/// The time of as many, from that of one.
Seconds time_of_all_steps(const Settings& settings, Seconds step);

}  // namespace linkgain
