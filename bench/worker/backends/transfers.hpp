#pragma once

#include <vector>

#include "linkgain/cases/case.hpp"

namespace linkgain {

/// One message of a copy: all of `from`'s input to `to`'s output, there from `offset` on.
struct Transfer {
  int from = 0;
  int to = 0;
  Bytes offset{};
  bool operator==(const Transfer&) const = default;
};

/// The messages of one operation, in an order that is the same on all ranks; none where nothing
/// goes from rank to rank.
std::vector<Transfer> transfers_of(const Case& c);

/// Which of the two works where one reaches the other's memory: copy_push and all_to_one push,
/// copy_pull and one_to_all pull, so that each rank has one message to move at most.
int executor_of(const Case& c, const Transfer& transfer);

}  // namespace linkgain
