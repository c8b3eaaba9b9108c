#include "linkgain/html/run_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <regex>
#include <set>
#include <utility>

#include "linkgain/analysis/run_validity.hpp"
#include "linkgain/cases/case.hpp"
#include "linkgain/record/journal.hpp"
#include "linkgain/record/warning.hpp"
#include "support/golden.hpp"
#include "support/profile_record.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using namespace linkgain::test;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Record recorded(const std::string& folder) {
  Record record = read_record(std::string(RESULTS_FOLDER) + "/" + folder);
  judge(record);
  return record;
}

/// Reads a record with these clock events in every so many samples, and nothing else wrong.
Record healthy(const char* folder, std::uint64_t events = 0, std::size_t every = 1) {
  Record record = read_record(std::string(RESULTS_FOLDER) + "/" + folder);
  record.settings.precision.reset();
  record.warnings.clear();
  std::size_t samples = 0;
  for (CaseResult& result : record.cases) {
    for (Sample& sample : result.samples) {
      const bool has_events = samples++ % every == 0;
      for (Health& health : sample.health) health.clock_event_reasons = has_events ? events : 0;
    }
  }
  summarise(record);
  for (CaseResult& result : record.cases) {
    for (VariantResult& variant : result.variants) variant.level_shift.reset();
  }
  return record;
}

/// Takes out all that stands from `begin` to `end`.
std::string without(std::string text, std::string_view begin, std::string_view end) {
  for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at)) {
    text.erase(at, text.find(end, at) + end.size() - at);
  }
  return text;
}

/// Returns what the answer's section says, without its elements and the drawings.
std::string answer_of(const Record& record) {
  const std::string page = run_page(RunSummary(record));
  const std::size_t begin = page.find("<section id=\"answer\"");
  std::string part = page.substr(begin, page.find("</section>", begin) - begin);
  part = without(without(part, "<svg", "</svg>"), "<details", "</details>");
  static const std::regex kCellEnd("</t[hd]><");
  static const std::regex kTag("<[^>]*>");
  static const std::regex kEmptyLines("\n+");
  part = std::regex_replace(part, kCellEnd, " | <");
  part = with_replaced(with_replaced(part, "&#160;", " "), "&#8288;", "");
  return std::regex_replace(std::regex_replace(part, kTag, ""), kEmptyLines, "\n");
}

TEST(RunPage, AnswersWhatAReaderAsks) {
  Situations answers;
  for (const char* folder : {"2xH200-default", "2xH200-full", "4xH200-default", "2xH200-training",
                             "2xH200-kernels", "2xH200-node-1", "2xH100-ddp-bf16",
                             "2xH200-nccl-versions", "2xH200-nccl-send_recv", "2xH200-copies"}) {
    answers.add(folder, answer_of(recorded(folder)));
  }
  Record record = recorded("2xH200-default");
  record.status = RunStatus::job_lost;
  record.cases[3].variants[0].verification->wrong = 12;
  record.warnings.push_back({"wrong-path", "p2p took host memory", ""});
  answers.add("wrong data, a wrong path and a lost job", answer_of(record));
  Record disagreeing = recorded("2xH200-default");
  const auto judged = std::ranges::find_if(disagreeing.cases, [](const CaseResult& each) {
    return each.variants.back().evidence && each.variants.back().evidence->judged_share();
  });
  ASSERT_NE(judged, disagreeing.cases.end());
  judged->variants.back().path = Path::nvlink;
  answers.add("counters that disagree with a path", answer_of(disagreeing));
  Record program = recorded("2xH100-ddp-bf16");
  program.runs.front().failure = "exit status 1";
  program.runs.front().evidence.gpus.clear();
  program.status = RunStatus::incomplete;
  program.warnings = {{"run-failed", "p2p-1 failed", ""},
                      {"exec-neighbours", "GPU 0 was busy", ""}};
  answers.add("a program of which a run failed", answer_of(program));
  for (const char* folder : {"2xH100-wait-before", "2xH200-latency"}) {
    const std::string text = answer_of(recorded(folder));
    const std::size_t counters = text.find("NVLink&apos;s counters were");
    answers.add(std::string("what the counters judge: ") + folder,
                text.substr(counters, text.find('\n', counters) - counters));
  }
  Record empty;
  answers.add("nothing measured", answer_of(empty));
  answers.expect_golden("answers.txt");
}

