#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "linkgain/base/regular_file.hpp"

namespace linkgain {

/// Gauges in Prometheus' text format, for node_exporter's textfile collector. A gauge without a
/// value has no lines at all.
class PrometheusText {
 public:
  /// Names with values, which are escaped here.
  using Labels = std::vector<std::pair<std::string_view, std::string_view>>;

  /// Begins a gauge: what follows are its values. `help` is one line without backslashes.
  void gauge(std::string_view name, std::string_view help);

  /// Adds a value of the gauge begun last, with ten significant digits; nothing where absent.
  void value(std::optional<double> value, const Labels& labels = {});

  const std::string& text() const { return text_; }

 private:
  std::string head_;  ///< of the gauge begun last, until it has a value
  std::string name_;
  std::string text_;
};

/// The kind of such files whose gauges are all named linkgain_….
extern const FileKind kPrometheusFile;

/// Gives seconds since 1970 of a UTC time as records have it, "2026-11-20T16:40:00Z"; absent of any
/// other text.
std::optional<double> timestamp_of(const std::string& utc);

}  // namespace linkgain
