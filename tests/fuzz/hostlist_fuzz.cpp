// Slurm's list of hosts, and what `fleet` writes of it for Slurm.
#include <algorithm>

#include "fuzz_target.hpp"
#include "linkgain/base/hostlist.hpp"

namespace linkgain {
namespace {

void read(std::string_view text) {
  std::vector<std::string> hosts = expand_hostlist(text);
  std::ranges::sort(hosts);
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  std::vector<std::string> again = fuzz::must_work(
      "the compressed list is refused", [&] { return expand_hostlist(compress_hostlist(hosts)); });
  std::ranges::sort(again);
  if (hosts != again) throw std::logic_error("the compressed list has other hosts");
}

}  // namespace
}  // namespace linkgain