TEST(RunPage, SaysOfEachWarningWhetherSomethingIsWrong) {
  Situations answers;
  Record record = healthy("2xH200-quick");
  record.cases.resize(2);  // of which a page takes less time
  for (const WarningRow& row : warning_rows()) {
    if (row.origin == WarningOrigin::comparison) continue;  // in no run's record
    const std::string code(row.name);
    Record warned = record;
    warned.warnings = {{code, "text of the warning", ""}};
    const std::string text = answer_of(warned);
    const std::size_t begin = text.find("Is anything wrong?");
    answers.add(code, with_replaced(text.substr(begin, text.find("At which size", begin) - begin),
                                    code, "CODE"));
  }
  answers.expect_golden("warnings.txt");
}

TEST(RunPage, TrustsARunOnlyWhereNothingIsWrong) {
  for (const char* folder : {"2xH200-training", "2xH100-ddp-bf16"}) {
    Record record = healthy(folder);
    record.cases.resize(2);  // of which a page takes less time
    for (const WarningRow& row : warning_rows()) {
      Record warned = record;
      warned.warnings = {{std::string(row.name), "text", ""}};
      const std::string text = answer_of(warned);
      const bool is_notice = row.weight == WarningWeight::notice;
      EXPECT_EQ(text.find("Is anything wrong?\nNo: ") != text.npos, is_notice) << row.name;
      const bool is_precise = std::string_view(folder) == "2xH200-training";
      EXPECT_EQ(text.find("trusted?\nYes, within the intervals: ") != text.npos,
                is_notice && is_precise)
          << row.name;
      EXPECT_EQ(text.find("The 1 warning names no fault.") != text.npos, is_notice) << row.name;
    }
  }
}

/// Returns what stands between this title and the next one.
std::string part_after(const std::string& text, const std::string& title) {
  const std::size_t begin = text.find(title);
  if (begin == text.npos) return "";
  const std::size_t first = begin + title.size() + 1;
  return text.substr(first, text.rfind('\n', text.find("?\n", first)) - first);
}

TEST(RunPage, SaysWhichPrecisionWasAskedForAndCameOut) {
  for (const char* folder : {"2xH200-default", "2xH100-ddp-bf16"}) {
    const bool is_of_program = std::string_view(folder).starts_with("2xH100");
    for (const auto& [precision, shown] : {std::pair<std::optional<double>, const char*>{
                                               std::nullopt, is_of_program ? "±2 %" : "±1 %"},
                                           {0.002, "±0.2 %"},
                                           {0.5, "±50 %"}}) {
      Record record = healthy(folder);
      record.settings.precision = precision;
      const std::string text = answer_of(record);
      const bool is_wide = precision > 0.1;
      const std::string verdict = part_after(text, "Can it be trusted?");
      EXPECT_EQ(verdict.starts_with("With care: ±50 % was asked for; the intervals are: "), is_wide)
          << verdict;
      const bool is_missed =
          verdict.find(std::string(" (") + shown + " was asked for)") != verdict.npos;
      EXPECT_EQ(verdict.starts_with("Yes, within the intervals: "), !is_wide && !is_missed)
          << verdict;
      EXPECT_EQ(is_missed, !is_wide) << verdict;
      EXPECT_EQ(verdict.find("send-recv ±") < verdict.find(", training ±") &&
                    verdict.find("; widest: ") != verdict.npos,
                !is_of_program)
          << verdict;
      const std::string grounds = text.substr(text.find("Precision: "));
      EXPECT_THAT(grounds, HasSubstr(std::string(" reached what was asked for, ") + shown));
      EXPECT_EQ(grounds.find("instead of the default, ±") != grounds.npos, is_wide);
      EXPECT_THAT(grounds, HasSubstr("The answer&apos;s intervals are ±"));
    }
  }
}

/// Keeps sizes that changed by 1 or 2 % from standing beside a sentence that leaves them out.
TEST(RunPage, PaysAtTheSizesThatItsSentenceNames) {
  const std::string text = answer_of(recorded("2xH100-wait-before"));
  EXPECT_THAT(text, HasSubstr(" in all-reduce of 256 KiB"));
  EXPECT_THAT(part_after(text, "At which size does it pay?"), StartsWith("At 256 KiB (1.03x): "));
  const std::string pays = part_after(answer_of(recorded("2xH200-headroom")), "does it pay?");
  EXPECT_THAT(pays, HasSubstr(" is shown to "));
  EXPECT_THAT(pays, HasSubstr(" most at 1 MiB (1.11x)"));
  EXPECT_THAT(pays, Not(HasSubstr("more variant"))) << "all are named";
}

