#pragma once

#include <string>
#include <vector>

#include "linkgain/record/record.hpp"

/// The parts of judge() that have files of their own. Each adds warnings to the record, none twice.
namespace linkgain {

void add_once(Record& record, const Warning& warning);

/// A variant's variables by allow-list as its worker saw them; empty where that is not known.
const Environment& in_force(const Record& record, std::size_t variant);

/// A variable that the caller set in force for a variant, not the variant itself; empty where it is
/// not set.
std::string inherited(const Record& record, std::size_t variant, const std::string& name);

/// "NCCL_P2P_DISABLE=1": the caller's variable that forbids P2P altogether in this variant; empty
/// where none does.
std::string forbidden_by_caller(const Record& record, std::size_t variant);

/// NVML says that NVLink joins every pair of ranks and that they can use P2P.
bool offers_nvlink(const Machine& machine);

/// A share of the expected bytes, "50.0 %".
std::string percent(double share);

/// Whether some check found wrong data.
bool judge_data(Record& record);

/// Whether nothing was measured of what was asked for, or of one of the operations that were
/// named, in a run that was not cut short. Of the first the step
/// without communication counts only where it was all that was asked for.
bool judge_absence(Record& record, const std::vector<OperationKind>& named);

/// Warns of trainings whose losses differ between variants by more than rounding explains. That is
/// no proof of wrong data, for a variant may compute otherwise, and decides nothing.
void judge_losses(Record& record);

/// Warns of links that others used, and of evidence that is missing or cannot be judged; of nothing
/// where MPI carried the messages.
void judge_evidence(Record& record);

/// Whether some variant took another path than its name promises.
bool judge_paths(Record& record);

/// Whether the run must end as unhealthy: asked for, and some sample's GPU was throttled or did not
/// tell, or others were on a GPU.
bool judge_health(Record& record);

}  // namespace linkgain
