#pragma once

#include "linkgain/record/record.hpp"

namespace linkgain {

/// How much a warning takes from what a run says, the most first.
enum class WarningWeight {
  wrong,       ///< results are wrong, or not of the path that the variant's name says
  incomplete,  ///< something that was asked for is missing
  doubtful,    ///< the machine was faulty or disturbed, so that figures may be off
  notice,      ///< expected, or a matter of what was asked for
};

WarningWeight weight_of(const Warning& warning);

/// The wrong ones that are about a path.
bool is_wrong_path(const Warning& warning);

}  // namespace linkgain
