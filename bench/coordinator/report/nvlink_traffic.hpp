#pragma once

#include <string>

#include "linkgain/summary/run_summary.hpp"

namespace linkgain {

/// What the links' counters say of a case's variants, as a paragraph with a blank line before it:
/// "NVLink traffic: with P2P 100.4 % of the expected bytes, without 0 %." Empty where nothing was
/// counted.
std::string nvlink_traffic_sentence(const CaseSummary& each);

}  // namespace linkgain
