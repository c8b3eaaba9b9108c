#include "linkgain/coordinator/wire_count.hpp"

#include <algorithm>
#include <utility>

namespace linkgain {

WireCount::WireCount(const Case& c, TransferPlan plan, bool several_hosts)
    : case_(c), plan_(std::move(plan)), several_hosts_(several_hosts) {}

bool WireCount::counts(const Case& c, int round) { return round < (c.size < kJudgedSize ? 1 : 2); }

void WireCount::add(const std::vector<LinkCounters>& before, const std::vector<LinkCounters>& after,
                    std::int64_t operations) {
  std::vector<LinkCounters> growths;
  for (std::size_t rank = 0; rank < std::min(before.size(), after.size()); ++rank) {
    growths.push_back(growth(before[rank], after[rank]));
  }
  const WireEvidence found = assess(case_, plan_, operations, growths, several_hosts_);
  evidence_ = evidence_ ? combine(*evidence_, found) : found;
}

}  // namespace linkgain
