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

/// By NCCL's numbers (NCCL_ALGO_* and NCCL_PROTO_* in its headers, the same from 2.20 to 2.30).
constexpr std::array<std::string_view, 7> kAlgorithms{
    "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
constexpr std::array<std::string_view, 3> kProtocols{"LL", "LL128", "SIMPLE"};

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

/// A name in capitals, or the one of `names` that a number stands for; empty for "Unknown" and for
/// everything that is neither.
template <std::size_t N>
std::string take_name(std::string_view& text, const std::array<std::string_view, N>& names) {
  std::string_view word = take_word(text);
  if (const auto number = take_number(word)) {
    const bool known = word.empty() && *number < static_cast<std::int64_t>(N);
    return known ? std::string(names[static_cast<std::size_t>(*number)]) : std::string{};
  }
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

/// "8 Bytes -> Algo RING proto LL channel...", with the operation's name before it or without.
std::optional<TunedCall> read_message(std::string_view message) {
  TunedCall call;
  call.operation = take_operation(message);
  const std::optional<std::int64_t> size = take_number(message);
  if (!size || !take(message, " Bytes -> Algo ")) return std::nullopt;
  call.size = Bytes{*size};
  call.of_count = message.empty() || std::isdigit(static_cast<unsigned char>(message.front())) == 0;
  call.plan.algorithm = take_name(message, kAlgorithms);
  if (!take(message, "proto ")) return std::nullopt;
  call.plan.protocol = take_name(message, kProtocols);
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
Bytes logged_size(const Case& c, bool of_count) {
  const bool part =
      c.operation == OperationKind::all_gather || c.operation == OperationKind::reduce_scatter;
  return part && of_count ? Bytes{c.size.value / c.ranks} : c.size;
}

bool has_size_of(const TunedCall& call, const Case& c) {
  return call.size == logged_size(c, call.of_count);
}

/// The plan that all calls without operation of this size share.
std::optional<TransferPlan> unnamed_plan(const Case& c, const std::vector<TunedCall>& calls) {
  std::optional<TransferPlan> plan;
  for (const TunedCall& call : calls) {
    if (call.operation || !has_size_of(call, c)) continue;
    if (plan && *plan != call.plan) return std::nullopt;
    plan = call.plan;
  }
  return plan;
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

std::vector<TunedCall> read_tuning_logs(const std::filesystem::path& directory,
                                        std::string_view prefix) {
  std::vector<TunedCall> calls;
  for (const std::string& log : read_log_files(directory, prefix)) {
    const std::vector<TunedCall> more = parse_tuning_lines(log);
    calls.insert(calls.end(), more.begin(), more.end());
  }
  return calls;
}

TransferPlan plan_of(const Case& c, const std::vector<TunedCall>& calls) {
  if (!has_algorithm(c.operation)) return default_plan(c);
  const auto last = std::find_if(calls.rbegin(), calls.rend(), [&](const TunedCall& call) {
    return call.operation == c.operation && has_size_of(call, c);
  });
  if (last != calls.rend()) return last->plan;
  return unnamed_plan(c, calls).value_or(default_plan(c));
}

}  // namespace linkgain
