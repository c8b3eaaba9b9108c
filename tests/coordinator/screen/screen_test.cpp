#include "linkgain/screen/screen.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/analysis/run_validity.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/record/journal.hpp"
#include "linkgain/report/answer.hpp"
#include "support/golden.hpp"
#include "support/sample_records.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

Record recorded(const std::string& folder) {
  Record record = read_record(std::string(RESULTS_FOLDER) + "/" + folder);
  judge(record);
  return record;
}

std::string shown(const Record& record, const ScreenStyle& style) {
  return screen(RunSummary(record), "Record: results/a_run/record.json", style);
}

/// Keeps p2p only, in the main job or another run.
Record one_variant_record(Record record = h200_record()) {
  record.settings.variants.pop_back();
  record.settings.environment_in_force.pop_back();
  for (CaseResult& result : record.cases) {
    result.variants.pop_back();
    result.ratios.clear();
  }
  return record;
}

Record latency_record() {
  Record record = two_gpus();
  for (const std::int64_t bytes : {8, 64}) {
    Case definition = all_reduce(bytes);
    definition.operation = OperationKind::latency;
    definition.pair = Pair{0, 1};
    record.cases.push_back(nvlink_case(definition, 784e-9, 1.82e-6, 2.31, 2.33));
  }
  return record;
}

Record without_largest_size(Record record) {
  for (CaseResult& result : record.cases) {
    if (result.definition.size.value < 1 << 30) continue;
    for (VariantResult& variant : result.variants) {
      variant.time.reset();
      variant.skipped = Skip{.refusal = "the budget was used up"};
    }
    result.ratios.clear();
  }
  return record;
}

/// Expects lines that fit, and the answer's as the last one that is not empty.
void expect_fits(const std::string& text, std::size_t columns) {
  const std::vector<std::string> lines = split(text, '\n');
  EXPECT_LE(lines.size() - 1, 24U) << text;
  for (const std::string& line : lines) EXPECT_LE(display_width(line), columns) << line;
  EXPECT_TRUE(lines.size() > 1 && lines[lines.size() - 2].ends_with('.')) << text;
}

TEST(Screen, ShowsARunAtTheTerminalsWidth) {
  Situations screens;
  for (const char* folder : {"2xH200-default", "4xH200-default", "2xH200-training"}) {
    const Record record = recorded(folder);
    for (const std::size_t columns : {60U, 200U}) {
      expect_fits(shown(record, {.columns = columns}), columns);
    }
    const std::string text = shown(record, {});
    expect_fits(text, kUsualColumns);
    screens.add(folder, text);
  }
  expect_golden(screens.text(), "screens.txt");
}

TEST(Screen, IsAsciiWhereTheLocaleIsNotUtf8) {
  const std::string text = shown(recorded("2xH200-default"), {.columns = 80, .utf8 = false});
  EXPECT_TRUE(std::ranges::all_of(text, [](char c) { return static_cast<signed char>(c) > 0; }));
}

TEST(Screen, ColoursSayNothingThatWordsDoNot) {
  Situations screens;
  const auto add = [&](const std::string& situation, const Record& record) {
    std::string text = shown(record, {.columns = 80, .color = true});
    for (const char* code : {"\033[31m", "\033[32m", "\033[33m", "\033[0m"}) {
      const std::string name = std::string("<") + (code + 2);
      for (auto at = text.find(code); at != std::string::npos; at = text.find(code)) {
        text.replace(at, std::string(code).size(), name);
      }
    }
    EXPECT_EQ(text.find('\033'), std::string::npos) << situation;
    EXPECT_EQ(shown(record, {.columns = 80}).find('\033'), std::string::npos) << situation;
    screens.add(situation, text);
  };
  add("faster", h200_record());
  add("no difference", one_case(10.0e-3, 10.0e-3, 0.99, 1.01));
  add("slower", one_case(10.0e-3, 9.3e-3, 0.92, 0.94));
  add("wrong data", wrong_data_record());
  add("the same path", phb_record());
  Record wrong_path = h200_record();
  wrong_path.warnings.push_back({"wrong-path", "variant p2p: host memory carried its bytes", ""});
  add("a wrong path", wrong_path);
  add("without the largest size", without_largest_size(h200_record()));
  add("three variants", three_variants_record());
  Record one_path = three_variants_record();
  one_path.cases.pop_back();
  for (CaseResult& result : one_path.cases) {
    for (VariantResult& variant : result.variants) variant.path = Path::nvlink;
  }
  add("three variants of one path", one_path);
  add("one variant", one_variant_record());
  add("one variant without the largest size", without_largest_size(one_variant_record()));
  add("one variant of a latency", one_variant_record(latency_record()));
  Record wrong = one_variant_record();
  wrong.cases.pop_back();
  wrong.cases.back().variants.front().verification = checked(536870912, 12, {});
  add("one variant's wrong data", wrong);
  add("MPI", mpi_record());
  Record journal = h200_record();
  journal.status = RunStatus::unfinished;
  add("a journal", journal);
  add("nothing", Record{});
  expect_golden(screens.text(), "screen_situations.txt");
}

