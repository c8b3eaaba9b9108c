#include "rank_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace linkgain {
namespace {

constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();

template <typename T>
std::optional<T> present(double value) {
  if (std::isnan(value)) return std::nullopt;
  return static_cast<T>(value);
}

/// Returns infinity for a loss that is no number, which must not look like one that is absent.
double present_or_infinite(const std::optional<double>& loss) {
  if (!loss) return kAbsent;
  return std::isnan(*loss) ? std::numeric_limits<double>::infinity() : *loss;
}

}  // namespace

std::vector<RankInfo> gather_ranks(Session& session, const RankInfo& own) {
  // The protocol's own encoding carries a rank's description: a hello with one rank in it.
  protocol::HelloReply carrier;
  carrier.machine.ranks = {own};
  std::vector<RankInfo> ranks;
  for (const std::string& text : session.gather(protocol::encode(protocol::Reply{carrier}))) {
    const protocol::Reply reply = protocol::decode_reply(text);
    ranks.push_back(std::get<protocol::HelloReply>(reply).machine.ranks.front());
  }
  return ranks;
}

protocol::RunReply gather_run(Session& session, const RankBatch& own) {
  constexpr std::size_t kFields = 7;
  const Health& health = own.health;
  const std::vector<double> all = session.gather(std::vector<double>{
      own.seconds_per_operation.value_or(kAbsent), present_or_infinite(own.loss),
      health.temperature_c ? static_cast<double>(*health.temperature_c) : kAbsent,
      health.power_w.value_or(kAbsent),
      health.sm_clock_mhz ? static_cast<double>(*health.sm_clock_mhz) : kAbsent,
      health.clock_event_reasons ? static_cast<double>(*health.clock_event_reasons) : kAbsent,
      own.health_seconds});
  protocol::RunReply reply;
  std::vector<double> losses;
  for (std::size_t i = 0; i + kFields <= all.size(); i += kFields) {
    reply.seconds.push_back(present<double>(all[i]));
    if (!std::isnan(all[i + 1])) losses.push_back(all[i + 1]);
    reply.health.push_back({present<int>(all[i + 2]), present<double>(all[i + 3]),
                            present<int>(all[i + 4]), present<std::uint64_t>(all[i + 5])});
    reply.health_seconds = std::max(reply.health_seconds, all[i + 6]);
  }
  const double sum = std::accumulate(losses.begin(), losses.end(), 0.0);
  if (!losses.empty()) reply.loss = sum / static_cast<double>(losses.size());
  return reply;
}

protocol::CountersReply gather_counters(Session& session, const LinkCounters& own,
                                        const AbsentCounters& why) {
  constexpr std::size_t kFields = 4;
  const auto number = [](const std::optional<std::int64_t>& value) {
    return value ? static_cast<double>(*value) : kAbsent;
  };
  // Exact: a double holds integers up to 2^53, 9 PB.
  const std::vector<double> all =
      session.gather(std::vector<double>{number(own.nvlink_sent), number(own.nvlink_received),
                                         number(own.pcie_sent), number(own.pcie_received)});
  protocol::CountersReply reply;
  for (std::size_t i = 0; i + kFields <= all.size(); i += kFields) {
    reply.ranks.push_back({present<std::int64_t>(all[i]), present<std::int64_t>(all[i + 1]),
                           present<std::int64_t>(all[i + 2]), present<std::int64_t>(all[i + 3])});
  }
  const auto first_reason = [&](bool has, const std::string& reason) {
    std::optional<std::string> text;
    if (!has) text = fmt::format("rank {}: {}", session.rank(), reason);
    return session.first_text(text).value_or("");
  };
  reply.reason = first_reason(own.nvlink_sent.has_value(), why.nvlink);
  reply.pcie_reason = first_reason(own.pcie_sent && own.pcie_received, why.pcie);
  return reply;
}

protocol::HostCopyReply gather_host_copy(Session& session,
                                         const std::optional<HostCopyRates>& own) {
  constexpr std::size_t kFields = 4;
  const bool alone = own && own->alone;
  const std::vector<double> all = session.gather(std::vector<double>{
      own ? own->to_gpu_gb_per_s : kAbsent, own ? own->from_gpu_gb_per_s : kAbsent,
      alone ? own->alone->to_gpu_gb_per_s : kAbsent,
      alone ? own->alone->from_gpu_gb_per_s : kAbsent});
  protocol::HostCopyReply reply;
  for (std::size_t i = 0; i + kFields <= all.size(); i += kFields) {
    reply.ranks.emplace_back();
    if (std::isnan(all[i])) continue;
    HostCopyRates& rates = reply.ranks.back().emplace(HostCopyRates{all[i], all[i + 1]});
    if (!std::isnan(all[i + 2])) rates.alone = CopyRates{all[i + 2], all[i + 3]};
  }
  return reply;
}

Verification gather_verification(Session& session, const Verification& own) {
  const std::vector<double> all = session.gather(
      std::vector<double>{static_cast<double>(own.checked), static_cast<double>(own.wrong),
                          own.largest_error, own.bound});
  std::optional<std::string> wrong;
  if (own.wrong > 0) wrong = fmt::format("rank {}, {}", session.rank(), own.first_wrong);
  const std::optional<std::string> first = session.first_text(wrong);
  Verification total;
  for (std::size_t i = 0; i + 4 <= all.size(); i += 4) {
    total.checked += static_cast<std::int64_t>(all[i]);
    total.wrong += static_cast<std::int64_t>(all[i + 1]);
    total.largest_error = std::max(total.largest_error, all[i + 2]);
    total.bound = std::max(total.bound, all[i + 3]);
  }
  total.first_wrong = first.value_or("");
  return total;
}

Execution shared_execution(Session& session, Execution own) {
  std::optional<std::string> form;
  if (!own.form.empty()) form = own.form;
  own.form = session.first_text(form).value_or("");
  return own;
}

}  // namespace linkgain
