#include "linkgain/core/option_parsers.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "linkgain/core/errors.hpp"
#include "linkgain/core/names.hpp"

namespace linkgain {
namespace {

/// A device or rank number; absent where the text is none.
std::optional<int> small_number(std::string_view text) {
  constexpr int kMost = 9999;
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (!whole || number < 0 || number > kMost) return std::nullopt;
  return number;
}

}  // namespace

std::vector<int> parse_gpus(std::string_view text) {
  std::vector<int> gpus;
  for (const std::string& part : split(text, ',')) {
    const std::optional<int> number = small_number(part);
    if (!number) {
      throw UsageError(fmt::format("--gpus '{}': '{}' is no GPU number", text, part),
                       "give CUDA device numbers such as 0,1");
    }
    gpus.push_back(*number);
  }
  if (gpus.empty()) throw UsageError("--gpus names no GPU", "give CUDA device numbers such as 0,1");
  return gpus;
}

Pair parse_pair(std::string_view text) {
  const std::vector<std::string> parts = split(text, '-');
  const std::optional<int> from = parts.size() == 2 ? small_number(parts[0]) : std::nullopt;
  const std::optional<int> to = parts.size() == 2 ? small_number(parts[1]) : std::nullopt;
  if (!from || !to) throw UsageError(fmt::format("--pair '{}' is not two ranks such as 0-1", text));
  return {*from, *to, false};
}

}  // namespace linkgain
