#include "linkgain/plan/profile_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "linkgain/base/environment.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"

namespace linkgain {
namespace {

[[noreturn]] void refuse(std::string_view what) {
  throw UsageError(fmt::format("{} is for the command line alone", what),
                   "a profile's file says what is measured; give what names programs, libraries "
                   "and files as options");
}

/// Returns whether a variable chooses transports, algorithms or precisions, by what its name begins
/// with.
bool chooses_how(std::string_view variable) {
  static constexpr std::array<std::string_view, 10> kBegins{
      "NCCL_",         "CUDA_",        "CUBLAS_",      "NVIDIA_TF32_OVERRIDE", "OMPI_MCA_btl",
      "OMPI_MCA_coll", "OMPI_MCA_mtl", "OMPI_MCA_pml", "UCX_NET_DEVICES",      "UCX_TLS"};
  return std::ranges::any_of(kBegins,
                             [&](std::string_view begin) { return variable.starts_with(begin); });
}

/// Returns whether such a variable names a file to be read, opened as a library or written.
bool names_file(std::string_view variable) {
  static constexpr std::array<std::string_view, 7> kParts{"PATH",      "FILE", "PLUGIN",   "LIB",
                                                          "DIRECTORY", "DUMP", "INJECTION"};
  const std::string capitals = upper(variable);
  return capitals.ends_with("DIR") || std::ranges::any_of(kParts, [&](std::string_view part) {
           return capitals.find(part) != std::string::npos;
         });
}

void require_harmless_variant(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return;
  const std::string_view name = text.substr(0, colon);
  std::string key;
  for (const std::string& part : split(text.substr(colon + 1), ',')) {
    // A part without "=" goes on with the value before it.
    if (is_assignment(part)) key = part.substr(0, part.find('='));
    const bool is_path = part.find('/') != std::string::npos;
    const bool harmless = key.empty() || (chooses_how(key) && !names_file(key));
    if (is_path || !harmless) refuse(fmt::format("{}= of variant '{}'", key, name));
  }
}

}  // namespace

void require_harmless(std::string_view name, std::string_view value) {
  const bool is_program = name == "launcher" && value.find('/') != std::string_view::npos;
  if (name == "out" || name == "resume" || is_program) refuse(name);
  if (name == "variant") require_harmless_variant(value);
}

}  // namespace linkgain
