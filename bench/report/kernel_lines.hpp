#pragma once

#include <string>

#include "comparison.hpp"
#include "linkgain/core/record.hpp"

namespace linkgain {

/// For a curve of our own kernel, one item for each variant whose times are known with NCCL's
/// operation or the copy engine, too: "- NCCL leaves with p2p: 3.53x at 8 B, 1.94x at 1 MiB, 1.10x
/// at 1 GiB" (its time over the kernel's, medians); of a copy how many times as fast it is. The
/// first and last size and some between, sixteenfold or more apart.
std::string kernel_lines(const Record& record, const Curve& curve);

}  // namespace linkgain
