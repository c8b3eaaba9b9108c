#pragma once

#include "linkgain/summary/run_summary.hpp"
#include "linkgain/tables/document.hpp"

namespace linkgain {

/// Makes a section of all-reduces between a product and a norm: what one takes by NCCL and by
/// our kernels, what a step of 32 and of 80 layers waits for them, and where one way becomes faster
/// than another. Empty where the record has none.
Document inference_section(const RunSummary& summary);

}  // namespace linkgain
