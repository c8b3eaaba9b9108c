// An Open MPI hostfile.
#include "fuzz_target.hpp"
#include "linkgain/plan/site.hpp"

namespace linkgain {
namespace {

void read(std::string_view text) {
  const Hosts hosts = parse_hostfile(text);
  if (hosts.count < 1 || hosts.slots.value_or(1) < 1) throw std::logic_error("no host, or no slot");
}

}  // namespace
}  // namespace linkgain
