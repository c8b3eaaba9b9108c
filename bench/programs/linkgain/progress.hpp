#pragma once

#include <cstddef>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "linkgain/run/progress.hpp"
#include "linkgain/tables/text_lines.hpp"

namespace linkgain {

/// How progress is shown.
struct ProgressStyle {
  bool terminal = false;
  bool quiet = false;
  bool utf8 = false;
  /// Of the terminal, now; kAnyColumns of what is none.
  std::function<std::size_t()> columns = [] { return kAnyColumns; };
};

/// Tells a person on standard error how far a run is. On a terminal: a row for each case when its
/// last launch is measured, and below them one line with a bar, written anew ten times a second at
/// most and never wider than the terminal. Elsewhere, as on a dumb terminal: a line for each case
/// and launch. A line too long for a terminal loses the launch, reasons and times. When quiet:
/// nothing. Every line of the second kind also goes to the run's log. What cannot be written is
/// dropped.
class Progress : public RunProgress {
 public:
  /// `log` may be null; it is not owned.
  Progress(ProgressStyle style, std::FILE* log);
  ~Progress() override;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void note(const std::string& text) override;
  void starting(const RunPace& pace) override;
  void measuring(const RunPace& pace, int launch, const Case& c) override;
  void finished(const RunPace& pace, int launch, const CaseResult& result) override;

 private:
  std::size_t columns() const;
  void write_rows();
  std::string fitting(const CaseResult& result, const std::vector<std::string>& heads) const;
  void write_line(const RunPace& pace, const std::string& launches, const std::string& name);

  ProgressStyle style_;
  std::FILE* log_;
  bool line_open_ = false;
  std::string rows_;  ///< that wait for the next time the line is written
  std::optional<double> written_;
};

/// "█░░░░░░░░░░░░░░░░░░░  12/150  launch 1 of 6  all_reduce 1 KiB  12 s left" within so many
/// columns: first the launch goes, then the bar, then the end of the case's name.
std::string progress_line(const RunPace& pace, const std::string& launches, const std::string& name,
                          std::size_t columns, bool utf8);

/// How much is told of a case: also why a variant was skipped, all but that, or the ratios alone.
enum class Detail { all, no_reasons, ratios };

/// "p2p 14.90 us, host 64.20 us, 4.310x", so far; the reason where a variant was skipped.
std::string summary_of(const CaseResult& result, Detail detail = Detail::all);

}  // namespace linkgain
