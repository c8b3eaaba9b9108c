#pragma once

#include <string>

#include "comparison.hpp"
#include "linkgain/record/record.hpp"

namespace linkgain {

/// Whether the cases are of more than one pair.
bool has_pairs(const Curve& curve);

/// curve_label(), or "send_recv between pairs, both ways".
std::string curve_or_pairs_label(const Curve& curve);

/// Whether the first variant and another one have times.
bool comparable(const CaseResult& result);

/// "**WRONG DATA** at other sizes: 8 B.", or at other pairs where the curve has several; `shown` is
/// left out. Empty where there is none.
std::string wrong_sentence(const Curve& curve, const CaseResult* shown);

/// Where the curve has several pairs of the size of `weakest`, how many were compared, and which of
/// them takes least time with the first variant, or that they do not differ(). `weakest` takes most
/// where they do (curves_for_headline()).
std::string pairs_sentence(const Record& record, const Curve& curve, const CaseResult& weakest);

}  // namespace linkgain
