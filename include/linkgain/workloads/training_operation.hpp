#pragma once

#include <memory>
#include <string>
#include <vector>

#include "linkgain/record/record.hpp"
#include "linkgain/runtime/backend.hpp"
#include "linkgain/runtime/session.hpp"

namespace linkgain {

/// Makes the training of a case of gpt2_step as one operation after the other: a step each, in
/// batches of kStepsPerBlock after one that is discarded. The model is on this rank's GPU, or of
/// fp64 the reference on its CPU. `products`: algorithms that another job's execution told, or
/// none. Local to the rank until prepare(); session and backend must outlive it. Throws UsageError
/// for a token file or a number of ranks that does not fit, MachineError where memory is short.
std::unique_ptr<Operation> make_training_operation(Session& session, Backend& backend,
                                                   const Case& c, const TrainingPlan& plan,
                                                   const std::vector<std::string>& products);

}  // namespace linkgain
