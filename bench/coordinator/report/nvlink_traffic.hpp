#pragma once

#include <string>

#include "linkgain/summary/run_summary.hpp"

namespace linkgain {

/// Says what the links' counters say of a case's variants: "NVLink traffic: with P2P 100.4 % of the
/// expected bytes, without 0 %." Empty where nothing was counted.
std::string nvlink_traffic_sentence(const CaseSummary& each);

}  // namespace linkgain
