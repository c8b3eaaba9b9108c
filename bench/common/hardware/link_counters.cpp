#include "linkgain/hardware/link_counters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <utility>

#include "linkgain/base/units.hpp"

namespace linkgain {
namespace {

std::optional<std::int64_t> plain_growth(const std::optional<std::int64_t>& before,
                                         const std::optional<std::int64_t>& after) {
  if (!before || !after || *after < *before) return std::nullopt;
  return *after - *before;
}

std::optional<std::int64_t> modular_growth(const std::optional<std::int64_t>& before,
                                           const std::optional<std::int64_t>& after) {
  if (!before || !after) return std::nullopt;
  const std::int64_t difference = (*after - *before) % kPcieModulus;
  return difference < 0 ? difference + kPcieModulus : difference;
}

struct KindRow {
  std::string_view one;
  std::string_view many;
};

constexpr std::array kKinds{
    KindRow{"replay", "replays"},       KindRow{"recovery", "recoveries"},
    KindRow{"CRC error", "CRC errors"}, KindRow{"outage", "outages"},
    KindRow{"replay", "replays"},       KindRow{"Xid error", "Xid errors"},
};

const KindRow& row_of(ErrorKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

template <typename Entries>
auto find(Entries& entries, const ErrorCounter& counter) {
  return std::ranges::find_if(entries, [&](const auto& each) { return each.counter == counter; });
}

}  // namespace

LinkCounters growth(const LinkCounters& before, const LinkCounters& after) {
  return {.nvlink_sent = plain_growth(before.nvlink_sent, after.nvlink_sent),
          .nvlink_received = plain_growth(before.nvlink_received, after.nvlink_received),
          .pcie_sent = modular_growth(before.pcie_sent, after.pcie_sent),
          .pcie_received = modular_growth(before.pcie_received, after.pcie_received)};
}

std::string place_of(const ErrorCounter& counter) {
  if (counter.link) {
    return fmt::format("NVLink {} of GPU {}{}", *counter.link, counter.gpu,
                       counter.peer ? fmt::format(" (to GPU {})", *counter.peer) : "");
  }
  return fmt::format("{}GPU {}", counter.kind == ErrorKind::pcie_replays ? "the PCIe link of " : "",
                     counter.gpu);
}

std::string errors_text(const ErrorCounter& counter, std::int64_t errors) {
  const KindRow& row = row_of(counter.kind);
  return fmt::format("{} of {}", counted(errors, row.one, row.many), place_of(counter));
}

void add_reading(LinkErrors& errors, const ErrorCounts& before, const ErrorCounts& now,
                 double after_s) {
  ++errors.readings;
  for (const ErrorCount& each : now) {
    const auto earlier = find(before, each.counter);
    auto own = find(errors.counters, each.counter);
    if (own == errors.counters.end()) {
      own = errors.counters.insert(own, {each.counter, each.value, 0});
    }
    if (earlier == before.end() || earlier->value >= each.value) continue;
    const std::int64_t growth = each.value - earlier->value;
    own->growth += growth;
    errors.grown.push_back({after_s, each.counter, growth});
  }
}

std::vector<std::string> ErrorReadings::add(std::optional<LinkErrors>& errors, ErrorCounts now,
                                            double after_s) {
  if (now.empty()) return {};
  if (!errors) errors.emplace();  // a run that goes on has some
  const std::size_t known = errors->grown.size();
  add_reading(*errors, last_, now, after_s);
  last_ = std::move(now);
  std::vector<std::string> lines;
  for (std::size_t i = known; i < errors->grown.size(); ++i) {
    const ErrorGrowth& each = errors->grown[i];
    lines.push_back(fmt::format("warning: {} more, {:.0f} s after the start",
                                errors_text(each.counter, each.growth), each.after_s));
  }
  return lines;
}

std::vector<CountedErrors> grown_counters(const LinkErrors& errors) {
  std::vector<CountedErrors> grown;
  std::ranges::copy_if(errors.counters, std::back_inserter(grown),
                       [](const CountedErrors& each) { return each.growth > 0; });
  std::ranges::stable_sort(grown, std::greater{}, &CountedErrors::growth);
  return grown;
}

std::vector<std::string> grown_texts(const std::optional<LinkErrors>& errors) {
  std::vector<std::string> texts;
  for (const CountedErrors& each : grown_counters(errors.value_or(LinkErrors{}))) {
    texts.push_back(errors_text(each.counter, each.growth));
  }
  return texts;
}

std::string link_errors_line(const std::optional<LinkErrors>& errors) {
  if (!errors) return {};
  std::vector<std::string> parts = grown_texts(errors);
  if (parts.empty()) {
    parts.push_back(
        fmt::format("none in {} of {}",
                    counted(static_cast<std::int64_t>(errors->readings), "reading", "readings"),
                    counted(std::ssize(errors->counters), "counter", "counters")));
  }
  return fmt::format("Link errors: {}", fmt::join(parts, "; "));
}

}  // namespace linkgain
