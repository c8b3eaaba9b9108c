#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "linkgain/base/reading.hpp"
#include "linkgain/hardware/topology.hpp"
#include "linkgain/telemetry/nvml.hpp"

namespace linkgain {

/// Returns the rate of a link, one direction, in 1e9 B/s, from the driver's MB/s. Link rates are
/// multiples of 1/32 GB/s (GA102's 14.0625, Turing's 25.78125, Hopper's 26.5625), of which the
/// driver cuts off the fraction of a MB/s; where no such multiple fits, its number is taken as it
/// is.
double nvlink_rate_gb_per_s(std::int64_t megabytes_per_second);

using NvlinkStates = std::vector<Reading<NvlinkState>>;

/// Returns every link of a GPU whose nvlink_count() is `count`: none where the GPU has no NVLink,
/// one that cannot be read where how many there are is not known.
NvlinkStates read_nvlinks(const Nvml::Device& device, const Reading<int>& count);

/// Returns the first reason why a link could not be read.
std::optional<std::string> unreadable(const NvlinkStates& links);

/// Returns whether the active links lead to a switch; not known if one of them does not report.
Reading<bool> leads_to_switch(const NvlinkStates& links);

/// Returns those of `from` that join it to the GPU with the links `to` at this PCI id: the active
/// ones that lead there, and those to a switch where both have such. Missing where an end of them
/// is not known.
Reading<int> joining_links(const NvlinkStates& from, const NvlinkStates& to,
                           const std::string& to_pci_bus_id);

/// Returns the links taken together: the version of the first active one, the rate of the slowest.
/// A link that cannot be read leaves open how many are active and where they lead.
NvlinkInfo summary_of(const Reading<int>& count, const NvlinkStates& links);

/// Surveys the devices of this machine: GPUs from NVML, NICs and what NVML does not report from the
/// kernel's folders `sys` and `proc` (tests give others). Never throws for what is missing.
Topology survey_topology(const std::filesystem::path& sys = "/sys",
                         const std::filesystem::path& proc = "/proc");

}  // namespace linkgain
