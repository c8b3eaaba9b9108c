#include "linkgain/telemetry/tuning_log.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>

#include "log_files.hpp"

namespace linkgain {
namespace {

/// Takes a decimal number without sign.
std::optional<std::int64_t> take_number(std::string_view& text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front())) == 0) {
    return std::nullopt;
  }
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data(), end, number);
  if (status != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  return number;
}

/// Takes a word and the space after it, without which it may have been cut; empty where there is
/// none.
std::string_view take_word(std::string_view& text) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos) return {};
  const std::string_view word = text.substr(0, space);
  text.remove_prefix(space + 1);
  return word;
}

bool is_name(std::string_view word) {
  return !word.empty() && std::isalpha(static_cast<unsigned char>(word.front())) != 0 &&
         std::all_of(word.begin(), word.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

/// Takes a name, in capitals; empty for "Unknown" and for everything that is none.
std::string take_name(std::string_view& text) {
  const std::string_view word = take_word(text);
  if (!is_name(word)) return {};
  std::string upper;
  std::transform(word.begin(), word.end(), std::back_inserter(upper),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return upper == "UNKNOWN" ? std::string{} : upper;
}

/// Takes a collective's name by ncclFuncToString() and its colon; absent where there is none.
std::optional<OperationKind> take_operation(std::string_view& message) {
  using Name = std::pair<std::string_view, OperationKind>;
  static constexpr std::array kCollectives{
      Name{"AllReduce: ", OperationKind::all_reduce},
      Name{"AllGather: ", OperationKind::all_gather},
      Name{"ReduceScatter: ", OperationKind::reduce_scatter},
      Name{"Broadcast: ", OperationKind::broadcast},
      Name{"Reduce: ", OperationKind::reduce},
  };
  for (const auto& [name, operation] : kCollectives) {
    if (take(message, name)) return operation;
  }
  return std::nullopt;
}

/// "AllReduce: 8 Bytes -> Algo RING proto LL channel..."
std::optional<TunedCall> read_message(std::string_view message) {
  const std::optional<OperationKind> operation = take_operation(message);
  if (!operation) return std::nullopt;
  TunedCall call;
  call.operation = *operation;
  const std::optional<std::int64_t> size = take_number(message);
  if (!size || !take(message, " Bytes -> Algo ")) return std::nullopt;
  call.size = Bytes{*size};
  call.plan.algorithm = take_name(message);
  if (!take(message, "proto ")) return std::nullopt;
  call.plan.protocol = take_name(message);
  if (call.plan.algorithm.empty() || call.plan.protocol.empty()) return std::nullopt;
  return call;
}

/// Other output may stand before the line's beginning, on the same line.
std::optional<TunedCall> read_line(std::string_view line) {
  constexpr std::string_view kMark = " NCCL INFO ";
  const std::size_t mark = line.rfind(kMark);
  if (mark == std::string_view::npos) return std::nullopt;
  return read_message(line.substr(mark + kMark.size()));
}

/// The size that NCCL logs for a case.
Bytes logged_size(const Case& c) {
  const bool part =
      c.operation == OperationKind::all_gather || c.operation == OperationKind::reduce_scatter;
  return part ? Bytes{c.size.value / c.ranks} : c.size;
}

}  // namespace

std::vector<TunedCall> parse_tuning_lines(std::string_view log) {
  std::vector<TunedCall> calls;
  for (std::size_t end = log.find('\n'); end != std::string_view::npos; end = log.find('\n')) {
    if (const auto call = read_line(log.substr(0, end))) calls.push_back(*call);
    log.remove_prefix(end + 1);
  }
  return calls;
}

TransferPlan plan_of(const Case& c, const std::vector<TunedCall>& calls) {
  if (!has_algorithm(c.operation)) return default_plan(c);
  const auto last = std::find_if(calls.rbegin(), calls.rend(), [&](const TunedCall& call) {
    return call.operation == c.operation && call.size == logged_size(c);
  });
  return last != calls.rend() ? last->plan : default_plan(c);
}

}  // namespace linkgain
