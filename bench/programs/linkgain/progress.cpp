#include "progress.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "linkgain/base/standard_streams.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/tables/number_format.hpp"
#include "terminal.hpp"

namespace linkgain {
namespace {

constexpr double kLeastSecondsBetweenUpdates = 0.1;
constexpr double kMostSecondsOfSilence = 8.0;  // in a pipe

/// Returns "[  3/12] after 2 of 6 launches, all_reduce/…": times are those of all launches so far.
std::string place_of(const RunPace& pace, int step, int launch, const Case& c) {
  const std::string launches =
      pace.launches() == 1 ? ""
                           : fmt::format("after {} of {} launches, ", launch + 1, pace.launches());
  return fmt::format("[{:>3}/{}] {}{}", step, pace.steps(), launches, case_name(c));
}

/// Returns the columns that a row may take with the times of these variants and their ratios,
/// whichever case it is of.
std::size_t columns_of_times(const CaseResult& result) {
  constexpr std::string_view kName = "send_recv 0<->1 256 MiB  ";
  constexpr std::string_view kTime = " 999.99 ms, ";
  constexpr std::string_view kRatio = "10.00x, ";
  std::size_t columns = kName.size();
  for (const VariantResult& variant : result.variants) {
    columns += display_width(variant.variant) + kTime.size() + kRatio.size();
  }
  return columns - kRatio.size();
}

std::string bar(double share, std::size_t width, bool utf8) {
  const auto full = static_cast<std::size_t>(std::floor(share * static_cast<double>(width)));
  std::string text;
  for (std::size_t i = 0; i < width; ++i) {
    text += utf8 ? (i < full ? "█" : "░") : (i < full ? "#" : ".");
  }
  return text;
}

/// Returns "45 s left", "2 min 5 s left", "12 min left", "45 s over the budget"; empty where that
/// is not known, as of what takes longer than was expected.
std::string time_left(const ProgressPoint& point) {
  constexpr int kMinute = 60;
  constexpr int kCoarse = 10;  // minutes
  if (point.seconds_left.value_or(0.0) == 0.0) return {};
  const auto seconds = static_cast<int>(std::ceil(std::abs(*point.seconds_left)));
  const char* const of = *point.seconds_left > 0.0 ? "left" : "over the budget";
  if (seconds < 2 * kMinute) return fmt::format("{} s {}", seconds, of);
  if (seconds >= kCoarse * kMinute) return fmt::format("{} min {}", seconds / kMinute, of);
  return fmt::format("{} min {} s {}", seconds / kMinute, seconds % kMinute, of);
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    if (!part.empty()) text += (text.empty() ? "" : "  ") + part;
  }
  return text;
}

ProgressPoint point_of(const RunPace& pace) {
  return {pace.step(), pace.steps(), pace.seconds_left()};
}

}  // namespace

std::string progress_line(const ProgressPoint& point, const std::string& part,
                          const std::string& name, std::size_t columns, bool utf8) {
  constexpr std::size_t kBar = 20;
  const int steps = std::max(1, point.steps);
  const std::string done = bar(static_cast<double>(point.step) / steps, kBar, utf8);
  const std::string count =
      fmt::format("{:>{}}/{}", point.step, std::to_string(steps).size(), steps);
  const std::string left = time_left(point);
  for (const auto& parts : {std::vector{done, count, part, name, left},
                            std::vector{done, count, name, left}, std::vector{count, name, left}}) {
    std::string line = joined(parts);
    if (display_width(line) <= columns) return line;
  }
  const std::string rest = joined({count, left});
  const std::size_t room = columns > rest.size() + 2 ? columns - rest.size() - 2 : 0;
  return first_columns(joined({count, first_columns(name, room), left}), columns);
}

ProgressStyle progress_style(bool quiet) {
  return {
      .terminal = is_terminal(STDERR_FILENO), .quiet = quiet, .utf8 = has_utf8(), .columns = [] {
        return ::isatty(STDERR_FILENO) == 1 ? columns_of(STDERR_FILENO) : kAnyColumns;
      }};
}

ProgressOutput::ProgressOutput(ProgressStyle style, std::FILE* log)
    : style_(std::move(style)), log_(log) {}

ProgressOutput::~ProgressOutput() { write_rows(); }

/// Writes rows; the line gives way to them.
void ProgressOutput::write_rows() {
  const std::string text = (line_open_ ? "\r\033[K" : "") + std::exchange(rows_, {});
  line_open_ = false;
  if (!text.empty()) print_message(stderr, text);
}

/// Leaves the last column free: a character there would leave some terminals' cursor on the next
/// line.
std::size_t ProgressOutput::columns() const {
  return std::max<std::size_t>(style_.columns(), 2) - 1;
}

