#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/names.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/program_metric.hpp"

namespace linkgain {

/// Whether a line matches is not known: the search took too many steps. What tells why is PCRE2's.
class SearchGivenUp : public MachineError {
 public:
  explicit SearchGivenUp(const std::string& why)
      : MachineError("the search of a line was given up: " + why) {}
};

/// A regular expression of Perl's kind, by PCRE2: it needs no more of the thread's stack for a long
/// line, and gives up a search that would take for ever. For bytes of any encoding. It is looked
/// for in what a terminal would show: colours, which some programs write into pipes too, are left
/// out.
class LinePattern {
 public:
  /// Throws UsageError that names `option` and the place of what is wrong.
  LinePattern(std::string text, const std::string& option);

  const std::string& text() const { return text_; }
  /// Counts the parentheses that capture.
  int groups() const;

  /// Throws SearchGivenUp, as for_each() does.
  bool matches(std::string_view line) const;
  using Use = std::function<void(std::string_view line, std::string_view group)>;
  /// Gives what the first group holds in each match of the line, left to right, none overlapping,
  /// as a part of the line.
  void for_each(std::string_view line, const Use& use) const;

 private:
  struct Compiled;
  std::string text_;
  std::shared_ptr<const Compiled> compiled_;
};

/// What the numbers that a metric matches in one run become.
enum class MetricUse {
  last,
  median,
  sum,
  all,  ///< every one is a sample
};

template <>
inline constexpr auto kNames<MetricUse> = names<MetricUse>("use of a metric",
                                                           {{MetricUse::last, "last"},
                                                            {MetricUse::median, "median"},
                                                            {MetricUse::sum, "sum"},
                                                            {MetricUse::all, "all"}});

/// A number in the program's output.
struct MetricRequest {
  ProgramMetric metric;
  LinePattern pattern;   ///< with one group
  bool is_named = true;  ///< by who asked for it; else by its pattern
};

/// What is read from the output of a run.
struct OutputRequest {
  std::vector<MetricRequest> metrics;
  MetricUse use = MetricUse::last;
  int skip = 0;                       ///< first matches of each pattern that do not count
  std::optional<LinePattern> step{};  ///< a line that the program writes once for each step
  std::vector<std::string> notes{};   ///< of metrics that have a number for a name
};

/// Parses "NAME=REGEX", or a regular expression alone, which the letters and digits that it begins
/// with name: 'train_runtime.*?([0-9.]+)' is train_runtime. Where what follows "NAME=" does not say
/// what it looks for, all is the regular expression: 'loss=([0-9.]+)' is the value of the key loss.
/// Less counts as better. Throws UsageError where it has not one group, and for given names that
/// are none or linkgain's own.
MetricRequest parse_metric(const std::string& text);

/// Tells whether its name, pattern or unit is that of a rate, or the words that stand behind its
/// number in the output: "rate", "tok/s", "samples_per_second", "throughput".
bool looks_like_rate(const MetricRequest& request, const std::string& words = {});

/// Gives those that nobody named names of their own where their patterns begin alike, or with no
/// name that can be one: more of the pattern's words, those before the number, else metric-2 of the
/// second. Returns why some have numbers. Throws UsageError where two were given the same name.
std::vector<std::string> name_metrics(std::vector<MetricRequest>& metrics);

/// Reads "1.2e3", "-4", "1,234.5" (commas only between groups of three digits, of which the first
/// does not begin with 0) as a number; absent where the text is anything else, or no finite number.
std::optional<double> parse_number(std::string_view text);

/// Gives 0.01 of "3.49", 1 of "1,234", 100 of "1.2e3". What was printed may be off by half of it.
double unit_of_last_digit(std::string_view text);

/// What one metric was in a run: samples in its own unit, one at least, or why there is none.
struct MetricValues {
  std::vector<double> samples{};
  std::int64_t count = 1;  ///< of what each sample stands for: matches, steps
  /// What a unit of the last printed digit is of a sample, if all numbers of it are rounded alike;
  /// 0 of what linkgain timed.
  double resolution = 0.0;
  std::string missing{};  ///< "no line matched"; empty where there are samples
  std::string words{};    ///< behind the last number, as " tokens per second"
};

/// Reads a program's output as it comes. A line ends at a line feed or a carriage return, as
/// progress bars have it; of one that is longer than kLongestLine the rest is not read. Where the
/// search of a line is given up, its metric is missing, for the number may have been in that line,
/// and no other line is searched for it.
class OutputReader {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kLongestLine = std::size_t{1} << 20;

  /// Reads for a request, which must outlive this.
  OutputReader(const OutputRequest& request, Clock::time_point start);

  void read(bool is_error, std::string_view bytes, Clock::time_point arrived);
  /// Ends reading: of lines without an end what there is of them counts.
  void finish();

  /// Gives by name every metric asked for, the step, and start-up where a pattern matched at least
  /// twice: one that matches once, at the end, does not tell when the work began.
  std::map<std::string, MetricValues> values() const;
  /// Gives the last lines, as many and as much of each as is kept, as plain_text().
  std::vector<std::string> last_lines() const;

 private:
  struct Stream {
    std::string line;  ///< what came of one that has no end yet
    Clock::time_point arrived;
  };
  /// What one metric matched; those skipped are not in it.
  struct Found {
    int matches = 0;
    std::vector<double> numbers;
    std::vector<double> units;  ///< unit_of_last_digit() of each
    std::string not_a_number;   ///< why a match is none
    std::string given_up;       ///< why a line was not searched
    std::string words;          ///< behind the last number
  };

  void take(std::string_view line, Clock::time_point arrived);
  void take_numbers(const MetricRequest& request, Found& found, std::string_view line,
                    Clock::time_point arrived);
  void take_step(std::string_view line, Clock::time_point arrived);
  void note_match(int matches, Clock::time_point arrived);
  MetricValues values_of(const MetricRequest& request, const Found& found) const;
  MetricValues step_values() const;

  const OutputRequest& request_;
  Clock::time_point start_;
  Stream streams_[2];
  std::vector<Found> found_;
  int steps_ = 0;
  std::string steps_given_up_;
  std::optional<Clock::time_point> first_step_;  ///< of those that count
  int first_steps_ = 0;                          ///< that arrived then
  Clock::time_point last_step_;
  std::optional<Clock::time_point> first_match_;
  bool repeats_ = false;
  static constexpr std::size_t kLinesKept = 12;
  std::array<std::string, kLinesKept> last_lines_;  ///< as they came, line N at N % kLinesKept
  std::size_t lines_ = 0;
};

}  // namespace linkgain
