#pragma once

#include <memory>
#include <optional>
#include <string>

#include "linkgain/telemetry/nvml.hpp"
#include "nvml_api.hpp"

namespace linkgain {

/// The loaded library and its functions. A function that the library lacks answers
/// kFunctionNotFound, as NVML itself does, so that callers need one check only.
struct Nvml::Library {
  /// A function of the library, or none.
  template <typename... Arguments>
  class Function {
   public:
    nvml_api::Result operator()(Arguments... arguments) const {
      return address_ != nullptr ? address_(arguments...) : nvml_api::kFunctionNotFound;
    }
    bool found() const { return address_ != nullptr; }

   private:
    friend struct Library;
    nvml_api::Result (*address_)(Arguments...) = nullptr;
  };

  /// Loads the library called `name` (a file name for dlopen) and initialises it. Where that fails
  /// the result is null and `reason` says why.
  static std::unique_ptr<Library> load(const std::string& name, std::string& reason);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  /// The value of one field, converted to an integer.
  std::optional<long long> field(nvml_api::Handle device, unsigned int id,
                                 unsigned int scope) const;

  Function<> init;
  Function<> shutdown;
  Function<char*, unsigned int> driver_version;
  Function<unsigned int*> device_count;
  Function<unsigned int, nvml_api::Handle*> handle_by_index;
  Function<const char*, nvml_api::Handle*> handle_by_pci_bus_id;
  Function<const char*, nvml_api::Handle*> handle_by_uuid;
  Function<nvml_api::Handle, char*, unsigned int> name;
  Function<nvml_api::Handle, char*, unsigned int> uuid;
  Function<nvml_api::Handle, nvml_api::Memory*> memory_info;
  Function<nvml_api::Handle, nvml_api::ComputeMode*> compute_mode;
  Function<nvml_api::Handle, nvml_api::TemperatureSensor, unsigned int*> temperature;
  Function<nvml_api::Handle, unsigned int*> power_usage;
  Function<nvml_api::Handle, nvml_api::ClockType, unsigned int*> clock_info;
  Function<nvml_api::Handle, unsigned long long*> clock_event_reasons;
  Function<nvml_api::Handle, unsigned int, nvml_api::EnableState*> nvlink_state;
  Function<nvml_api::Handle, unsigned int, unsigned int*> nvlink_version;
  Function<nvml_api::Handle, nvml_api::Handle, nvml_api::P2pCapability, nvml_api::P2pStatus*>
      p2p_status;
  Function<nvml_api::Handle, unsigned int*> pcie_generation;
  Function<nvml_api::Handle, unsigned int*> pcie_width;
  Function<nvml_api::Handle, int, nvml_api::FieldValue*> field_values;

 private:
  struct Closer {
    void operator()(void* object) const noexcept;
  };

  Library() = default;
  void resolve_all();
  template <typename... Arguments>
  void resolve(Function<Arguments...>& function, const char* symbol);
  std::string describe(nvml_api::Result result) const;

  std::unique_ptr<void, Closer> object_;
  bool initialised_ = false;
};

}  // namespace linkgain