/// Takes out what has intervals that reach 3 %: 16 B, to 1.034, and copies, to 1.043.
TEST(RunPage, SaysThatNothingTakesLongerWhereIntervalsExcludeIt) {
  Record record = recorded("2xH200-headroom");
  std::erase_if(record.cases, [](const CaseResult& each) {
    return each.definition.operation != OperationKind::all_reduce ||
           each.definition.size < Bytes{65536};
  });
  summarise(record);
  EXPECT_THAT(part_after(answer_of(record), "does it pay?"), HasSubstr(" no size takes 3 "));
}

/// Lets a result of a case change its level within a launch.
void shift(Record& record, std::string_view name, double ratio) {
  const auto found = std::ranges::find_if(
      record.cases, [&](const CaseResult& each) { return case_name(each.definition) == name; });
  ASSERT_NE(found, record.cases.end());
  found->variants.back().level_shift = LevelShift{.ratio = ratio};
}

TEST(RunPage, WeighsFaultsByHowMuchOfTheRunTheyAreIn) {
  constexpr const char* kFolder = "2xH200-default";
  constexpr const char* kShown = "send_recv/float32/1GiB/np2";
  constexpr const char* kBeside = "send_recv/float32/256MiB/np2";
  Situations faults;
  const auto add = [&](const std::string& situation, const Record& record) {
    const std::string text = answer_of(record);
    faults.add(situation,
               part_after(text, "Is anything wrong?") + "\n...\n" +
                   part_after(text.substr(text.find("Each operation")), "anything wrong?"));
  };
  add("nothing", healthy(kFolder));
  Record small = healthy(kFolder);
  shift(small, kBeside, 0.967);
  add("a small change of level beside the answer", small);
  Record capped = healthy(kFolder, 0x4, 2);
  shift(capped, kBeside, 0.967);
  add("the same, and a power limit in half of the samples", capped);
  shift(capped, kShown, 1.2);
  add("the same, and a change of what the answer shows", capped);
  Record throttled = healthy(kFolder, 0x40, 4);
  shift(throttled, kShown, 1.2);
  add("throttling in a quarter of the samples, and a change of level", throttled);
  faults.expect_golden("faults.txt");
}

TEST(RunPage, AnswersEachQuestionBeforeItsFirstPicture) {
  const std::regex link("href=\"#([^\"]*)\"");
  for (const char* folder : {"2xH200-default", "2xH200-training", "2xH200-kernels", "2xH200-node-1",
                             "2xH100-ddp-bf16", "2xH200-nccl-versions", "4xH200-default"}) {
    const std::string page = run_page(RunSummary(recorded(folder)));
    const std::string first = page.substr(0, page.find("<figure>"));
    for (const char* title : {"Which path?", "Is anything wrong?", "Can it be trusted?"}) {
      EXPECT_THAT(first, HasSubstr(title)) << folder;
    }
    EXPECT_EQ(first.find("At which size does it pay?") != first.npos,
              page.find("<section id=\"sizes\"") != page.npos)
        << folder;
    for (std::sregex_iterator each(page.begin(), page.end(), link), end; each != end; ++each) {
      const std::string target = " id=\"" + (*each)[1].str() + "\"";
      EXPECT_THAT(page, HasSubstr(target)) << folder << " leads to nothing";
    }
  }
}

TEST(RunPage, HasASectionForAllThatTheRecordHolds) {
  const Record record = recorded("4xH200-default");
  const std::string page = run_page(RunSummary(record));
  for (const char* id : {"answer", "machine", "sizes", "training", "health", "traffic", "variants",
                         "repeat", "words"}) {
    EXPECT_THAT(page, HasSubstr(std::string("<section id=\"") + id + "\"")) << id;
  }
}

TEST(RunPage, NamesEachTableOfTrainingsByWhatItHolds) {
  const std::string page = run_page(RunSummary(recorded("4xH200-default")));
  const std::size_t begin = page.find("<section id=\"training\"");
  const std::string part = page.substr(begin, page.find("</section>", begin) - begin);
  const std::regex caption("<caption>([^<]*)</caption>");
  std::set<std::string> names;
  for (std::sregex_iterator each(part.begin(), part.end(), caption), end; each != end; ++each) {
    EXPECT_TRUE(names.insert((*each)[1]).second) << (*each)[1];
  }
  EXPECT_GE(names.size(), 2U);
}

