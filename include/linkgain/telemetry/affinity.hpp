#pragma once

#include <optional>
#include <string>

struct hwloc_bitmap_s;

namespace linkgain {

/// A set of CPUs by the kernel's numbers. Move-only owner of an hwloc bitmap; no topology is loaded
/// for it, which would take from milliseconds (2 CPUs) to tens of them.
class CpuSet {
 public:
  /// Reads the kernel's list form, "0-15,32-47"; nothing if the text is none or names no CPU.
  static std::optional<CpuSet> from_list(const std::string& text);
  /// Returns the CPUs that the calling thread may use. Throws MachineError where the kernel does
  /// not report.
  static CpuSet of_this_thread();

  CpuSet(CpuSet&& other) noexcept;
  CpuSet& operator=(CpuSet&& other) noexcept;
  ~CpuSet();

  bool empty() const;
  /// Returns a set of its `index`-th CPU alone, modulo their count. The set must not be empty.
  CpuSet only(int index) const;
  CpuSet intersected_with(const CpuSet& other) const;
  std::string list() const;

  /// Binds every thread of this process, so that later threads inherit it. Where the kernel
  /// refuses, the threads stay bound as they were and the result is false.
  bool bind_process() const;

 private:
  CpuSet();
  hwloc_bitmap_s* bitmap_;
};

/// Binds this process to those of the CPUs that it may use already; where there are none, or the
/// kernel refuses, the binding stays. Returns the list then in force.
std::string bind_within_allowed(const CpuSet& wanted);

/// Binds this process to the CPUs near a PCI device as the kernel names them ("0000:00:06.0"),
/// within the CPUs it may use already. Returns the CPU list then in force ("0-15"). Where the
/// kernel tells nothing or nothing overlaps, the binding stays as it was.
std::string bind_near_pci_device(const std::string& pci_bus_id);

/// Binds this process to one of its allowed CPUs, the `index`-th modulo their count. Returns as
/// above.
std::string bind_to_cpu(int index);

}  // namespace linkgain
