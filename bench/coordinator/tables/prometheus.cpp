#include "linkgain/tables/prometheus.hpp"

#include <fmt/format.h>

#include <ctime>

#include "linkgain/tables/escaping.hpp"

namespace linkgain {

void PrometheusText::gauge(std::string_view name, std::string_view help) {
  name_ = name;
  head_ = fmt::format("# HELP {} {}\n# TYPE {} gauge\n", name, help, name);
}

void PrometheusText::value(std::optional<double> value, const Labels& labels) {
  if (!value) return;
  std::string braces;
  for (const auto& [name, text] : labels) {
    braces +=
        fmt::format("{}{}=\"{}\"", braces.empty() ? "{" : ",", name, prometheus_escaped(text));
  }
  text_ += std::exchange(head_, {});
  text_ += fmt::format("{}{}{} {:.10g}\n", name_, braces, braces.empty() ? "" : "}", *value);
}

std::optional<double> timestamp_of(const std::string& utc) {
  std::tm parts{};
  const char* const end = ::strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return static_cast<double>(::timegm(&parts));
}

}  // namespace linkgain