TEST(RunPage, BeginsWithAPictureOfTheAnswer) {
  const std::vector<std::pair<const char*, const char*>> titles{
      {"2xH200-default", "speed-up"},
      {"2xH200-kernels", "headroom"},
      {"2xH200-headroom", "all_reduce graph: headroom"},
      {"2xH200-training", "a training step"},
      {"2xH200-latency", "latency 0&lt;-&gt;1: speed-up"},
      {"2xH200-copies", "copy_push 0&lt;-&gt;1: speed-up"},  // of which the sentence speaks
      {"4xH200-default", "speed-up"},
      {"2xH200-node-1", "Speed-up of what"},
      {"2xH100-ddp-bf16", "every run, and the mean"}};
  for (const auto& [folder, title] : titles) {
    const std::string page = run_page(RunSummary(recorded(folder)));
    const std::size_t caption = page.find("<figcaption>");
    EXPECT_THAT(page.substr(caption, page.find('<', caption + 1) - caption), HasSubstr(title))
        << folder;
    EXPECT_LT(caption, page.find("<table>")) << folder;
  }
}

TEST(RunPage, OfOneVariantHasAPictureAndNoIntervals) {
  Record record = recorded("2xH200-default");
  record.settings.variants.resize(1);
  for (CaseResult& result : record.cases) {
    result.variants.resize(1);
    std::erase_if(result.samples, [](const Sample& sample) { return sample.variant > 0; });
  }
  summarise(record);
  EXPECT_THAT(run_page(RunSummary(record)), HasSubstr("<figcaption>"));
  const std::string text = answer_of(record);
  EXPECT_THAT(part_after(text, "Can it be trusted?"), StartsWith("Nothing is compared, "));
  EXPECT_THAT(text, HasSubstr("Repetition: "));
  EXPECT_THAT(text, Not(HasSubstr("Precision: ")));
}

TEST(RunPage, CountsSecondsOfHealth) {
  const std::string page = run_page(RunSummary(recorded("2xH200-default")));
  EXPECT_THAT(page.substr(page.find("id=\"health-0-t\"")), HasSubstr("time of measuring"));
}

TEST(RunPage, HidesNoPeakOrDipOfHealthInAMean) {
  Record record = recorded("2xH200-default");
  const std::string title = ", the (highest|lowest) of each [0-9]+ samples</figcaption>";
  EXPECT_TRUE(
      std::regex_search(run_page(RunSummary(record)), std::regex("Power over the run" + title)));
  Health& health = record.cases[5].samples[3].health[0];
  health.temperature_c = 191;
  health.sm_clock_mhz = 123;
  const std::string page = run_page(RunSummary(record));
  const std::string curves = page.substr(page.find("id=\"health\""));
  EXPECT_THAT(curves, testing::AllOf(HasSubstr(">191<"), HasSubstr(">123<")));
}

TEST(RunSvg, StandsAlone) {
  for (const char* folder :
       {"2xH200-default", "2xH200-kernels", "2xH200-training", "2xH100-ddp-bf16"}) {
    const std::string svg = run_svg(RunSummary(recorded(folder)));
    EXPECT_THAT(svg, HasSubstr(" width=\"1076\"")) << folder << " is as wide as the others";
    EXPECT_THAT(svg, StartsWith("<svg xmlns=\"http://www.w3.org/2000/svg\" width="));
    EXPECT_THAT(svg, HasSubstr("prefers-color-scheme: dark"));
    EXPECT_THAT(svg, HasSubstr("class=\"ground\""));
    EXPECT_THAT(svg, HasSubstr("class=\"title\""));
    for (const char* word : {"<script", "url(", "href", "@import", "nan", "inf"}) {
      EXPECT_THAT(svg, Not(HasSubstr(word))) << folder;
    }
  }
}

TEST(RunPage, ShadesPairs) {
  const Record record = recorded("2xH200-node-1");
  const std::string page = run_page(RunSummary(record));
  EXPECT_THAT(page, HasSubstr("<section id=\"pairs\""));
  EXPECT_THAT(page, HasSubstr("A stronger shade"));
}

