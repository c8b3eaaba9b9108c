#pragma once

#include "kernels/element.hpp"
#include "kernels/pattern.hpp"
#include "linkgain/core/case.hpp"

namespace linkgain {

kernels::ElementType element_type(DataType type);
kernels::ReductionKind reduction_kind(Reduction reduction);

/// The known data of a case: its reduction's, or plain data where bytes are only moved.
kernels::Pattern verification_pattern(const Case& c);

/// Whose input this rank's output must equal after a send_recv; -1 where the rank receives nothing.
int sender_to(const Case& c, int rank);
/// Where this rank's input goes; -1 where it sends nothing.
int receiver_from(const Case& c, int rank);

}  // namespace linkgain
