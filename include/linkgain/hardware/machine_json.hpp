#pragma once

#include <optional>
#include <string>

#include "linkgain/base/json_document.hpp"
#include "linkgain/hardware/link_counters.hpp"
#include "linkgain/hardware/machine.hpp"

/// The JSON form of a machine and what is read of it.
namespace linkgain::json {

/// Of its label; absent for none. Throws UsageError for any other.
std::optional<Ancestor> ancestor_of(const std::optional<std::string>& label);
Out write_ancestor(const std::optional<Ancestor>& ancestor);

Out write_machine(const Machine& machine);
Machine read_machine(const In& json);

Out write_software(const Software& software);
Software read_software(const In& json);

/// One rank's counters, in bytes.
Out write_link_counters(const LinkCounters& counters);
LinkCounters read_link_counters(const In& json);
Out write_host_copy(const HostCopyRates& rates);
HostCopyRates read_host_copy(const In& json);

}  // namespace linkgain::json
