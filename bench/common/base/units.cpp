#include "linkgain/base/units.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

#include "linkgain/base/errors.hpp"

namespace linkgain {
namespace {

struct BinaryUnit {
  std::string_view name;
  std::int64_t bytes;
};

constexpr std::array kBinaryUnits{
    BinaryUnit{"TiB", std::int64_t{1} << 40},
    BinaryUnit{"GiB", std::int64_t{1} << 30},
    BinaryUnit{"MiB", std::int64_t{1} << 20},
    BinaryUnit{"KiB", std::int64_t{1} << 10},
    BinaryUnit{"B", 1},
};

struct TimeUnit {
  std::string_view name;
  double seconds;
};

constexpr std::array kTimeUnits{TimeUnit{"ns", 1e-9}, TimeUnit{"us", 1e-6}, TimeUnit{"ms", 1e-3},
                                TimeUnit{"s", 1.0}};

[[noreturn]] void refuse_size(std::string_view text, std::string_view reason) {
  throw UsageError(
      fmt::format("size '{}' {}: write a whole number from 1 and at most one of "
                  "B, K, M, G, T (8, 64K, 1GiB; K is 1024), at most {}T",
                  text, reason, kLargestSize.value >> 40));
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Returns the bytes that a suffix stands for; 0 where it is none.
std::int64_t suffix_bytes(std::string_view suffix) {
  std::string folded;
  for (const char c : suffix) folded += lower(c);
  if (folded.empty() || folded == "b") return 1;
  const std::string_view tail = std::string_view(folded).substr(1);
  if (!tail.empty() && tail != "b" && tail != "ib") return 0;
  for (const BinaryUnit& unit : kBinaryUnits) {
    if (unit.bytes > 1 && lower(unit.name.front()) == folded.front()) return unit.bytes;
  }
  return 0;
}

std::string format_bytes(Bytes bytes, std::string_view gap) {
  for (const BinaryUnit& unit : kBinaryUnits) {
    if (bytes.value != 0 && bytes.value % unit.bytes == 0) {
      return fmt::format("{}{}{}", bytes.value / unit.bytes, gap, unit.name);
    }
  }
  return fmt::format("{}{}B", bytes.value, gap);
}

/// Writes in fixed notation with three significant digits, counted after rounding, of a value below
/// 1.
std::string three_digits(double value) {
  const std::string scientific = fmt::format("{:.2e}", value);
  const int exponent = std::stoi(scientific.substr(scientific.find('e') + 1));
  return fmt::format("{:.{}f}", value, 2 - exponent);
}

}  // namespace

Bytes parse_bytes(std::string_view text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  if (text.empty() || text.front() == '-') refuse_size(text, "is no size");
  const auto [rest, status] = std::from_chars(text.data(), end, number);
  if (status == std::errc::result_out_of_range) refuse_size(text, "is too large");
  if (status != std::errc{}) refuse_size(text, "is no size");
  const std::int64_t unit =
      suffix_bytes(std::string_view(rest, static_cast<std::size_t>(end - rest)));
  if (unit == 0) refuse_size(text, "is no size");
  if (number == 0) refuse_size(text, "is zero");
  if (number > kLargestSize.value / unit) refuse_size(text, "is too large");
  return Bytes{number * unit};
}

std::string exact_bytes(Bytes bytes) { return format_bytes(bytes, ""); }

std::string readable_bytes(Bytes bytes) {
  constexpr std::int64_t kNear = 1 << 10;
  for (const BinaryUnit& unit : kBinaryUnits) {
    const std::int64_t whole = bytes.value / unit.bytes;
    const std::int64_t more = bytes.value % unit.bytes;
    if (unit.bytes <= kNear || whole == 0 || more == 0) continue;
    if (more < kNear) return fmt::format("{} {} + {} B", whole, unit.name, more);
    if (unit.bytes - more < kNear) {
      return fmt::format("{} {} - {} B", whole + 1, unit.name, unit.bytes - more);
    }
  }
  return format_bytes(bytes, " ");
}

// Writes two decimals below 100 and one from there on: a column of times keeps three to four
// significant digits, so that a difference of 1 % always shows. The borders are compared after
// rounding: what would print as 1000.0 us is 1.00 ms.
std::string readable_time(Seconds time) {
  if (time.value == 0.0) return "0 s";
  std::size_t unit = 0;
  while (unit + 1 < kTimeUnits.size() &&
         std::abs(time.value / kTimeUnits[unit].seconds) >= 999.95) {
    ++unit;
  }
  const double scaled = time.value / kTimeUnits[unit].seconds;
  const int decimals = std::abs(scaled) < 99.995 ? 2 : 1;
  return fmt::format("{:.{}f} {}", scaled, decimals, kTimeUnits[unit].name);
}

// Writes one decimal from 10 up, where it is 1 % or finer; two from 1; below that three significant
// digits, because small messages reach milligigabytes and a fixed number of decimals would show
// zero.
std::string readable_bandwidth(double gb_per_s) {
  const double size = std::abs(gb_per_s);
  if (size == 0.0) return "0 GB/s";
  if (size >= 9.995 || !std::isfinite(size)) return fmt::format("{:.1f} GB/s", gb_per_s);
  if (size >= 1.0) return fmt::format("{:.2f} GB/s", gb_per_s);
  return three_digits(gb_per_s) + " GB/s";
}

std::string percent_of_digits(double share, int digits) {
  const double percent = 100.0 * share;
  if (percent >= std::pow(10.0, digits) - 0.5) return fmt::format("{:.0f} %", percent);
  return fmt::format("{:.{}g} %", percent, digits);
}

std::string counted(std::int64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

double gigabytes_per_second(Bytes bytes, Seconds time) {
  if (time.value <= 0.0) return 0.0;
  return static_cast<double>(bytes.value) / time.value / 1e9;
}

}  // namespace linkgain
