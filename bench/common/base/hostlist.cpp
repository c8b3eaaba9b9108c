#include "linkgain/base/hostlist.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <map>
#include <optional>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"

namespace linkgain {
namespace {

constexpr std::size_t kMostHosts = 100'000;
constexpr std::size_t kMostDigits = 9;

UsageError no_hostlist(std::string_view text, std::string_view why) {
  return UsageError(fmt::format("'{}' is no list of hosts: {}", text, why),
                    "give one such as node[01-16],login1");
}

std::optional<std::int64_t> number_of(std::string_view digits) {
  if (digits.size() > kMostDigits || digits.starts_with('-')) return std::nullopt;
  return whole_number<std::int64_t>(digits);
}

/// Expands "01-03" to 01, 02, 03; "7" as 7.
std::vector<std::string> expand_range(std::string_view item, std::string_view range) {
  const std::size_t dash = range.find('-');
  const std::string_view from = range.substr(0, dash);
  const std::string_view to = dash == std::string_view::npos ? from : range.substr(dash + 1);
  const auto first = number_of(from);
  const auto last = number_of(to);
  if (!first || !last || *last < *first)
    throw no_hostlist(item, fmt::format("'{}' is no range", range));
  if (static_cast<std::size_t>(*last - *first) >= kMostHosts)
    throw no_hostlist(item, "it is too long");
  std::vector<std::string> numbers;
  for (std::int64_t number = *first; number <= *last; ++number) {
    numbers.push_back(fmt::format("{:0{}}", number, from.size()));
  }
  return numbers;
}

/// Expands one item, of which every bracket multiplies the names.
std::vector<std::string> expand_item(std::string_view item) {
  const std::size_t open = item.find('[');
  const std::size_t close = item.find(']');
  if (open == std::string_view::npos) {
    if (close != std::string_view::npos) throw no_hostlist(item, "a bracket is not opened");
    return {std::string(item)};
  }
  if (close == std::string_view::npos || close < open)
    throw no_hostlist(item, "a bracket is not closed");
  const std::vector<std::string> tails = expand_item(item.substr(close + 1));
  std::vector<std::string> names;
  for (const std::string& range : split(item.substr(open + 1, close - open - 1), ',')) {
    for (const std::string& number : expand_range(item, range)) {
      for (const std::string& tail : tails) {
        if (names.size() >= kMostHosts) throw no_hostlist(item, "it is too long");
        names.push_back(fmt::format("{}{}{}", item.substr(0, open), number, tail));
      }
    }
  }
  if (names.empty()) throw no_hostlist(item, "a bracket is empty");
  return names;
}

/// A name cut before and after its last digits.
struct NumberedName {
  std::string head;
  std::string digits;
  std::string tail;
};

NumberedName cut(const std::string& name) {
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  std::size_t end = name.size();
  while (end > 0 && !is_digit(name[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && is_digit(name[begin - 1]) && end - begin < kMostDigits) --begin;
  return {name.substr(0, begin), name.substr(begin, end - begin), name.substr(end)};
}

/// Writes ascending numbers of one width as "01-03,07".
std::string ranges_of(const std::vector<std::int64_t>& numbers, std::size_t width) {
  std::vector<std::string> ranges;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    const std::string first = fmt::format("{:0{}}", numbers[i], width);
    ranges.push_back(last == i ? first : fmt::format("{}-{:0{}}", first, numbers[last], width));
    i = last + 1;
  }
  return fmt::format("{}", fmt::join(ranges, ","));
}

}  // namespace

std::vector<std::string> expand_hostlist(std::string_view text) {
  std::vector<std::string> hosts;
  std::string item;
  int depth = 0;
  const auto take = [&] {
    if (item.empty()) return;
    for (std::string& host : expand_item(item)) hosts.push_back(std::move(host));
    if (hosts.size() > kMostHosts) throw no_hostlist(item, "it is too long");
    item.clear();
  };
  for (const char c : text) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    const bool separates =
        std::isspace(static_cast<unsigned char>(c)) != 0 || (c == ',' && depth <= 0);
    if (separates) {
      take();
    } else {
      item += c;
    }
  }
  take();
  return hosts;
}

bool is_host_name(std::string_view name) {
  constexpr std::size_t kMostCharacters = 253;  // RFC 1035
  constexpr std::array<std::string_view, 4> kWords{"all", "default", "localhost", "none"};
  const auto is_plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  const std::string_view label = name.substr(0, name.find('.'));
  const bool is_word = std::ranges::any_of(
      kWords, [&](std::string_view word) { return std::ranges::equal(label, word, same); });
  return !name.empty() && name.size() <= kMostCharacters && is_plain(name.front()) && !is_word &&
         std::ranges::all_of(
             name, [&](char c) { return is_plain(c) || c == '.' || c == '-' || c == '_'; });
}

std::string compress_hostlist(std::vector<std::string> hosts) {
  std::ranges::sort(hosts);
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  // By all that must be alike: head, tail and width.
  std::map<std::tuple<std::string, std::string, std::size_t>, std::vector<std::int64_t>> groups;
  std::vector<std::string> items;
  for (const std::string& host : hosts) {
    const NumberedName name = cut(host);
    if (name.digits.empty()) {
      items.push_back(host);
    } else {
      groups[{name.head, name.tail, name.digits.size()}].push_back(*number_of(name.digits));
    }
  }
  for (auto& [key, numbers] : groups) {
    const auto& [head, tail, width] = key;
    std::ranges::sort(numbers);
    const std::string ranges = ranges_of(numbers, width);
    items.push_back(numbers.size() == 1 ? head + ranges + tail
                                        : fmt::format("{}[{}]{}", head, ranges, tail));
  }
  std::ranges::sort(items);
  return fmt::format("{}", fmt::join(items, ","));
}

}  // namespace linkgain
