#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "linkgain/base/reading.hpp"
#include "linkgain/base/units.hpp"
#include "nvml_api.hpp"

namespace linkgain {

/// Ends this process where a call into the driver's library does not come back, as after some
/// faults of a GPU: it would wait for ever, deaf to signals. It says on standard error which call
/// it was and leaves with status 3. Jobs end with it, and a run's journal is on the disk.
class DriverWatch {
 public:
  /// Far more than the driver takes to wake all GPUs of a node.
  static constexpr Seconds kLimit{60.0};

  /// A call that is under way while this lives; from any thread. `function` outlives it.
  class Call {
   public:
    Call(DriverWatch& watch, const char* function);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    friend class DriverWatch;
    DriverWatch& watch_;
    const char* function_;
    std::chrono::steady_clock::time_point start_;
  };

  /// Begins to watch; nothing is watched if this process may start no thread.
  explicit DriverWatch(Seconds limit);

 private:
  void look(const std::stop_token& stop);

  Seconds limit_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<const Call*> calls_;
  std::jthread thread_;
};

/// The loaded library and its functions. A function that the library lacks answers
/// kFunctionNotFound, as NVML itself does, so that callers need one check only.
struct NvmlLibrary {
  /// A function of the library, or none. What does not come back ends the process (DriverWatch).
  template <typename... Arguments>
  class Function {
   public:
    nvml_api::Result operator()(Arguments... arguments) const {
      if (address_ == nullptr) return nvml_api::kFunctionNotFound;
      const DriverWatch::Call call(*watch_, symbol_);
      return address_(arguments...);
    }
    bool found() const { return address_ != nullptr; }
    /// Returns the function's name, "nvmlDeviceGetName"
    const char* symbol() const { return symbol_; }

   private:
    friend struct NvmlLibrary;
    nvml_api::Result (*address_)(Arguments...) = nullptr;
    const char* symbol_ = "";
    DriverWatch* watch_ = nullptr;
  };

  /// A field's number and which part of the device it is asked of (a link, or kAllLinks).
  struct FieldName {
    unsigned int id = 0;
    unsigned int scope = 0;
  };

  /// Loads the library called `name` (a file name for dlopen) and initialises it. Where that fails
  /// the result is null and `reason` says why. No call may take longer than `limit`.
  static std::unique_ptr<NvmlLibrary> load(const std::string& name, std::string& reason,
                                           Seconds limit = DriverWatch::kLimit);
  ~NvmlLibrary();
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;

  /// Returns why there is no value where `function` answered `result`: the library lacks it, or
  /// NVML's own words with the code.
  template <typename... Arguments>
  std::string why(const Function<Arguments...>& function, nvml_api::Result result) const {
    return function.found() ? describe(result) : lacks(function.symbol());
  }

  /// Returns the value that function(arguments..., &value) gives.
  template <typename T, typename... Parameters, typename... Arguments>
  Reading<T> read(const Function<Parameters...>& function, Arguments... arguments) const {
    T value{};
    const nvml_api::Result result = function(arguments..., &value);
    if (result != nvml_api::kSuccess) {
      return Reading<T>::missing(why(function, result), kind_of(result));
    }
    return value;
  }

  /// Returns the values of several fields, asked for in one call, as integers.
  std::vector<Reading<std::int64_t>> fields(nvml_api::Handle device,
                                            std::initializer_list<FieldName> names) const;
  Reading<std::int64_t> field(nvml_api::Handle device, FieldName asked) const;

