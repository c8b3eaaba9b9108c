#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace linkgain {

/// A count of bytes. Never negative in a valid request.
struct Bytes {
  std::int64_t value = 0;
  auto operator<=>(const Bytes&) const = default;
};

struct Seconds {
  double value = 0.0;
  auto operator<=>(const Seconds&) const = default;
};

inline std::optional<double> seconds_of(const std::optional<Seconds>& time) {
  return time ? std::optional(time->value) : std::nullopt;
}

/// Returns value / divisor rounded up; neither is negative, the divisor not zero.
template <std::integral Value, std::integral Divisor>
constexpr std::common_type_t<Value, Divisor> divide_up(Value value, Divisor divisor) {
  return (value + divisor - 1) / divisor;
}

/// Returns the least multiple of `multiple` that is `value`, which is not negative, or more.
constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return divide_up(value, multiple) * multiple;
}

/// No size may be more: it is more than a node's memory, and so little that the sum of all buffers
/// of 1,024 ranks in 16 variants fits into 64 bits.
inline constexpr Bytes kLargestSize{std::int64_t{1} << 46};

/// Reads a size: digits, then nothing, B, K, M, G, T, or KB…TB, KiB…TiB in any letter case. All
/// suffixes are binary: K is 1024. Throws UsageError naming the accepted form; zero is refused, and
/// so is more than kLargestSize.
Bytes parse_bytes(std::string_view text);

/// Writes it exact and short, as case names have it: the largest binary unit that divides the
/// value, without a space ("256MiB", "1000B"). parse_bytes() reads it back.
std::string exact_bytes(Bytes bytes);

/// Writes it for people, with a space between number and unit ("256 MiB"); a long number of bytes
/// as the sum that it is near to ("32 MiB + 4 B").
std::string readable_bytes(Bytes bytes);

/// Writes three to four significant digits and a fitting unit: "6.51 us", "39.00 ms", "101.9 s".
std::string readable_time(Seconds time);

/// Writes gigabytes (1e9 bytes) per second: "329.1 GB/s", "0.00122 GB/s".
std::string readable_bandwidth(double gb_per_s);

/// Rounds to so many digits, as an interval is asked for: "1 %", "0.5 %".
std::string percent_of_digits(double share, int digits = 3);

/// Returns "1 round", "2 rounds"
std::string counted(std::int64_t count, std::string_view one, std::string_view many);

/// Returns bytes over time in units of 1e9 bytes per second. Zero time gives zero.
double gigabytes_per_second(Bytes bytes, Seconds time);

}  // namespace linkgain