TEST(Screen, NamesAWarningThatThisVersionDoesNotKnow) {
  Record record = h200_record();
  record.warnings = {{"of-tomorrow", "", ""}};
  EXPECT_NE(shown(record, {}).find("warning: of-tomorrow (not known to this version): \n"),
            std::string::npos);
}

TEST(Screen, HasAllWarningsWholeInAFileAndNoneTwiceOnATerminal) {
  Record record = recorded("2xH200-node-1");
  record.warnings.clear();
  for (const char* name : {"first", "second", "third", "fourth"}) {
    record.warnings.push_back({"level-change", name + std::string(100, '.') + "end", {}});
  }
  const auto lines_with = [](const std::string& text, const std::string& part) {
    return std::ranges::count_if(split(text, '\n'), [&](const std::string& line) {
      return line.find(part) != std::string::npos;
    });
  };
  const std::string file = shown(record, {.is_file = true});
  EXPECT_EQ(lines_with(file, "...end"), 4) << file;
  const std::string terminal = shown(record, {});
  EXPECT_EQ(lines_with(terminal, "warning:"), 3) << terminal;
  EXPECT_EQ(lines_with(terminal, "...end"), 0);
  const std::string rest = screen(RunSummary(record), "Record: x", {}, 3);
  EXPECT_EQ(lines_with(rest, "warning:"), 1) << rest;
  EXPECT_EQ(lines_with(rest, "fourth"), 1);
}

TEST(Screen, PlotsTwoSizesOrMore) {
  const Record all = recorded("2xH200-default");
  const auto has_plot = [&](std::size_t sizes) {
    Record record = all;
    std::size_t seen = 0;
    std::erase_if(record.cases, [&](const CaseResult& each) {
      return each.definition.operation != OperationKind::all_reduce || seen++ >= sizes;
    });
    summarise(record);
    return shown(record, {.columns = 80}).find("▁") != std::string::npos;
  };
  EXPECT_FALSE(has_plot(1));
  EXPECT_TRUE(has_plot(2));
}

TEST(Screen, EveryRecordOfTheTreeFits) {
  for (const auto& entry : std::filesystem::directory_iterator(RESULTS_FOLDER)) {
    if (!std::filesystem::exists(entry.path() / "record.json")) continue;
    const Record record = recorded(entry.path().filename());
    for (const std::size_t columns : {40U, 60U, 120U}) {
      expect_fits(shown(record, {.columns = columns}), columns);
    }
  }
}

TEST(Screen, SaysWhatItLeavesOutHoweverLongTheAnswerIs) {
  const Record record = recorded("2xH200-nccl-send_recv");
  for (const std::size_t columns : {60U, 80U, 100U}) {
    for (const bool is_file : {false, true}) {
      EXPECT_THAT(shown(record, {.columns = columns, .is_file = is_file}),
                  testing::HasSubstr("report, too"))
          << columns << is_file;
    }
  }
}

