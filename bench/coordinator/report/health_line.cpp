#include "linkgain/report/health_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "health_section.hpp"
#include "linkgain/hardware/health.hpp"

namespace linkgain {
namespace {

/// "34–48 °C", or "SM 1980 MHz" where both ends are alike.
template <typename T>
void add_range(std::vector<std::string>& parts, std::string_view before,
               const std::optional<T>& least, const std::optional<T>& most, std::string_view unit) {
  if (!least || !most) {
    return;
  }
  const std::string low = fmt::format("{:.0f}", static_cast<double>(*least));
  const std::string high = fmt::format("{:.0f}", static_cast<double>(*most));
  parts.push_back(fmt::format("{}{}{} {}", before, low, low == high ? "" : "–" + high, unit));
}

void add_events(std::vector<std::string>& parts, const HealthSummary& summary) {
  if (summary.samples == 0) {
    parts.emplace_back("clock events not measured");
    return;
  }
  if (summary.unhealthy_samples == 0) {
    parts.emplace_back("no sample held back");
  } else {
    parts.push_back(fmt::format("{} of {} samples HELD BACK by {}", summary.unhealthy_samples,
                                summary.samples, throttled_by(summary)));
  }
  if (summary.power_capped_samples > 0) {
    parts.push_back(fmt::format("{} of {} samples at the power limit", summary.power_capped_samples,
                                summary.samples));
  }
}

/// What a variant's samples show of themselves.
std::string describe_variant(const HealthSummary& summary) {
  std::vector<std::string> parts;
  add_range(parts, "SM ", summary.lowest_sm_clock_mhz, summary.highest_sm_clock_mhz, "MHz");
  add_events(parts, summary);
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string describe(const HealthSummary& summary) {
  if (summary == HealthSummary{}) {
    return "not measured";
  }
  std::vector<std::string> parts;
  add_range(parts, "", summary.lowest_temperature_c, summary.highest_temperature_c, "°C");
  add_range(parts, "", summary.lowest_power_w, summary.highest_power_w, "W");
  parts.push_back(describe_variant(summary));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Of the variants' samples in all cases.
HealthSummary summary_of(const Record& record, const std::string* variant) {
  HealthSummary all;
  for (const CaseResult& result : record.cases) {
    for (const VariantResult& entry : result.variants) {
      if (variant == nullptr || entry.variant == *variant) {
        add_summary(all, entry.health);
      }
    }
  }
  return all;
}

/// Records of the time before evidence have health in their samples alone.
HealthSummary whole_summary(const Record& record) {
  HealthSummary summary = summary_of(record, nullptr);
  if (summary == HealthSummary{}) {
    for (const Sample& sample : record.samples) {
      add_sample(summary, sample.health);
    }
  }
  return summary;
}

bool has_gpus(const Record& record) {
  for (const RankInfo& rank : record.machine.ranks) {
    if (rank.gpu) {
      return true;
    }
  }
  return false;
}

bool has_times(const Record& record) {
  for (const CaseResult& result : record.cases) {
    for (const VariantResult& variant : result.variants) {
      if (variant.time) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

std::string health_line(const Record& record) {
  const HealthSummary summary = whole_summary(record);
  const bool nothing = summary == HealthSummary{};
  if (nothing && (!has_gpus(record) || !has_times(record))) {
    return {};
  }
  return fmt::format("Health: {}\n", describe(summary));
}

std::string health_section(const Record& record) {
  const std::string line = health_line(record);
  if (line.empty()) {
    return {};
  }
  std::string text = fmt::format("## Health\n\n{}", line);
  std::string variants;
  for (const Variant& variant : record.settings.variants) {
    const HealthSummary summary = summary_of(record, &variant.name);
    if (summary != HealthSummary{}) {
      variants += fmt::format("- {}: {}\n", variant.name, describe_variant(summary));
    }
  }
  if (variants.empty()) {
    return text;
  }
  // Power is the driver's average over longer than a batch, and heat lasts longer still.
  return fmt::format(
      "{}\nTemperature and power are the GPUs', which all variants share. Of each variant's own "
      "samples:\n\n{}",
      text, variants);
}

}  // namespace linkgain
