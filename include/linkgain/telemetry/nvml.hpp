#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "linkgain/core/machine.hpp"
#include "linkgain/core/record.hpp"

namespace linkgain {

/// NVML, opened at run time from libnvidia-ml.so.1 with our own declarations, so that nothing of it
/// is needed to build or to start. Every reading is optional: absent means that the library, the
/// function or the value is not there. Not thread-safe beyond what NVML itself promises (it is).
class Nvml {
 public:
  /// Absent where there is no library or no driver; `reason` then says why. The environment
  /// variable LINKGAIN_NVML_LIBRARY names another library to load, for tests and unusual
  /// installations.
  static std::shared_ptr<Nvml> open(std::string* reason = nullptr);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  class Device;

  std::optional<std::string> driver_version() const;
  int device_count() const;
  std::optional<Device> device_by_index(int index) const;
  /// CUDA's form ("0000:00:06.0") or NVML's ("00000000:00:06.0").
  std::optional<Device> device_by_pci_bus_id(const std::string& pci_bus_id) const;
  std::optional<Device> device_by_uuid(const std::string& uuid) const;

 private:
  struct Library;
  explicit Nvml(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library_;
};

/// One GPU. Copyable; valid as long as the Nvml it came from.
class Nvml::Device {
 public:
  std::optional<std::string> name() const;
  std::optional<std::string> uuid() const;
  std::optional<std::int64_t> memory_bytes() const;
  std::optional<bool> exclusive_compute_mode() const;

  /// Temperature, power, SM clock and clock-event reasons: about 1 us each.
  Health health() const;
  std::optional<int> sm_clock_mhz() const;

  /// Fills the NVLink and PCIe members of `gpu`; about 30 us.
  void read_links(GpuInfo& gpu) const;
  /// What the driver says of the way to `peer`.
  PairLink link_to(const Device& peer) const;

 private:
  friend class Nvml;
  Device(const Library* library, void* handle) : library_(library), handle_(handle) {}
  const Library* library_;
  void* handle_;
};

}  // namespace linkgain
