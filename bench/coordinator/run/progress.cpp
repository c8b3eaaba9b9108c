#include "linkgain/run/progress.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace linkgain {

Progress::Progress(bool terminal, bool quiet, std::FILE* log)
    : terminal_(terminal), quiet_(quiet), log_(log) {}

Progress::~Progress() { clear_line(); }

void Progress::clear_line() {
  if (!line_open_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  line_open_ = false;
}

void Progress::note(const std::string& text) {
  clear_line();
  if (!quiet_) fmt::print(stderr, "{}\n", text);
  if (log_ != nullptr) {
    fmt::print(log_, "{}\n", text);
    std::fflush(log_);
  }
}

void Progress::measuring(int step, int steps, const Case& c, int round, double seconds_left) {
  if (quiet_ || !terminal_) return;
  const std::string left =
      seconds_left < 0 ? "" : fmt::format(", about {:.0f} s left", seconds_left);
  fmt::print(stderr, "\r\033[K[{:>3}/{}] {}, round {}{}", step, steps, case_name(c), round, left);
  std::fflush(stderr);
  line_open_ = true;
}

void Progress::finished(int step, int steps, const CaseResult& result) {
  const std::string text = fmt::format("[{:>3}/{}] {}: {}", step, steps,
                                       case_name(result.definition), summary_of(result));
  clear_line();
  if (!quiet_ && !terminal_) fmt::print(stderr, "{}\n", text);
  if (log_ != nullptr) {
    fmt::print(log_, "{}\n", text);
    std::fflush(log_);
  }
}

std::string summary_of(const CaseResult& result) {
  std::vector<std::string> parts;
  for (const VariantResult& variant : result.variants) {
    if (variant.time) {
      parts.push_back(fmt::format("{} {}", variant.variant, readable_time(*variant.time)));
    } else {
      parts.push_back(fmt::format("{} skipped ({})", variant.variant,
                                  variant.skipped.value_or("not measured")));
    }
  }
  for (const RatioResult& entry : result.ratios) {
    const Ratio& ratio = entry.ratio;
    parts.push_back(ratio.low && ratio.high
                        ? fmt::format("{:.3f}x ({:.3f}x to {:.3f}x) in {} rounds", ratio.estimate,
                                      *ratio.low, *ratio.high, ratio.rounds)
                        : fmt::format("{:.3f}x", ratio.estimate));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace linkgain
