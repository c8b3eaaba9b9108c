#include "linkgain/telemetry/nvml.hpp"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "nvml_library.hpp"

namespace linkgain {
namespace {

/// Names another library to load, for tests and for drivers installed in unusual places.
constexpr const char* kLibraryVariable = "LINKGAIN_NVML_LIBRARY";
constexpr const char* kLibraryName = "libnvidia-ml.so.1";

std::string library_name() {
  const char* name = std::getenv(kLibraryVariable);
  return name != nullptr && *name != '\0' ? name : kLibraryName;
}

/// Returns whether the name is no regular file but a pipe, say, which would be waited for. What is
/// not there dlopen() says itself, which looks for a name without a folder.
bool is_no_regular_file(const std::string& name) {
  std::error_code error;
  return name.find('/') != std::string::npos && std::filesystem::exists(name, error) &&
         !std::filesystem::is_regular_file(name, error);
}

}  // namespace

std::shared_ptr<Nvml> Nvml::open(std::string* reason) {
  std::string why;
  const std::string name = library_name();
  std::unique_ptr<NvmlLibrary> library;
  if (is_no_regular_file(name)) {
    why = name + " is no regular file";
  } else {
    library = NvmlLibrary::load(name, why);
  }
  if (!library) {
    if (reason != nullptr) {
      *reason = why;
    }
    return nullptr;
  }
  return std::shared_ptr<Nvml>(new Nvml(std::move(library)));
}

Nvml::Nvml(std::unique_ptr<NvmlLibrary> library) : library_(std::move(library)) {}

Nvml::~Nvml() = default;

std::optional<std::string> Nvml::driver_version() const {
  nvml_api::Text text{};
  if (library_->driver_version(text.data(), text.size()) != nvml_api::kSuccess) {
    return std::nullopt;
  }
  return text.data();
}

int Nvml::device_count() const {
  unsigned int count = 0;
  return library_->device_count(&count) == nvml_api::kSuccess ? static_cast<int>(count) : 0;
}

std::optional<Nvml::Device> Nvml::device_by_index(int index, std::string* reason) const {
  nvml_api::Handle handle = nullptr;
  const nvml_api::Result result =
      library_->handle_by_index(static_cast<unsigned int>(index), &handle);
  if (result == nvml_api::kSuccess) {
    return Device(library_.get(), handle);
  }
  if (reason != nullptr) {
    *reason = library_->why(library_->handle_by_index, result);
  }
  return std::nullopt;
}

std::optional<Nvml::Device> Nvml::device_by_pci_bus_id(const std::string& pci_bus_id) const {
  nvml_api::Handle handle = nullptr;
  if (library_->handle_by_pci_bus_id(pci_bus_id.c_str(), &handle) != nvml_api::kSuccess) {
    return std::nullopt;
  }
  return Device(library_.get(), handle);
}

}  // namespace linkgain
