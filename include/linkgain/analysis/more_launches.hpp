#pragma once

#include <optional>
#include <vector>

#include "linkgain/cases/case.hpp"
#include "linkgain/record/record.hpp"

namespace linkgain {

/// Half width of a ratio's 95 % interval at which a case is done: `asked`, else 1 % of the ratio
/// from 16 MiB on, 2 % from 1 MiB on, 5 % below, where launches differ more. Of a training 1 %.
double interval_width(const Case& c, std::optional<double> asked);

/// Indices of the cases that have a ratio whose interval is wider than interval_width(), and that
/// twice the launches `planned` are reckoned to bring to it: the width goes with one over the root
/// of the number of launches. None of a training, whose steps were asked for in all.
std::vector<int> cases_worth_more(const Record& record, std::optional<double> asked, int planned,
                                  int launches_done);

}  // namespace linkgain