/// Shows these instead of six rows of 0.99x to 1.00x.
TEST(Screen, LeavesOutFirstWhatIsShownToChangeLittle) {
  const Record record = recorded("2xH200-nccl-versions");
  for (const std::size_t columns : {60U, 80U, 120U}) {
    const std::string text = shown(record, {.columns = columns});
    for (const char* ratio : {"1.17x", "1.38x", "1.40x", "1.47x", "1.68x"}) {
      EXPECT_THAT(text, testing::HasSubstr(ratio));
    }
  }
}

/// Has the table of the headroom where the run was asked for it, however much there is to say.
TEST(Screen, BeginsWithTheHeadroom) {
  for (const char* folder : {"2xH200-kernels", "2xH200-headroom", "2xH200-headroom-bf16"}) {
    const std::string text = shown(recorded(folder), {.columns = 80});
    ASSERT_NE(text.find("\n  Headroom "), text.npos) << folder;
    EXPECT_LT(text.find("\n  Headroom "), text.find("\n  Operation ")) << folder;
  }
  EXPECT_THAT(shown(recorded("2xH200-headroom"), {.columns = 80}), testing::HasSubstr(" Floor "));
}

TEST(Screen, SaysThatNoLargerSizeWasMeasuredOnlyWhereThatIsSo) {
  const Record record = recorded("2xH200-nccl-send_recv");  // its first rows are of smaller sizes
  for (const std::size_t columns : {60U, 80U, 120U}) {
    EXPECT_THAT(shown(record, {.columns = columns}),
                testing::Not(testing::HasSubstr("No larger size")));
  }
}

/// Takes at most 12 lines of a block of code, in Markdown and in plain text, where the answer has
/// room in them.
TEST(Card, FitsIntoAnIssue) {
  Situations cards;
  const auto add = [&](const std::string& situation, const Record& record) {
    const std::string text = card(RunSummary(record));
    const std::vector<std::string> lines = split(text, '\n');
    const RunSummary summary(record);
    const std::size_t answer = line_count(
        in_lines(answer_sentence(summary, answer_of(summary)), {.columns = kCardColumns}));
    constexpr std::size_t kOthers = 7;  // fences, machine, software, path, a warning, the command
    EXPECT_LE(lines.size() - 1, std::max(kMostCardLines, answer + kOthers)) << text;
    EXPECT_EQ(lines.front(), "```text");
    EXPECT_EQ(lines[lines.size() - 2], "```");
    EXPECT_EQ(text.find('`', 3), text.size() - 4) << text;
    for (std::size_t i = 1; i + 3 < lines.size(); ++i) {
      EXPECT_LE(display_width(lines[i]), kCardColumns) << lines[i];
    }
    cards.add(situation, text);
  };
  for (const char* folder : {"2xH200-default", "2xH200-node-1", "4xH200-training", "2xH200-kernels",
                             "2xH200-nccl-send_recv"}) {
    add(folder, recorded(folder));
  }
  add("wrong data", wrong_data_record());
  add("the same path", phb_record());
  add("MPI in CPU memory", mpi_record());
  Record warned = h200_record();
  for (int i = 0; i < 9; ++i) warned.warnings.push_back({"w", "```\nwarning of a `job`", ""});
  add("many warnings", warned);
  add("one variant", one_variant_record());
  Record nothing = two_gpus();
  add("nothing measured", nothing);
  expect_golden(cards.text(), "cards.txt");
}

TEST(Card, HasTheWholeAnswerAndAWarning) {
  for (const auto& entry : std::filesystem::directory_iterator(RESULTS_FOLDER)) {
    if (!std::filesystem::exists(entry.path() / "record.json")) continue;
    const Record record = recorded(entry.path().filename());
    const RunSummary summary(record);
    const std::string text = card(summary);
    std::string flat = text;
    std::ranges::replace(flat, '\n', ' ');
    EXPECT_THAT(flat, testing::HasSubstr(answer_sentence(summary, answer_of(summary))));
    EXPECT_EQ(text.find("warning: ") != std::string::npos, !record.warnings.empty()) << text;
    if (summary.is_of_program()) {
      EXPECT_THAT(text, testing::HasSubstr("Speed-up")) << "the values of a program";
    }
  }
}

}  // namespace
}  // namespace linkgain::test
