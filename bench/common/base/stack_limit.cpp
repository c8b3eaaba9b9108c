#include "linkgain/base/stack_limit.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include "linkgain/base/errors.hpp"

namespace linkgain {
namespace {

/// Four times what ranks over MPI were seen to need; `linkgain` itself needs less.
constexpr rlim_t kLeastKibibytes = 1024;

}  // namespace

void require_stack() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const rlim_t kibibytes = limit.rlim_cur / 1024;
  if (kibibytes >= kLeastKibibytes) return;
  throw MachineError(fmt::format("a stack of {} KiB is all that this shell or job allows, and {} "
                                 "KiB are needed",
                                 kibibytes, kLeastKibibytes),
                     "raise the limit first: ulimit -s 8192");
}

}  // namespace linkgain
