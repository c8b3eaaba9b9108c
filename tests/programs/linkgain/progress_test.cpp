#include "bench/programs/linkgain/progress.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <regex>

#include "linkgain/cases/case_label.hpp"
#include "support/golden.hpp"

namespace linkgain::test {
namespace {

/// What was said on standard error and in the log.
struct Said {
  std::string error;
  std::string log;
};

CaseResult measured_case() {
  CaseResult result;
  result.definition.size = Bytes{1 << 20};
  for (const auto& [name, time] : {std::pair("p2p", 14.9e-6), std::pair("host", 64.2e-6)}) {
    result.variants.emplace_back();
    result.variants.back().variant = name;
    result.variants.back().time = Seconds{time};
  }
  result.ratios = {{"host", {.value = 4.31, .interval = Interval{4.30, 4.33}, .replicates = 6}}};
  return result;
}

class Clock : public RunObserver {
 public:
  Seconds now() const override { return {seconds}; }
  double seconds = 0.0;
};

Said said_by(bool terminal, bool quiet, std::size_t columns = kAnyColumns) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> log(std::tmpfile(), &std::fclose);
  testing::internal::CaptureStderr();
  {
    Progress progress({.terminal = terminal, .quiet = quiet, .columns = [=] { return columns; }},
                      log.get());
    progress.note("two variants up");
    const Case c = measured_case().definition;
    RunPlan plan;
    plan.cases = {c};
    plan.launches = 2;
    Clock clock;
    RunPace pace(plan, clock);
    progress.measuring(pace, 0, c);
    clock.seconds = 12.4;
    pace.finished(0, 0, 12.4, 0.0);
    progress.finished(pace, 0, measured_case());
    progress.measuring(pace, 1, c);
    clock.seconds += 0.09;
    progress.measuring(pace, 1, c);  // too soon
    pace.finished(0, 1, 12.4, 0.0);
    progress.finished(pace, 1, measured_case());
  }
  Said said;
  said.error = testing::internal::GetCapturedStderr();
  std::rewind(log.get());
  for (int c = std::fgetc(log.get()); c != EOF; c = std::fgetc(log.get())) {
    said.log += static_cast<char>(c);
  }
  return said;
}

constexpr const char* kLines =
    "two variants up\n"
    "[  1/2] after 1 of 2 launches, all_reduce/float32/sum/1MiB/np2: p2p 14.90 us, host 64.20 us, "
    "4.31x\n"
    "[  2/2] after 2 of 2 launches, all_reduce/float32/sum/1MiB/np2: p2p 14.90 us, host 64.20 us, "
    "4.31x\n";

TEST(Progress, SaysALineForEachCaseWhereThereIsNoTerminal) {
  const Said said = said_by(false, false);
  EXPECT_EQ(said.error, kLines);
  EXPECT_EQ(said.log, kLines);
}

TEST(Progress, IsSilentWhenQuietButForTheLog) {
  for (const bool terminal : {false, true}) {
    const Said said = said_by(terminal, true);
    EXPECT_EQ(said.error, "");
    EXPECT_EQ(said.log, kLines);
  }
}

TEST(Progress, ChangesOneLineOfATerminalAndLeavesARowForEachCase) {
  const Said said = said_by(true, false, 80);
  EXPECT_EQ(said.log, kLines);
  const std::regex erase("\r\033\\[K");
  expect_golden(std::regex_replace(said.error, erase, "<erase>"), "progress.txt");
}

TEST(Progress, LeavesColumnsOutBeforeItCutsALine) {
  std::string text;
  for (const std::size_t columns : {120U, 80U, 60U, 40U, 20U, 12U}) {
    for (const bool terminal : {true, false}) {
      const Said said = said_by(terminal, false, columns);
      EXPECT_EQ(said.log, kLines);
      std::string rows = std::regex_replace(said.error, std::regex("\r\033\\[K"), "\n");
      for (const std::string& line : split(rows, '\n')) {
        EXPECT_LT(display_width(line), columns) << line;
        if (line.find("4.31x") != std::string::npos) text += line + "|\n";
      }
    }
  }
  expect_golden(text, "progress_rows.txt");
}

/// Returns what is said of a run of one case from its start on, through which `time_passes`.
template <typename TimePasses>
std::string said_meanwhile(ProgressStyle style, TimePasses time_passes) {
  testing::internal::CaptureStderr();
  {
    Progress progress(std::move(style), nullptr);
    RunPlan plan;
    plan.cases = {measured_case().definition};
    plan.variants.resize(10);
    Clock clock;
    RunPace pace(plan, clock);
    pace.starts_group();
    progress.starting(pace);
    time_passes(progress, pace, clock);
  }
  return testing::internal::GetCapturedStderr();
}

TEST(Progress, CountsDownWhileNothingEnds) {
  const std::string said =
      said_meanwhile({.terminal = true, .columns = [] { return std::size_t{80}; }},
                     [](Progress& progress, RunPace& pace, Clock& clock) {
                       clock.seconds = 1.0;
                       progress.waiting(pace);
                     });
  std::vector<int> left;
  const std::regex text("starting jobs  ([0-9]+) s left");
  for (std::sregex_iterator each(said.begin(), said.end(), text), end; each != end; ++each) {
    left.push_back(std::stoi((*each)[1]));
  }
  ASSERT_EQ(left.size(), 2U) << said;
  EXPECT_EQ(left[1], left[0] - 1);
}

TEST(Progress, IsNeverSilentForTenSecondsInAPipe) {
  const std::string said =
      said_meanwhile({.terminal = false, .columns = [] { return kAnyColumns; }},
                     [](Progress& progress, RunPace& pace, Clock& clock) {
                       for (int tenths = 0; tenths <= 250; ++tenths) {
                         clock.seconds = 0.1 * tenths;
                         progress.waiting(pace);
                         if (tenths == 150) progress.finished(pace, 0, measured_case());
                       }
                     });
  const std::vector<std::string> lines = split(said, '\n');
  ASSERT_EQ(lines.size(), 4U);  // after 8, 15 and 23 s; the last one is empty
  EXPECT_TRUE(lines[0].starts_with("[  0/1]  starting jobs")) << lines[0];
  EXPECT_TRUE(lines[1].ends_with("4.31x")) << lines[1];
  EXPECT_TRUE(lines[2].starts_with("[  0/1]  starting jobs")) << lines[2];
}

TEST(ProgressLine, LeavesOutWhatDoesNotFitInOrder) {
  Case c = measured_case().definition;
  c.type = DataType::bfloat16;
  RunPlan plan;
  plan.cases = {c, c};
  plan.launches = 6;
  Clock clock;
  RunPace pace(plan, clock);
  pace.finished(0, 0, 60.0, 0.0);
  pace.finished(1, 0, 60.0, 0.0);
  pace.finished(0, 1, 60.0, 0.0);
  std::string text;
  for (const std::size_t columns : {200U, 80U, 79U, 60U, 44U, 30U, 20U, 8U, 1U}) {
    for (const bool utf8 : {true, false}) {
      const std::string line = progress_line({pace.step(), pace.steps(), pace.seconds_left()},
                                             "launch 2 of 6", case_label(c), columns, utf8);
      EXPECT_LE(display_width(line), columns);
      text += line + "|\n";
    }
  }
  expect_golden(text, "progress_lines.txt");
}

TEST(ProgressLine, SaysNothingOfATimeThatIsNotKnown) {
  EXPECT_EQ(progress_line({0, 2, std::nullopt}, "round 1", "p2p", 80, false),
            "....................  0/2  round 1  p2p");
}

TEST(ProgressLine, SaysSinceWhenTheBudgetIsUsedUp) {
  std::string text;
  for (const double left : {150.0, 0.5, 0.0, -0.5, -12.0, -150.0, -3600.0}) {
    text += progress_line({1, 2, left}, "round 1", "p2p", 80, false) + "\n";
  }
  expect_golden(text, "progress_over_budget.txt");
}

TEST(Progress, NeedsNoLog) {
  testing::internal::CaptureStderr();
  Progress({}, nullptr).note("a line");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "a line\n");
}

TEST(SummaryOf, GivesTheReasonWhereAVariantWasSkipped) {
  CaseResult result = measured_case();
  result.ratios.clear();
  result.variants[1].time.reset();
  result.variants[1].skipped = Skip{.refusal = "no memory"};
  std::string text = summary_of(result) + "\n";
  result.variants[1].skipped.reset();
  text += summary_of(result) + "\n";
  expect_golden(text, "skipped_variants.txt");
}

}  // namespace
}  // namespace linkgain::test
