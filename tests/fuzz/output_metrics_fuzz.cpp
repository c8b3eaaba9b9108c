// The output of a program under `exec`, read by metrics: a line with a metric as --metric has it,
// one with the pattern of a step, then what the program wrote, in pieces.
#include <cmath>

#include "fuzz_target.hpp"
#include "linkgain/patterns/output_metrics.hpp"

namespace linkgain {
namespace {

constexpr std::size_t kPiece = 61;

OutputRequest request_of(std::string_view& text) {
  OutputRequest request;
  request.metrics.push_back(parse_metric(std::string(fuzz::take_line(text))));
  const std::string step(fuzz::take_line(text));
  if (!step.empty()) request.step.emplace(step, "--step");
  request.skip = static_cast<int>(text.size() % 3);
  return request;
}

void read_output(const OutputRequest& request, std::string_view text) {
  auto now = OutputReader::Clock::time_point();
  OutputReader reader(request, now);
  while (!text.empty()) {
    now += std::chrono::milliseconds(7);
    reader.read(text.size() % 2 == 0, text.substr(0, kPiece), now);
    text.remove_prefix(std::min(kPiece, text.size()));
  }
  reader.finish();
  for (const auto& [name, values] : reader.values()) {
    if (values.samples.empty() == values.missing.empty()) {
      throw std::logic_error(name + " has samples and a reason, or neither");
    }
    for (const double sample : values.samples) {
      if (!std::isfinite(sample)) throw std::logic_error(name + " is no number");
    }
  }
}

void read(std::string_view text) {
  OutputRequest request = request_of(text);
  for (const MetricUse use : {MetricUse::last, MetricUse::median, MetricUse::sum, MetricUse::all}) {
    request.use = use;
    read_output(request, text);
  }
}

}  // namespace
}  // namespace linkgain
