#pragma once

#include <cstdint>

#include "linkgain/base/units.hpp"
#include "linkgain/protocol/protocol.hpp"
#include "linkgain/runtime/operation.hpp"
#include "linkgain/runtime/session.hpp"

namespace linkgain {

/// How many operations make a batch, which is a sample, and how long one of them takes.
struct SampleSize {
  std::int64_t operations;
  Seconds per_operation;
};

/// Finds how many operations a batch needs to last as long as the command asks for. Every rank must
/// call it; the result is the same on all.
SampleSize size_of_sample(Session& session, Operation& operation, const protocol::Open& command);

}  // namespace linkgain
