// Nvml::Device: the GPU's own links, NVLink and PCIe.
#include <fmt/format.h>

#include <algorithm>

#include "linkgain/telemetry/nvml.hpp"
#include "nvlink_summary.hpp"
#include "nvml_library.hpp"
#include "nvml_readings.hpp"

namespace linkgain {
namespace {

using nvml_api::EnableState;
using nvml_api::kMostNvlinks;
using nvml_readings::to_int;

NvlinkRemote to_remote(nvml_api::NvlinkDeviceType type) {
  switch (type) {
    case nvml_api::NvlinkDeviceType::gpu:
      return NvlinkRemote::gpu;
    case nvml_api::NvlinkDeviceType::npu:
      return NvlinkRemote::npu;
    case nvml_api::NvlinkDeviceType::nvswitch:
      return NvlinkRemote::nvswitch;
    case nvml_api::NvlinkDeviceType::unknown:
      return NvlinkRemote::unknown;
  }
  return NvlinkRemote::unknown;  // a type younger than this program
}

}  // namespace

Reading<int> Nvml::Device::nvlink_count() const {
  const Reading<std::int64_t> count =
      library_->field(handle_, {.id = nvml_api::kFieldNvlinkLinkCount});
  if (count.measured()) {
    return static_cast<int>(std::clamp<std::int64_t>(count.value(), 0, kMostNvlinks));
  }
  // Drivers that lack the field answer for the links that there are and fail from there on.
  for (unsigned int link = 0; link < kMostNvlinks; ++link) {
    const auto state = library_->read<EnableState>(library_->nvlink_state, handle_, link);
    if (!state.measured()) {
      return link > 0 ? Reading<int>(static_cast<int>(link))
                      : Reading<int>::missing(state.reason());
    }
  }
  return static_cast<int>(kMostNvlinks);
}

Reading<double> Nvml::Device::nvlink_rate(unsigned int link) const {
  Reading<std::int64_t> speed =
      library_->field(handle_, {.id = nvml_api::kFieldNvlinkSpeed, .scope = link});
  if (!speed.measured()) {  // drivers before 515
    speed = library_->field(handle_, {.id = nvml_api::kFieldNvlinkCommonSpeed});
  }
  if (!speed.measured()) return Reading<double>::missing(speed.reason());
  if (speed.value() <= 0) {
    return Reading<double>::missing(fmt::format("the driver says {} MB/s", speed.value()));
  }
  return nvml_readings::nvlink_rate_gb_per_s(speed.value());
}

Reading<NvlinkState> Nvml::Device::nvlink(int link) const {
  const auto number = static_cast<unsigned int>(link);
  const auto enabled = library_->read<EnableState>(library_->nvlink_state, handle_, number);
  if (!enabled.measured()) {
    return Reading<NvlinkState>::missing(enabled.reason());
  }
  NvlinkState state;
  state.active = enabled.value() == EnableState::on;
  state.version = to_int(library_->read<unsigned int>(library_->nvlink_version, handle_, number));
  state.rate_gb_per_s =
      state.active ? nvlink_rate(number) : Reading<double>::missing("the link is not active");
  const auto type =
      library_->read<nvml_api::NvlinkDeviceType>(library_->nvlink_remote_type, handle_, number);
  const auto pci_info =
      library_->read<nvml_api::PciInfo>(library_->nvlink_remote_pci_info, handle_, number);
  state.remote = to_remote(type.value_or(nvml_api::NvlinkDeviceType::unknown));
  state.remote_pci_bus_id =
      nvml_readings::convert<std::string>(pci_info, nvml_readings::pci_bus_id).value_or("");
  return state;
}

PcieInfo Nvml::Device::pcie() const {
  const Library& nvml = *library_;
  return {.generation = to_int(nvml.read<unsigned int>(nvml.pcie_generation, handle_)),
          .width = to_int(nvml.read<unsigned int>(nvml.pcie_width, handle_)),
          .most_generation = to_int(nvml.read<unsigned int>(nvml.most_pcie_generation, handle_)),
          .most_width = to_int(nvml.read<unsigned int>(nvml.most_pcie_width, handle_))};
}

void Nvml::Device::read_links(GpuInfo& gpu) const {
  const Library& nvml = *library_;
  gpu.pcie_generation = to_int(nvml.read<unsigned int>(nvml.pcie_generation, handle_)).optional();
  gpu.pcie_width = to_int(nvml.read<unsigned int>(nvml.pcie_width, handle_)).optional();

  const Reading<int> count = nvlink_count();
  const NvlinkInfo links = summary_of(count, read_nvlinks(*this, count));
  gpu.nvlink_version = links.version.optional();
  gpu.nvlink_links = links.possible.optional();
  gpu.nvlink_links_active = links.active.optional();
  gpu.nvlink_rate_gb_per_s = links.rate_gb_per_s.optional();
  for (const SlowNvlink& link : links.slower) {
    gpu.nvlink_rate_gb_per_s = std::min(*gpu.nvlink_rate_gb_per_s, link.rate_gb_per_s);
  }
  gpu.nvlink_total_gb_per_s = rate_of(links).optional();
}

}  // namespace linkgain