void ProgressOutput::note(const std::string& text) {
  write_rows();
  const std::string plain = visible_lines(text);
  const std::string shown = hanging("", plain, columns());
  if (!style_.quiet) print_message(stderr, style_.utf8 ? shown : in_ascii(shown));
  if (log_ != nullptr) print_message(log_, plain + "\n");
}

void ProgressOutput::doing(const ProgressPoint& point, const std::string& part,
                           const std::string& name, double elapsed) {
  if (style_.quiet) return;
  if (!style_.terminal && std::exchange(row_printed_, false)) written_ = elapsed;
  const double wait = style_.terminal ? kLeastSecondsBetweenUpdates : kMostSecondsOfSilence;
  if (elapsed - written_.value_or(style_.terminal ? -wait : 0.0) < wait) return;
  written_ = elapsed;
  if (!style_.terminal) {
    const std::string place = fmt::format("[{:>3}/{}]", point.step, point.steps);
    const std::string line = joined({place, part, name, time_left(point)});
    print_message(stderr, first_columns(line, columns()) + "\n");
    return;
  }
  print_message(stderr, fmt::format("\r\033[K{}{}", std::exchange(rows_, {}),
                                    progress_line(point, part, name, columns(), style_.utf8)));
  line_open_ = true;
}

void ProgressOutput::finished(const std::string& line, const std::string& shown) {
  if (log_ != nullptr) print_message(log_, line + "\n");
  if (style_.quiet || shown.empty()) return;
  if (style_.terminal) {
    rows_ += shown + "\n";
  } else {
    print_message(stderr, shown + "\n");
    row_printed_ = true;
  }
}

void Progress::show(const RunPace& pace) {
  output_.doing(point_of(pace), part_, name_, pace.elapsed());
}

void Progress::starting(const RunPace& pace) {
  part_.clear();
  name_ = "starting jobs";
  show(pace);
}

void Progress::measuring(const RunPace& pace, int launch, const Case& c) {
  part_ = pace.launches() == 1 ? "" : fmt::format("launch {} of {}", launch + 1, pace.launches());
  name_ = case_label(c);
  show(pace);
}

void Progress::finished(const RunPace& pace, int launch, const CaseResult& result) {
  const std::string place = place_of(pace, pace.step(), launch, result.definition);
  const std::string label = case_label(result.definition);
  const bool all = std::ranges::all_of(result.variants, [](const VariantResult& variant) {
    return variant.time || variant.skipped;
  });
  std::string shown;
  if (!output_.style().terminal) {
    const std::string count = place.substr(0, place.find(' ', place.find('/')));
    constexpr std::size_t kWide = 120;
    shown =
        fitting(result, {output_.columns() < kWide ? count + " " + label + ": " : place + ": "});
  } else if (all && launch + 1 >= pace.launches()) {
    constexpr int kNameColumns = 18;
    shown = fitting(result, {fmt::format("{:<{}}  ", label, kNameColumns), label + "  "});
  }
  output_.finished(fmt::format("{}: {}", place, summary_of(result)), shown);
}

/// Returns the first that fits of: each head with all that was measured, without reasons. Where the
/// times of these variants have no room, the rows of all cases have the ratios alone. Else the end
/// of the last head gives way.
std::string Progress::fitting(const CaseResult& result,
                              const std::vector<std::string>& heads) const {
  const std::string label = case_label(result.definition);
  const std::size_t place = std::min(heads.back().find(label), heads.back().size());
  const bool has_times = place + columns_of_times(result) <= output_.columns();
  const std::vector<Detail> details =
      has_times ? std::vector{Detail::all, Detail::no_reasons} : std::vector{Detail::ratios};
  for (const Detail detail : details) {
    for (const std::string& head : heads) {
      std::string line = head + summary_of(result, detail);
      if (display_width(line) <= output_.columns()) return line;
    }
  }
  const std::string end = summary_of(result, details.back());
  const std::size_t room =
      output_.columns() > display_width(end) ? output_.columns() - display_width(end) : 0;
  return first_columns(first_columns(heads.back(), room, output_.style().utf8 ? "… " : "~ ") + end,
                       output_.columns());
}

std::string summary_of(const CaseResult& result, Detail detail) {
  std::vector<std::string> parts;
  const std::vector<RatioResult> ratios = shown_ratios(result);
  for (const VariantResult& variant : result.variants) {
    const bool ratios_alone = detail == Detail::ratios && !ratios.empty();
    if (ratios_alone) break;
    if (detail != Detail::all && !variant.time) {
      parts.push_back(variant.variant + " skipped");
    } else if (variant.time) {
      parts.push_back(fmt::format("{} {}", variant.variant, readable_time(*variant.time)));
    } else {
      parts.push_back(
          fmt::format("{} skipped ({})", variant.variant,
                      one_line(variant.skipped ? why_skipped(variant) : "not measured")));
    }
  }
  for (const RatioResult& entry : ratios) parts.push_back(readable_ratio(entry.ratio).estimate);
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace linkgain
