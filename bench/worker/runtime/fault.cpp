#include "linkgain/runtime/fault.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <string>

#include "linkgain/base/errors.hpp"

namespace linkgain {
namespace {

std::int64_t parse_number(std::string_view text, std::string_view whole) {
  constexpr std::int64_t kMost = 1'000'000;  // more than there are ranks or batches
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 0 || number > kMost) {
    throw UsageError(fmt::format("LINKGAIN_TEST_FAULT '{}' is not kind@rank[:batch]", whole));
  }
  return number;
}

Fault::Kind parse_kind(std::string_view name) {
  if (name == "corrupt") return Fault::Kind::corrupt;
  if (name == "stale") return Fault::Kind::stale;
  if (name == "die") return Fault::Kind::die;
  if (name == "hang") return Fault::Kind::hang;
  if (name == "stop") return Fault::Kind::stop;
  if (name == "drop") return Fault::Kind::drop;
  if (name == "own-window") return Fault::Kind::own_window;
  throw UsageError(fmt::format(
      "LINKGAIN_TEST_FAULT knows corrupt, stale, die, hang, stop, drop and own-window, not '{}'",
      name));
}

}  // namespace

std::optional<Fault> parse_fault(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const std::size_t at = text.find('@');
  const std::size_t colon = text.find(':');
  Fault fault;
  fault.kind = parse_kind(text.substr(0, at));
  if (at == std::string_view::npos) throw UsageError("LINKGAIN_TEST_FAULT names no rank");
  const std::string_view rank = text.substr(
      at + 1, colon == std::string_view::npos ? std::string_view::npos : colon - at - 1);
  fault.rank = static_cast<int>(parse_number(rank, text));
  if (colon != std::string_view::npos) fault.batch = parse_number(text.substr(colon + 1), text);
  return fault;
}

Spoil spoil_of(const std::optional<Fault>& fault, int rank) {
  if (!fault || fault->rank != rank) return Spoil::nothing;
  if (fault->kind == Fault::Kind::corrupt) return Spoil::bit;
  return fault->kind == Fault::Kind::stale ? Spoil::stale : Spoil::nothing;
}

std::optional<Fault> fault_from_environment() {
  const char* text = std::getenv("LINKGAIN_TEST_FAULT");
  return parse_fault(text ? text : "");
}

}  // namespace linkgain
