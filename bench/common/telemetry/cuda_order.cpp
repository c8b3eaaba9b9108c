#include "linkgain/telemetry/cuda_order.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "linkgain/base/text.hpp"
#include "linkgain/hardware/pci.hpp"

namespace linkgain {
namespace {

using Indexes = std::vector<Reading<int>>;

/// Positions among the GPUs, in CUDA's order.
using Order = std::vector<std::size_t>;

std::optional<std::string> variable(const Environment& environment, const char* name) {
  const auto found = environment.find(name);
  return found != environment.end() ? std::optional(found->second) : std::nullopt;
}

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  const std::size_t end = text.find_last_not_of(" \t");
  return begin == std::string::npos ? std::string() : text.substr(begin, end - begin + 1);
}

Indexes all_missing(std::size_t count, const std::string& reason) {
  return Indexes(count, Missing{reason});
}

/// Returns the GPUs without any restriction, or why their order is not known.
Reading<Order> physical_order(const std::vector<TopologyGpu>& gpus, const CudaSettings& settings) {
  const auto silent = [](const TopologyGpu& gpu) { return !gpu.no_answer.empty(); };
  if (std::ranges::any_of(gpus, silent)) {
    return Missing{"a GPU does not answer, so CUDA's numbers may have moved"};
  }
  const auto without_id = [](const TopologyGpu& gpu) { return gpu.pci_bus_id.empty(); };
  if (std::ranges::any_of(gpus, without_id)) {
    return Missing{"the driver does not say the GPUs' PCI ids, which CUDA numbers them by"};
  }
  const auto other_model = [&](const TopologyGpu& gpu) { return gpu.name != gpus.front().name; };
  const bool by_pci = settings.device_order == "PCI_BUS_ID";
  if (!by_pci && std::ranges::any_of(gpus, other_model)) {
    return Missing{
        "the models differ and CUDA puts the fastest first; CUDA_DEVICE_ORDER=PCI_BUS_ID makes it "
        "known"};
  }
  Order order(gpus.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    const std::string first = sysfs_pci_name(gpus[a].pci_bus_id);
    const std::string second = sysfs_pci_name(gpus[b].pci_bus_id);
    return first.size() != second.size() ? first.size() < second.size() : first < second;
  });
  return order;
}

/// Returns the number that an entry begins with, as CUDA reads it; absent where there is none or a
/// minus.
std::optional<std::size_t> number_of(const std::string& entry) {
  const char* begin = entry.data() + (entry.starts_with('+') ? 1 : 0);
  std::size_t number = 0;
  const auto result = std::from_chars(begin, entry.data() + entry.size(), number);
  return result.ec == std::errc{} ? std::optional(number) : std::nullopt;
}

/// Returns the only GPU whose UUID begins like `entry`.
std::optional<std::size_t> gpu_of(const std::vector<TopologyGpu>& gpus, const std::string& entry) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (!upper(gpus[i].uuid).starts_with(upper(entry))) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

constexpr const char* kUuidPrefix = "GPU-";

/// Returns the GPUs that the entries name, up to the first that names none.
Order named_gpus(const std::vector<TopologyGpu>& gpus, const std::vector<std::string>& entries,
                 const Order& order) {
  Order named;
  const bool by_uuid = entries.front().starts_with(kUuidPrefix);
  for (const std::string& entry : entries) {
    std::optional<std::size_t> gpu;
    if (by_uuid) {
      if (entry.starts_with(kUuidPrefix)) gpu = gpu_of(gpus, entry);
    } else if (const auto number = number_of(entry); number && *number < order.size()) {
      gpu = order[*number];
    }
    if (!gpu) break;
    named.push_back(*gpu);
  }
  return named;
}

/// Returns the GPUs that CUDA_VISIBLE_DEVICES leaves of those in `order`, one named twice still
/// twice.
Reading<Order> listed_gpus(const std::vector<TopologyGpu>& gpus, const CudaSettings& settings,
                           const Reading<Order>& order) {
  if (!settings.visible_devices) return order;
  std::vector<std::string> entries = split(*settings.visible_devices, ',');
  std::ranges::transform(entries, entries.begin(), trimmed);
  if (entries.empty()) return Order{};
  if (names_mig_instance(settings)) {
    return Missing{"CUDA_VISIBLE_DEVICES names a MIG instance"};
  }
  if (number_of(entries.front()) && !order.measured()) return order;
  return named_gpus(gpus, entries, order.value_or({}));
}

bool names_one_twice(Order listed) {
  std::ranges::sort(listed);
  return std::ranges::adjacent_find(listed) != listed.end();
}

}  // namespace

CudaSettings cuda_settings() { return cuda_settings(current_environment()); }

CudaSettings cuda_settings(const Environment& environment) {
  return {variable(environment, "CUDA_VISIBLE_DEVICES"),
          variable(environment, "CUDA_DEVICE_ORDER")};
}

bool names_mig_instance(const CudaSettings& settings) {
  return trimmed(settings.visible_devices.value_or("")).starts_with("MIG-");
}

std::vector<Reading<int>> cuda_indexes(const std::vector<TopologyGpu>& gpus,
                                       const CudaSettings& settings) {
  const Reading<Order> listed = listed_gpus(gpus, settings, physical_order(gpus, settings));
  if (!listed.measured()) return all_missing(gpus.size(), listed.reason());
  const Order& visible = listed.value();
  if (names_one_twice(visible)) {
    return Indexes(
        gpus.size(),
        Missing{"CUDA_VISIBLE_DEVICES names a GPU twice: CUDA then sees none", WhyMissing::hidden});
  }
  Indexes indexes(gpus.size(), hidden_from_cuda());
  for (std::size_t i = 0; i < visible.size(); ++i) indexes[visible[i]] = static_cast<int>(i);
  return indexes;
}

std::vector<std::size_t> visible_to_cuda(const std::vector<TopologyGpu>& gpus,
                                         const CudaSettings& settings) {
  Order as_given(gpus.size());
  std::iota(as_given.begin(), as_given.end(), std::size_t{0});
  const Order order = physical_order(gpus, settings).value_or(as_given);
  const Order listed = listed_gpus(gpus, settings, order).value_or(as_given);
  return names_one_twice(listed) ? Order{} : listed;
}

}  // namespace linkgain
