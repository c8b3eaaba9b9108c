#include "linkgain/report/wording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "linkgain/tables/markdown_table.hpp"

namespace linkgain {
namespace {

constexpr int kMostDecimals = 5;

std::string times(double ratio, int decimals) { return fmt::format("{:.{}f}x", ratio, decimals); }

/// Whether a bound that is not 1 would look like 1.
bool hides_difference(double bound, int decimals) {
  return bound != 1.0 && times(bound, decimals) == times(1.0, decimals);
}

int decimals_for(const Ratio& ratio) {
  int decimals = ratio.estimate >= 9.995 ? 1 : 2;
  const bool distinct =
      ratio.low.has_value() && ratio.high.has_value() && (*ratio.low > 1.0 || *ratio.high < 1.0);
  while (distinct && decimals < kMostDecimals &&
         (hides_difference(*ratio.low, decimals) || hides_difference(*ratio.high, decimals))) {
    ++decimals;
  }
  return decimals;
}

int percent_decimals(double margin) {
  return margin >= 9.95 || margin == 0.0 ? 0 : margin >= 0.1 ? 1 : 2;
}

/// How messages go between the two ranks of a pair.
std::string_view arrow_of(const Case& definition) {
  const bool there_and_back = definition.operation == OperationKind::ping_pong ||
                              definition.operation == OperationKind::latency;
  const bool both = definition.pair->both || there_and_back;
  return both ? "<->" : "->";
}

}  // namespace

RatioText readable_ratio(const Ratio& ratio) {
  const int decimals = decimals_for(ratio);
  RatioText text;
  text.estimate = times(ratio.estimate, decimals);
  if (ratio.low.has_value() && ratio.high.has_value()) {
    text.low = times(*ratio.low, decimals);
    text.high = times(*ratio.high, decimals);
  }
  return text;
}

std::string readable_percent(double share) {
  if (share < 0.0) return "-" + readable_excess(-share);
  const double percent = 100.0 * share;
  const double margin = std::min(percent, std::abs(100.0 - percent));
  // Between 90 and 99 % no decimal is lost that a reader misses.
  const bool near_all = percent >= 90.0 && percent < 99.0;
  return fmt::format("{:.{}f} %", percent, near_all ? 0 : percent_decimals(margin));
}

std::string readable_excess(double share) {
  const double percent = 100.0 * share;
  return fmt::format("{:.{}f} %", percent, percent_decimals(percent));
}

std::string readable_fraction(double fraction) {
  return fraction > 0.0 && fraction < 0.01 ? "<1 %" : fmt::format("{:.0f} %", 100.0 * fraction);
}

std::string evidence_percent(double share) {
  if (share == 0.0) {
    return "0";
  }
  return share < kNoNvlink ? "<0.1" : fmt::format("{:.1f}", 100.0 * share);
}

std::string rounded_bytes(double bytes) {
  constexpr std::array<std::string_view, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && bytes >= 1023.5) {
    bytes /= 1024.0;
    ++unit;
  }
  const int decimals = unit == 0 || bytes >= 99.95 ? 0 : bytes >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", bytes, decimals, kUnits[unit]);
}

std::string readable_precision(double precision) { return "±" + precision_percent(precision); }

std::string precision_percent(double precision) {
  return fmt::format("{:.3g} %", 100.0 * precision);
}

std::string_view readable_path(Path path) {
  switch (path) {
    case Path::nvlink:
      return "NVLink";
    case Path::pcie_p2p:
      return "PCIe P2P";
    case Path::host_memory:
      return "host memory";
    case Path::network:
      return "network";
    case Path::mixed:
      return "mixed";
    case Path::unknown:
      return "unknown";
  }
  return "unknown";
}

std::string readable_plan(const TransferPlan& plan) {
  const bool both = !plan.algorithm.empty() && !plan.protocol.empty();
  return fmt::format("{}{}{}", plan.algorithm, both ? " " : "", plan.protocol);
}

std::string curve_label(const Case& definition) {
  const Case defaults;
  std::string label(name_of(definition.operation));
  if (definition.training) {
    std::string fields = leading_text(*definition.training) + trailing_text(*definition.training);
    std::replace(fields.begin(), fields.end(), '/', ' ');
    return label + " " + fields;
  }
  if (definition.type != defaults.type) {
    label += fmt::format(" {}", name_of(definition.type));
  }
  if (has_reduction(definition.operation) && definition.reduction != defaults.reduction) {
    label += fmt::format(" {}", name_of(definition.reduction));
  }
  if (definition.in_place) {
    label += " in place";
  }
  if (definition.launch != defaults.launch) {
    label += fmt::format(" {}", name_of(definition.launch));
  }
  if (definition.buffers != defaults.buffers) {
    label += fmt::format(" {}", name_of(definition.buffers));
  }
  if (definition.root != defaults.root) {
    label += fmt::format(" root {}", definition.root);
  }
  if (definition.kernel) {
    label += " kernel";
  }
  if (definition.pair.has_value()) {
    label +=
        fmt::format(" {}{}{}", definition.pair->from, arrow_of(definition), definition.pair->to);
  }
  return label;
}

std::string case_label(const Case& definition) {
  if (definition.training) return curve_label(definition);
  return fmt::format("{} {}", curve_label(definition), readable_bytes(definition.size));
}

std::string spoken_operation(const Case& definition) {
  if (is_training(definition.operation)) return "training";
  std::string name(name_of(definition.operation));
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::string shell_quoted(std::string_view text) {
  constexpr std::string_view kHarmless = "-_./:=,+@%";
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           kHarmless.find(c) != std::string_view::npos;
  });
  if (plain) {
    return std::string(text);
  }
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return quoted + "'";
}

}  // namespace linkgain