  Function<> init;
  Function<> shutdown;
  Function<char*, unsigned int> driver_version;
  Function<unsigned int*> device_count;
  Function<unsigned int, nvml_api::Handle*> handle_by_index;
  Function<const char*, nvml_api::Handle*> handle_by_pci_bus_id;
  Function<nvml_api::Handle, char*, unsigned int> name;
  Function<nvml_api::Handle, char*, unsigned int> uuid;
  Function<nvml_api::Handle, nvml_api::PciInfo*> pci_info;
  Function<nvml_api::Handle, nvml_api::Memory*> memory_info;
  Function<nvml_api::Handle, nvml_api::Utilization*> utilization;
  Function<nvml_api::Handle, unsigned int*, nvml_api::ProcessInfo*> compute_processes;
  Function<unsigned int, char*, unsigned int> process_name;
  Function<nvml_api::Handle, nvml_api::ComputeMode*> compute_mode;
  Function<nvml_api::Handle, nvml_api::EnableState*, nvml_api::EnableState*> mig_mode;
  Function<nvml_api::Handle, nvml_api::TemperatureSensor, unsigned int*> temperature;
  Function<nvml_api::Handle, nvml_api::TemperatureThreshold, unsigned int*> temperature_threshold;
  Function<nvml_api::Handle, nvml_api::EnableState*> persistence_mode;
  Function<nvml_api::Handle, unsigned int*> power_usage;
  Function<nvml_api::Handle, unsigned int*> power_limit;
  Function<nvml_api::Handle, unsigned int*> default_power_limit;
  Function<nvml_api::Handle, unsigned int*, unsigned int*> power_limit_constraints;
  Function<nvml_api::Handle, nvml_api::ClockType, unsigned int*> clock_info;
  Function<nvml_api::Handle, nvml_api::ClockType, unsigned int*> most_clock;
  Function<nvml_api::Handle, nvml_api::ClockType, unsigned int*> application_clock;
  Function<nvml_api::Handle, nvml_api::ClockType, unsigned int*> most_custom_boost_clock;
  Function<nvml_api::Handle, unsigned long long*> clock_event_reasons;
  Function<nvml_api::Handle, unsigned int, nvml_api::EnableState*> nvlink_state;
  Function<nvml_api::Handle, unsigned int, unsigned int*> nvlink_version;
  Function<nvml_api::Handle, unsigned int, nvml_api::NvlinkDeviceType*> nvlink_remote_type;
  Function<nvml_api::Handle, unsigned int, nvml_api::PciInfo*> nvlink_remote_pci_info;
  Function<nvml_api::Handle, unsigned int, nvml_api::NvlinkErrorCounter, unsigned long long*>
      nvlink_error_counter;
  Function<nvml_api::Handle, unsigned int*, unsigned int*, unsigned int*, unsigned int*>
      remapped_rows;
  Function<nvml_api::Handle, nvml_api::Handle, nvml_api::P2pCapability, nvml_api::P2pStatus*>
      p2p_status;
  Function<nvml_api::Handle, nvml_api::Handle, nvml_api::TopologyLevel*> common_ancestor;
  Function<nvml_api::Handle, unsigned int*> pcie_generation;
  Function<nvml_api::Handle, unsigned int*> pcie_width;
  Function<nvml_api::Handle, unsigned int*> most_pcie_generation;
  Function<nvml_api::Handle, unsigned int*> most_pcie_width;
  Function<nvml_api::Handle, unsigned int*> pcie_replays;
  Function<nvml_api::Handle, int, nvml_api::FieldValue*> field_values;

 private:
  struct Closer {
    void operator()(void* object) const noexcept;
  };

  explicit NvmlLibrary(Seconds limit) : watch_(limit) {}
  void resolve_all();
  void resolve_state();
  void resolve_links();
  template <typename... Arguments>
  void resolve(Function<Arguments...>& function, const char* symbol);
  std::string describe(nvml_api::Result result) const;
  static WhyMissing kind_of(nvml_api::Result result);
  static std::string lacks(const char* symbol);

  const char* (*error_string_)(nvml_api::Result) = nullptr;
  std::unique_ptr<void, Closer> object_;
  bool initialised_ = false;
  DriverWatch watch_;
};

/// Returns the reading through `function`; what is missing stays so, with its reason.
template <typename To, typename From, typename Function>
Reading<To> convert(const Reading<From>& from, const Function& function) {
  return from.measured() ? Reading<To>(function(from.value())) : Reading<To>::missing(from);
}

/// Turns NVML's counts into numbers that can be subtracted.
inline Reading<int> to_int(const Reading<unsigned int>& from) {
  return convert<int>(from, [](unsigned int value) { return static_cast<int>(value); });
}

}  // namespace linkgain
