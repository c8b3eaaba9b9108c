#include "nvml_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <system_error>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/standard_streams.hpp"

namespace linkgain {
namespace {

using nvml_api::FieldValue;
using nvml_api::ValueType;

Reading<std::int64_t> to_integer(const FieldValue& answer) {
  switch (answer.type) {
    case ValueType::floating:
      return static_cast<std::int64_t>(answer.value.floating);
    case ValueType::unsigned_int:
      return std::int64_t{answer.value.unsigned_int};
    case ValueType::unsigned_long:
      return static_cast<std::int64_t>(answer.value.unsigned_long);
    case ValueType::unsigned_long_long:
      return static_cast<std::int64_t>(answer.value.unsigned_long_long);
    case ValueType::signed_long_long:
      return std::int64_t{answer.value.signed_long_long};
    case ValueType::signed_int:
      return std::int64_t{answer.value.signed_int};
    case ValueType::unsigned_short:
      return std::int64_t{answer.value.unsigned_short};
  }
  return Missing{
      fmt::format("the driver's value is of a type not known to this version of linkgain ({})",
                  static_cast<int>(answer.type))};
}

void* open_library(const std::string& name, DriverWatch& watch) {
  const DriverWatch::Call call(watch, "dlopen");
  return dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
}

/// Says what to do where NVML does not start; empty where nothing particular is known.
std::string advice_for_start(nvml_api::Result result) {
  switch (result) {
    case nvml_api::kNoPermission:
      return "have the user reach the driver's device files (ls -l /dev/nvidia*), or start "
             "linkgain "
             "as root";
    case nvml_api::kDriverNotLoaded:
      return "load the driver's module (modprobe nvidia; dmesg says why where that fails), after "
             "an "
             "update of kernel or driver restart the machine, or install the driver";
    case nvml_api::kBlockedBySystem:
    case nvml_api::kUnknownError:
      return "in a container, restart it: the system took its GPUs away, as systemctl "
             "daemon-reload does; else load the driver's module again or restart the machine, and "
             "see dmesg";
    case nvml_api::kVersionMismatch:
      return "restart the machine, or unload the driver's modules and load them again: the driver "
             "was updated, and the old one is still loaded; in a container, its NVML must be that "
             "of the host's driver";
    default:
      return {};
  }
}

}  // namespace

DriverWatch::Call::Call(DriverWatch& watch, const char* function)
    : watch_(watch), function_(function), start_(std::chrono::steady_clock::now()) {
  const std::lock_guard lock(watch_.mutex_);
  watch_.calls_.push_back(this);
}

DriverWatch::Call::~Call() {
  const std::lock_guard lock(watch_.mutex_);
  std::erase(watch_.calls_, this);
}

DriverWatch::DriverWatch(Seconds limit) : limit_(limit) {
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) { look(stop); });
  } catch (const std::system_error&) {
    return;
  }
}

void DriverWatch::look(const std::stop_token& stop) {
  const std::chrono::duration<double> limit(limit_.value);
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    changed_.wait_for(lock, stop, limit / 4, [] { return false; });
    for (const Call* call : calls_) {
      if (std::chrono::steady_clock::now() - call->start_ < limit) continue;
      print_message(stderr,
                    fmt::format("linkgain: the NVIDIA driver did not answer {} for {:.0f} s: "
                                "it hangs, as nvidia-smi would\n"
                                "          dmesg says why, perhaps after an Xid; its GPUs "
                                "need a reset, or the machine a restart\n",
                                call->function_, limit_.value));
      ::_exit(static_cast<int>(ExitCode::machine_cannot));
    }
  }
}

void NvmlLibrary::Closer::operator()(void* object) const noexcept { dlclose(object); }

NvmlLibrary::NvmlLibrary(const std::string& file, Seconds limit)
    : watch_(limit), object_(open_library(file, watch_)) {}

void* NvmlLibrary::find(const char* symbol) const {
  return object_ ? dlsym(object_.get(), symbol) : nullptr;
}

std::unique_ptr<NvmlLibrary> NvmlLibrary::load(const std::string& name, std::string& reason,
                                               std::string& advice, Seconds limit) {
  std::unique_ptr<NvmlLibrary> library(new NvmlLibrary(name, limit));
  if (!library->object_) {
    const char* error = dlerror();
    reason = fmt::format("the NVIDIA driver's NVML library could not be loaded: {}",
                         error != nullptr ? error : name);
    return nullptr;
  }
  if (!library->init.found()) {
    reason = fmt::format("{} has no nvmlInit_v2: it is no NVML, or an unusably old one", name);
    return nullptr;
  }
  const nvml_api::Result result = library->init();
  if (result != nvml_api::kSuccess) {
    reason = fmt::format("NVML cannot start: {}", library->error_text(result));
    advice = advice_for_start(result);
    return nullptr;
  }
  library->initialised_ = true;
  return library;
}

NvmlLibrary::~NvmlLibrary() {
  if (initialised_) {
    shutdown();
  }
}

std::string NvmlLibrary::error_text(nvml_api::Result result) const {
  const auto text_of = reinterpret_cast<const char* (*)(nvml_api::Result)>(find("nvmlErrorString"));
  const char* text = text_of != nullptr ? text_of(result) : nullptr;
  return text != nullptr ? fmt::format("{} (NVML error {})", text, result)
                         : fmt::format("NVML error {}", result);
}

WhyMissing NvmlLibrary::kind_of(nvml_api::Result result) {
  if (result == nvml_api::kNotSupported) return WhyMissing::unsupported;
  return result == nvml_api::kGpuIsLost ? WhyMissing::lost : WhyMissing::other;
}

std::string NvmlLibrary::lacks(const char* symbol) {
  return fmt::format("this driver's NVML has no {}", symbol);
}

std::vector<Reading<std::int64_t>> NvmlLibrary::fields(
    nvml_api::Handle device, std::initializer_list<FieldName> names) const {
  std::vector<FieldValue> answers;
  for (const FieldName& asked : names) {
    answers.push_back({.field = asked.id, .scope = asked.scope});
  }
  const nvml_api::Result result =
      field_values(device, static_cast<int>(answers.size()), answers.data());
  std::vector<Reading<std::int64_t>> values;
  for (const FieldValue& answer : answers) {
    const nvml_api::Result outcome = result != nvml_api::kSuccess ? result : answer.result;
    values.push_back(outcome == nvml_api::kSuccess
                         ? to_integer(answer)
                         : Missing{why(field_values, outcome), kind_of(outcome)});
  }
  return values;
}

Reading<std::int64_t> NvmlLibrary::field(nvml_api::Handle device, FieldName asked) const {
  return fields(device, {asked}).front();
}

}  // namespace linkgain
