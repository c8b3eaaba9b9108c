#include "wire_count.hpp"

#include <algorithm>
#include <utility>

namespace linkgain {

WireCount::WireCount(const Case& c, TransferPlan plan, const WireSettings& settings)
    : case_(c),
      plan_(std::move(plan)),
      several_hosts_(settings.several_hosts),
      why_no_algorithm_(settings.why_no_algorithm) {}

bool WireCount::counts(const Case& c, int round) {
  constexpr int kFirstAgain = 10;
  constexpr int kEvery = 20;
  return round == 0 || (c.size >= kJudgedSize && round % kEvery == kFirstAgain);
}

void WireCount::add(const protocol::CountersReply& before, const protocol::CountersReply& after,
                    std::int64_t operations) {
  std::vector<LinkCounters> growths;
  for (std::size_t rank = 0; rank < std::min(before.ranks.size(), after.ranks.size()); ++rank) {
    growths.push_back(growth(before.ranks[rank], after.ranks[rank]));
  }
  WireEvidence found = assess(case_, plan_, operations, growths, several_hosts_, why_no_algorithm_);
  if (!found.nvlink_sent && !after.reason.empty()) found.reason += ": " + after.reason;
  const bool pcie = found.pcie_sent && found.pcie_received;
  if (!pcie && !after.pcie_reason.empty()) found.pcie_reason += ": " + after.pcie_reason;
  evidence_ = evidence_ ? combine(*evidence_, found) : found;
}

}  // namespace linkgain