TEST(RunPage, ShowsKernelsBesideNccl) {
  const Record record = recorded("4xH200-kernels");
  const std::string page = run_page(RunSummary(record));
  EXPECT_THAT(page, HasSubstr("linkgain&apos;s kernel"));
  EXPECT_THAT(page, HasSubstr("NCCL, P2P on"));
}

TEST(RunPage, DrawsAKernelOnceForAllSettingsOfNcclOnAPath) {
  Record record = recorded("2xH200-kernels");
  EXPECT_THAT(run_page(RunSummary(record)), AllOf(HasSubstr("linkgain&apos;s kernel, host<"),
                                                  Not(HasSubstr("linkgain&apos;s kernel, ll128<")),
                                                  Not(HasSubstr("kernel, p2p against ll128"))));
  record.settings.variants.back().worker = "/other/linkgain-bench";
  EXPECT_THAT(run_page(RunSummary(record)), HasSubstr("linkgain&apos;s kernel, ll128<"));
}

TEST(RunPage, OfTheFullProfileOnEightGpusIsSmall) {
  constexpr std::size_t kMost = 3'000'000;
  Record record = profile_record(Profile::full, 8, 2, kFewestSamples);
  EXPECT_NO_THROW(parse_record(to_json(record), "made up")) << "scripts write it into a file";
  summarise(record);
  const std::string page = run_page(RunSummary(record));
  EXPECT_LT(page.size(), kMost);
  EXPECT_THAT(page, HasSubstr("GPU7"));
  EXPECT_THAT(page, Not(HasSubstr("disagree"))) << "its evidence fits its paths";
}

TEST(RunPage, OfSeveralRecordsHasASeriesForEach) {
  const std::vector<NamedRecord> records{{"before <1>", recorded("2xH200-node-1")},
                                         {"after", recorded("2xH200-node-2")}};
  const std::string page = runs_page(records);
  EXPECT_THAT(page, HasSubstr("before &lt;1&gt;: P2P on"));
  EXPECT_THAT(page, HasSubstr("after: P2P off"));
  EXPECT_THAT(page, Not(HasSubstr("before <1>")));
}

TEST(RunPage, NamesTheRanksOfCurvesThatDifferInThem) {
  const std::vector<NamedRecord> records{{"two", recorded("2xH200-default")},
                                         {"four", recorded("4xH200-default")}};
  const std::string page = runs_page(records);
  for (const char* title : {">all_reduce, 2 ranks: speed-up<", ">all_reduce, 4 ranks: speed-up<"}) {
    EXPECT_THAT(page, HasSubstr(title));
  }
  EXPECT_THAT(run_page(RunSummary(records[0].record)), HasSubstr(">all_reduce: speed-up<"));
}

TEST(RunPage, EscapesAllTextOfOthers) {
  Record record = recorded("2xH200-default");
  const std::string bad = "<b x=\"1\">&'";
  record.machine.host = bad;
  record.machine.processor = bad;
  record.machine.kernel = bad;
  record.started = bad;
  record.settings.label = bad;
  record.settings.argv = {"linkgain", bad};
  record.settings.variants[0].environment["NCCL_ALGO"] = bad;
  record.settings.environment_in_force[0]["NCCL_ALGO"] = bad;
  record.warnings = {{bad, bad, bad}};
  for (RankInfo& rank : record.machine.ranks) {
    rank.host = bad;
    rank.cpus = bad;
    rank.gpu->name = bad;
    rank.gpu->pci_bus_id = bad;
  }
  for (CaseResult& result : record.cases) {
    for (VariantResult& variant : result.variants) {
      if (variant.variant == "host") variant.variant = bad;
      if (variant.verification) {
        variant.verification->wrong = variant.variant == bad ? 1 : 0;
        variant.verification->first_wrong = bad;
      }
      if (variant.evidence) variant.evidence->reason = bad;
    }
  }
  EXPECT_THAT(run_page(RunSummary(record)), Not(HasSubstr("<b ")));
  EXPECT_THAT(run_svg(RunSummary(record)), Not(HasSubstr("<b ")));
  const std::vector<NamedRecord> twice{{bad, record}, {"other", record}};
  EXPECT_THAT(runs_page(twice), Not(HasSubstr("<b ")));
}

}  // namespace
}  // namespace linkgain::test
