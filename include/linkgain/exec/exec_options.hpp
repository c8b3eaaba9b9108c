#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "linkgain/base/units.hpp"
#include "linkgain/patterns/output_metrics.hpp"

namespace linkgain {

inline constexpr int kDefaultRounds = 6;
inline constexpr Seconds kDefaultReadyTimeout{600.0};

/// Stands for the only metric in ExecOptions::higher_is_better. No metric can be called so.
inline constexpr const char* kOnlyMetric = "*";

/// `linkgain exec` as it was asked for; absent or empty means not asked for.
struct ExecOptions {
  std::vector<std::string> argv;
  std::vector<std::string> preset;     ///< an engine and a model, or nothing
  std::vector<std::string> command;    ///< what stands behind --
  std::vector<std::string> variants;   ///< in words of parse_variant(), or a name alone
  std::vector<std::string> arguments;  ///< "NAME:WORDS"
  std::vector<std::string> gpus;       ///< "NAME:0,2"
  bool control = false;                ///< whether a third arm runs as the first variant does
  std::string axis;                    ///< "NAME=VALUE,..."
  std::vector<std::string> metrics;
  MetricUse metric_use = MetricUse::last;
  int skip = 0;
  std::vector<std::string> higher_is_better;  ///< "NAME,...", or kOnlyMetric
  std::vector<std::string> units;             ///< "UNIT" of the only metric, or "NAME=UNIT"
  std::string step;
  std::string server;
  std::string ready;
  std::optional<Seconds> ready_timeout;  ///< else kDefaultReadyTimeout
  std::string prepare;
  std::string cleanup;
  int warm_up = 0;
  int rounds = kDefaultRounds;
  std::optional<double> ci_width;
  std::optional<Seconds> budget;
  std::optional<Seconds> timeout;
  std::optional<Seconds> silence;
  std::optional<unsigned> seed;
  std::optional<std::filesystem::path> out;
  std::string label;
  bool show_output = false;
  bool dry_run = false;
  bool json = false;
  bool quiet = false;
  bool color = true;
};

}  // namespace linkgain
