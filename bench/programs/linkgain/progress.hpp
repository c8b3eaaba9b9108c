#pragma once

#include <cstddef>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "linkgain/run/observer.hpp"
#include "linkgain/run/pace.hpp"
#include "linkgain/tables/text_lines.hpp"

namespace linkgain {

/// How progress is shown.
struct ProgressStyle {
  bool terminal = false;
  bool quiet = false;
  bool utf8 = false;
  /// The terminal's, now; kAnyColumns where it is none.
  std::function<std::size_t()> columns = [] { return kAnyColumns; };
};

/// Finds the style of standard error.
ProgressStyle progress_style(bool quiet);

/// How far anything is that has steps.
struct ProgressPoint {
  int step = 0;  ///< that are over
  int steps = 0;
  /// Absent where that is not known; below zero: since the budget was used up.
  std::optional<double> seconds_left{};
};

/// Standard error, and the log, as those who watch see them. On a terminal: rows that stay, and
/// below them one line with a bar, written anew ten times a second at most and never wider than the
/// terminal. Elsewhere: the lines that are for the log, too, and what is being done after 8 s
/// without one. When quiet: nothing. What cannot be written is dropped.
class ProgressOutput {
 public:
  /// Writes to `log`, too, which may be null; it is not owned.
  ProgressOutput(ProgressStyle style, std::FILE* log);
  ~ProgressOutput();
  ProgressOutput(const ProgressOutput&) = delete;
  ProgressOutput& operator=(const ProgressOutput&) = delete;

  /// Writes a line that stays.
  void note(const std::string& text);
  /// Says that a step is over: `line` is for the log, and `shown`, unless it is empty, for who
  /// watches.
  void finished(const std::string& line, const std::string& shown);
  /// Shows what is being done, `elapsed` seconds after the begin, by progress_line().
  void doing(const ProgressPoint& point, const std::string& part, const std::string& name,
             double elapsed);

  const ProgressStyle& style() const { return style_; }
  /// Counts the columns that a line may have now.
  std::size_t columns() const;

 private:
  void write_rows();

  ProgressStyle style_;
  std::FILE* log_;
  bool line_open_ = false;
  std::string rows_;  ///< that wait for the next time the line is written
  std::optional<double> written_;
  bool row_printed_ = false;  ///< since then, elsewhere
};

/// Tells a person how far a run is: on a terminal a row for each case when its last launch is
/// measured, elsewhere, as on a dumb terminal, a line for each case and launch. A line too long for
/// a terminal loses the launch, reasons and times.
class Progress : public RunProgress {
 public:
  Progress(ProgressStyle style, std::FILE* log) : output_(std::move(style), log) {}

  void note(const std::string& text) override { output_.note(text); }
  void starting(const RunPace& pace) override;
  void measuring(const RunPace& pace, int launch, const Case& c) override;
  void finished(const RunPace& pace, int launch, const CaseResult& result) override;
  void waiting(const RunPace& pace) override { show(pace); }

 private:
  void show(const RunPace& pace);
  std::string fitting(const CaseResult& result, const std::vector<std::string>& heads) const;

  ProgressOutput output_;
  std::string part_;  ///< of what is being done, now
  std::string name_;
};

/// Writes "█░░░░░░░░░░░░░░░░░░░  12/150  launch 1 of 6  all_reduce 1 KiB  12 s left" within so many
/// columns: first the part goes, then the bar, then the end of the case's name.
std::string progress_line(const ProgressPoint& point, const std::string& part,
                          const std::string& name, std::size_t columns, bool utf8);

/// How much is told of a case: also why a variant was skipped, all but that, or the ratios alone.
enum class Detail { all, no_reasons, ratios };

/// Returns "p2p 14.90 us, host 64.20 us, 4.31x", so far; the reason where a variant was skipped.
std::string summary_of(const CaseResult& result, Detail detail = Detail::all);

}  // namespace linkgain
