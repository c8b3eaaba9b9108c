#include "linkgain/tables/prometheus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "linkgain/base/text.hpp"
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

const FileKind kPrometheusFile{"a textfile", [](std::string_view text) {
                                 static constexpr std::array<std::string_view, 3> kBegins{
                                     "linkgain_", "# HELP linkgain_", "# TYPE linkgain_"};
                                 if (!text.ends_with('\n')) return false;
                                 const std::vector<std::string> lines =
                                     split(std::string(text.substr(0, text.size() - 1)), '\n');
                                 return std::ranges::all_of(lines, [](const std::string& line) {
                                   return std::ranges::any_of(kBegins, [&](std::string_view begin) {
                                     return line.starts_with(begin);
                                   });
                                 });
                               }};

std::optional<double> timestamp_of(const std::string& utc) {
  std::tm parts{};
  const char* const end = ::strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return static_cast<double>(::timegm(&parts));
}

}  // namespace linkgain
