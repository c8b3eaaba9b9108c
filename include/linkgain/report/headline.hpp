#pragma once

#include <string>

#include "linkgain/record/record.hpp"

namespace linkgain {

/// The record's answer in Markdown that reads well raw: for the largest size of every curve that
/// the first variant and another one measured, a table with a row per variant, then what the
/// difference is or why there is none to give. Curves of several pairs have one such table, of the
/// pair that takes longest with the first variant, or of the first pair where none differs by more
/// than the run's precision. A column of bandwidths stands where there are any. Ends with notes on
/// what every reader must know: wrong data at other sizes, a run cut short, the mpi backend's
/// figures being no GPU figures.
std::string headline(const Record& record);

}  // namespace linkgain
