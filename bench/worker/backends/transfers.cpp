#include "transfers.hpp"

namespace linkgain {
namespace {

std::vector<Transfer> with_root(const Case& c, bool to_root) {
  std::vector<Transfer> transfers;
  for (int rank = 0; rank < c.ranks; ++rank) {
    if (rank == c.root) continue;
    if (to_root) {
      transfers.push_back({rank, c.root, Bytes{rank * c.size.value}});
    } else {
      transfers.push_back({c.root, rank, {}});
    }
  }
  return transfers;
}

std::vector<Transfer> between_ranks(const Case& c) {
  std::vector<Transfer> transfers;
  if (!c.pair) {
    for (int rank = 0; rank < c.ranks; ++rank)
      transfers.push_back({rank, (rank + 1) % c.ranks, {}});
    return transfers;
  }
  transfers.push_back({c.pair->from, c.pair->to, {}});
  if (c.pair->both) transfers.push_back({c.pair->to, c.pair->from, {}});
  return transfers;
}

}  // namespace

std::vector<Transfer> transfers_of(const Case& c) {
  if (!is_copy(c.operation) || is_local(c.operation)) return {};
  if (has_root(c.operation)) return with_root(c, c.operation == OperationKind::all_to_one);
  return between_ranks(c);
}

int executor_of(const Case& c, const Transfer& transfer) {
  const bool pulls =
      c.operation == OperationKind::copy_pull || c.operation == OperationKind::one_to_all;
  return pulls ? transfer.to : transfer.from;
}

}  // namespace linkgain
