#include "linkgain/report/answer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "answer_records.hpp"
#include "linkgain/analysis/run_validity.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/record/journal.hpp"
#include "setting_records.hpp"
#include "support/golden.hpp"
#include "support/sample_records.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

/// Puts an all-reduce of 256 MiB that hardly differs before the other case.
Record beside(const CaseResult& other) {
  return record_of({nvlink_case(all_reduce(1 << 28), 1.000e-3, 0.992e-3, 0.991, 0.993), other});
}

Record with_warning(Record record, const std::string& code, const std::string& text) {
  record.warnings = {{code, text, ""}};
  return record;
}

Record one_launch(Record record) {
  for (CaseResult& result : record.cases) {
    for (RatioResult& each : result.ratios) {
      each.ratio.interval.reset();
      each.ratio.replicates = 1;
    }
  }
  return record;
}

Record cut_by_budget(Record record) {
  record.settings.launches = 6;
  for (CaseResult& result : record.cases) result.converged = false;
  record.warnings = {{"fewer-launches", "1 launches instead of 6", ""}};
  return record;
}

std::string tables(const Record& record) {
  const RunSummary summary(record);
  std::string text;
  for (const Table& each : answer_tables(summary, answer_of(summary))) text += to_markdown(each);
  return text;
}

std::vector<Spoken> sentences_of_changes() {
  return {
      {"trainings",
       recorded("2xH200-training"),
       {"NVLink makes the GPT-2 step 2.17x as fast in bf16 (10.88 against 23.61 ms; 95 % CI 2.16x "
        "to 2.18x over 6 launches), 1.38x in tf32 and 1.08x in fp32."}},
      {"kernels",
       recorded("2xH200-kernels"),
       {"NCCL takes 4.06 times the time of linkgain's kernel at 8 B, 3.05 times at 1 MiB and 1.12 "
        "times at 1 GiB: that is the headroom. NVLink makes all-reduce of 1 GiB 12.5x as fast "
        "(325.7 against 26.0 GB/s with host; 95 % CI 11.6x to 13.6x over 6 launches). ll128 is "}},
      {"kernels, settings and stores",
       recorded("2xH200-headroom"),
       {"In all-reduce (graph), NCCL takes 4.05 times the time of linkgain's kernel at 16 B, 3.04 "
        "times at 1 MiB and 1.13 times at 1 GiB: that is the headroom. NCCL is furthest from the "
        "floor, the least time that the link allows, at 64 KiB: it takes 4.48x as long (6.86 us "
        "against 1.53 us; 95 % CI 4.42x to 4.54x), 2.79x with its best setting, and linkgain's "
        "kernel 1.22x. ll128 is ",
        "; it is faster in all-reduce of 256 KiB to 1 GiB, too: up to 1.11x at 1 MiB (95 % CI "
        "1.11x to 1.12x)."}},
      {"two NCCL versions",
       two_nccl_versions(),
       {"NCCL 2.32.3 (new) is slower than 2.28.3 (p2p) in send-recv of 16 KiB to 1 MiB, at most "
        "1.69x at 64 KiB (12.84 against 7.60 us; 95 % CI 1.68x to 1.70x over 6 launches); "
        "all-gather "
        "and reduce-scatter are within 5 %."}},
      {"an operation and a training",
       record_of({nvlink_case(all_reduce(1 << 28), 1e-3, 9e-3, 8.9, 9.1),
                  trained(TrainingPrecision::bf16, 10e-3, 20e-3)}),
       {"NVLink makes all-reduce of 256 MiB 9.00x as fast (",
        "); the GPT-2 step is 2.00x as fast in bf16."}},
      {"a slower path",
       one_case(10.0e-3, 9.3e-3, 0.92, 0.94),
       {"NVLink makes all-reduce of 1 GiB take 1.08x as long (107.4 against 115.5 GB/s; 95 % CI "
        "1.06x to 1.09x over 6 launches)."}}};
}

Record busy_before(Record record) {
  record.neighbours = Neighbours{.seen = {{.gpu = 0, .busy_percent = 98.0}}};
  return record;
}

Record several_warnings() {
  Record record = one_case(3e-3, 36e-3, 11.9, 12.1);
  record.warnings = {
      {"host-load", "while measuring, processes waited for a processor; and more", ""},
      {"links-disturbed", "NVLink carried 130 % of the expected bytes", ""},
      {"exec-neighbours", "in runs of host and p2p GPU 1 and GPU 0 were busy", ""}};
  for (const auto& [variant, gpu] : {std::pair{"host", 1}, {"p2p", 0}}) {
    ProgramRun& run = record.runs.emplace_back(ProgramRun{.variant = variant});
    run.evidence.neighbours.seen = {
        {.gpu = 7},  // held, and not busy
        {.gpu = gpu, .after_s = 2.0, .busy_percent = 50.0, .processes = {{1, "python3 (train)"}}}};
  }
  return record;
}

std::vector<Spoken> other_sentences() {
  return {
      {"latency",
       record_of({latency(800e-9, 2e-6)}),
       {"NVLink makes a message of 8 B 2.50x as fast (800.0 ns against 2.00 us; 95 % CI "}},
      {"a higher latency",
       record_of({latency(2.4e-6, 2e-6)}),
       {"NVLink makes a message of 8 B take 1.20x as long (2.40 against 2.00 us; 95 % CI "}},
      {"nothing that differs",
       one_case(10.0e-3, 10.0e-3, 0.99, 1.01),
       {"NVLink makes no significant difference to all-reduce of 1 GiB: 1.00x ("}},
      {"a wide interval",
       one_case(10.0e-3, 14.2e-3, 0.87, 2.31),
       {"Inconclusive: 1.42x (0.87x to 2.31x) for all-reduce of 1 GiB. Use more launches."}},
      {"a wide interval, as the budget was used up",
       cut_by_budget(one_case(10.0e-3, 14.2e-3, 0.87, 2.31)),
       {"Inconclusive: 1.42x (0.87x to 2.31x) for all-reduce of 1 GiB. Raise --budget."}},
      {"one launch",
       one_launch(one_case(10.0e-3, 14.2e-3, 0.87, 2.31)),
       {"Inconclusive: 1.42x for all-reduce of 1 GiB. One launch gives no interval. Use more "
        "launches."}},
      {"one launch, which the budget cut",
       cut_by_budget(one_launch(one_case(10.0e-3, 14.2e-3, 0.87, 2.31))),
       {"Inconclusive: 1.42x for all-reduce of 1 GiB. One launch gives no interval. Raise "
        "--budget."}},
      {"one launch of several cases",
       one_launch(record_of({nvlink_case(all_reduce(1 << 28), 1e-3, 2e-3, 1.9, 2.1),
                             trained(TrainingPrecision::fp32, 20e-3, 23e-3),
                             trained(TrainingPrecision::bf16, 10e-3, 31.4e-3)})),
       {"Inconclusive: 1.15x for the GPT-2 step in fp32 to 3.14x for the GPT-2 step in bf16. One "
        "launch gives no interval. Use more launches."}},
      {"four variants",
       four_variants(),
       {"tree is slower than p2p in all-reduce of 1 MiB to 256 MiB, at most 1.50x at 1 MiB (",
        " ll128 is faster than p2p in all-reduce of 1 MiB: 1.43x as fast (",
        " ring makes no significant difference to all-reduce of 256 MiB beside p2p: 1.00x ("}},
      {"disturbed in several ways",
       several_warnings(),
       {"Disturbed: in a run of host GPU 1 was 50 % busy 2 s after the start, while no job of this "
        "run was active; other work used the links; the host was busy. NVLink makes "}},
      {"a host whose load alone disturbed",
       with_warning(one_case(3e-3, 36e-3, 11.9, 12.1), "host-load",
                    "while measuring, processes waited for a processor in 100 % of the time"),
       {"Disturbed: the host was busy. NVLink makes "}},
      {"a disturbed run",
       busy_before(with_warning(one_case(3e-3, 36e-3, 11.9, 12.1), "busy-gpu", "text")),
       {"Disturbed: GPU 0 was 98 % busy before anything was started. NVLink makes all-reduce of 1 "
        "GiB 12.0x as fast ("}},
      {"a disturbed run of which no more is known",
       with_warning(one_case(3e-3, 36e-3, 11.9, 12.1), "busy-gpu", "text"),
       {"Disturbed: others used the GPUs. NVLink makes "}},
      {"a wrong path",
       with_warning(one_case(3e-3, 36e-3, 11.9, 12.1), "wrong-path", "host memory carried bytes"),
       {"WRONG PATH, see the warning. NVLink makes "}},
      {"wrong data", wrong_data_record(), {"WRONG DATA in 2 of 3 cases: all-reduce of "}},
      {"GPUs without P2P", phb_record(), {"P2P on and P2P off took the same path, host memory: "}},
  };
}

TEST(Answer, NamesTheLargestDecidedChangeOfTheQuestion) {
  std::vector<Spoken> rows = sentences_of_changes();
  std::ranges::move(other_sentences(), std::back_inserter(rows));
  for (const Spoken& row : rows) {
    SCOPED_TRACE(row.what);
    const std::string sentence = spoken(row.record);
    EXPECT_THAT(sentence, StartsWith(row.parts.front()));
    for (const std::string& part : row.parts) EXPECT_THAT(sentence, HasSubstr(part));
    EXPECT_THAT(sentence, EndsWith("."));
    for (const char* other_words : {" % faster", " % lower", " % higher"}) {
      EXPECT_THAT(sentence, Not(HasSubstr(other_words)));
    }
  }
}

TEST(Answer, SaysOnceThatOneLaunchHasNoInterval) {
  const std::string sentence = spoken(one_launch(four_variants()));
  EXPECT_THAT(sentence, HasSubstr(", p2p against tree. "));
  const std::size_t place = sentence.find("One launch gives no interval");
  ASSERT_NE(place, std::string::npos);
  EXPECT_EQ(sentence.find("One launch", place + 1), std::string::npos);
}

/// Leaves no ratio without its interval, which is half of the answer.
TEST(Answer, HasIntervalsInEightyColumns) {
  for (const char* name : {"2xH200-default", "2xH200-kernels", "2xH200-latency", "2xH200-training",
                           "2xH200-nccl-versions", "2xH200-nccl-send_recv", "2xH200-buffers"}) {
    const Record record = recorded(name);
    const RunSummary summary(record);
    for (const Table& each : answer_tables(summary, answer_of(summary))) {
      Document document;
      document.table(each);
      EXPECT_THAT(to_terminal(document, {.columns = 80}), HasSubstr("95 % CI")) << name;
    }
  }
}

TEST(Answer, SpeaksOfTheFirstRowWhereNothingIsShownToHaveChangedMore) {
  for (const CaseResult& other :
       {sent(1 << 16, 10.0e-6, 16.9e-6, 0.5, 5.0), sent(1 << 16, 10.0e-6, 10.05e-6, 1.001, 1.009),
        sent(1 << 16, 10.0e-6, 10.1e-6, 1.005, 1.015)}) {
    EXPECT_THAT(spoken(beside(other)), HasSubstr("all-reduce of 256 MiB"));
  }
}

/// Takes a path that is not known for no other path, and no variant for one of another name.
TEST(Answer, ContrastsWhatIsKnownToDiffer) {
  const auto contrast = [](const Record& record) { return RunSummary(record).cases[0].contrast; };
  Record record = recorded("2xH200-node-1");
  EXPECT_EQ(contrast(record), Contrast::nvlink);
  record.cases[0].variants[1].path = Path::unknown;
  EXPECT_EQ(contrast(record), Contrast::p2p) << "by what the variants set";
  record.settings.backend = BackendKind::mpi;
  record.cases[0].variants[0].variant = "shared-memory";
  EXPECT_EQ(contrast(record), Contrast::variant);
  record.cases[0].variants[1].variant = "tcp";
  EXPECT_EQ(contrast(record), Contrast::shared_memory);
}

/// Names what has a row, whatever its size and launch mode.
std::string asked(Case definition) {
  if (definition.pair) definition.pair = Pair{0, 1, definition.pair->both};
  definition.launch = LaunchMode::stream;
  definition.size = Bytes{0};
  return case_name(definition);
}

TEST(Answer, OfSumsOfModelsSaysWhatAModelWouldGain) {
  Record record = recorded("2xH200-inference");
  EXPECT_THAT(spoken(record), HasSubstr("llama-3-8b decodes one sequence"));
  std::erase_if(record.cases, [](const CaseResult& result) {
    return result.definition.operation == OperationKind::product_norm;
  });
  EXPECT_THAT(spoken(record), Not(HasSubstr("llama"))) << "nothing is known of the rest";
}

TEST(Answer, SaysNothingOfAVariantTwice) {
  for (const char* name : {"2xH200-headroom", "2xH200-headroom-bf16", "2xH200-kernels"}) {
    const Record record = recorded(name);
    const RunSummary summary(record);
    const Answer answer = answer_of(summary);
    for (const AnswerSentence& one : answer.sentences) {
      for (const AnswerSentence& other : answer.sentences) {
        const AnswerRow& row = other.rows.front();
        EXPECT_FALSE(one.contrary == row || one.contrary_elsewhere == row) << name;
      }
    }
  }
}

TEST(Answer, HasARowForEverythingThatWasMeasuredOrNamesIt) {
  for (const auto& entry : std::filesystem::directory_iterator(RESULTS_FOLDER)) {
    if (!std::filesystem::exists(entry.path() / "record.json")) continue;
    SCOPED_TRACE(entry.path().filename());
    const Record record = recorded(entry.path().filename());
    const RunSummary summary(record);
    const Answer answer = answer_of(summary);
    std::set<std::string> rows;
    for (const AnswerRow& each : answer.rows) {
      if (!summary.is_of_program()) rows.insert(asked(each.of->definition()));
    }
    const bool names_others = !answer.left_out.empty();
    const bool is_predicted = answer_sentence(summary, answer).find("llama") != std::string::npos;
    std::set<Bytes> sizes;
    for (const CaseSummary* each : answer.spoken_headroom) sizes.insert(each->definition().size);
    EXPECT_EQ(sizes.size(), answer.spoken_headroom.size());
    for (const CaseSummary& each : summary.cases) {
      const Case& definition = each.definition();
      if (summary.is_of_program() || !each.is_compared) continue;
      if (is_training(definition.operation) && !uses_link(definition)) continue;
      if (definition.hidden != 0 && is_predicted) continue;
      EXPECT_TRUE(names_others || rows.count(asked(definition)) == 1) << case_name(definition);
      EXPECT_EQ(answer.headroom.empty(), answer.spoken_headroom.empty());
    }
    for (const std::size_t room : {1U, 2U, 5U}) {
      const Answer few = answer_of(summary, room);
      EXPECT_LE(few.rows.size() + few.headroom.size(), room);
      EXPECT_EQ(answer_sentence(summary, few), answer_sentence(summary, answer));
      EXPECT_EQ(few.left_out.empty(), few.rows.size() + few.headroom.size() ==
                                              answer.rows.size() + answer.headroom.size() &&
                                          answer.left_out.empty());
    }
  }
}

TEST(Answer, ShowsTheLargestSizeAndThatOfTheLargestRatio) {
  const Record versions = two_nccl_versions();
  EXPECT_THAT(labels(answer_of(RunSummary(versions))),
              ElementsAre("send_recv 0->1 256 MiB", "send_recv 0->1 64 KiB", "all_gather 256 MiB",
                          "reduce_scatter 256 MiB"));
  const Record variants = four_variants();
  const RunSummary summary(variants);
  EXPECT_THAT(labels(answer_of(summary)),
              ElementsAre("all_reduce 256 MiB against ring", "all_reduce 256 MiB against tree",
                          "all_reduce 1 MiB against tree", "all_reduce 256 MiB against ll128",
                          "all_reduce 1 MiB against ll128"));
  const Answer few = answer_of(summary, 2);
  EXPECT_THAT(labels(few),
              ElementsAre("all_reduce 1 MiB against tree", "all_reduce 1 MiB against ll128"))
      << "what is spoken of comes first, the largest change before all";
  EXPECT_THAT(few.left_out, Contains("variant ring"));
}

TEST(Answer, HasRowsForKernelsDirectionsAndTrainingsWhileThereIsRoom) {
  const CaseResult plain = nvlink_case(all_reduce(1 << 28), 1.0e-3, 9.0e-3, 8.9, 9.1);
  CaseResult kernel = plain;
  kernel.definition.kernel = true;
  CaseResult both = sent(1 << 28, 1.0e-3, 12.0e-3, 11.9, 12.1);
  both.definition.pair = Pair{0, 1, true};
  const Record record = record_of({plain, kernel, sent(1 << 28, 1.0e-3, 9.0e-3, 8.9, 9.1), both,
                                   trained(TrainingPrecision::fp32, 1e-3, 9e-3),
                                   trained(TrainingPrecision::tf32, 1e-3, 9e-3),
                                   trained(TrainingPrecision::bf16, 1e-3, 9e-3)});
  const RunSummary summary(record);
  EXPECT_THAT(labels(answer_of(summary)), SizeIs(7));
  EXPECT_THAT(answer_of(summary).headroom, SizeIs(1));
  EXPECT_THAT(answer_of(summary).left_out, IsEmpty());
  const Answer few = answer_of(summary, 4);
  EXPECT_THAT(labels(few), ElementsAre("all_reduce 256 MiB", "send_recv 0->1 256 MiB",
                                       "send_recv 0<->1 256 MiB", "GPT-2 step fp32"));
  EXPECT_THAT(few.left_out, ElementsAre("all_reduce kernel", "headroom of all_reduce kernel",
                                        "GPT-2 step tf32", "GPT-2 step bf16"));
}

TEST(Answer, ShowsOneUnitInAColumn) {
  const std::string text = tables(recorded("2xH200-default"));
  EXPECT_THAT(text, HasSubstr("| all_reduce 1 GiB        |  3.29 ms | 39.38 ms |    12.0x |"));
  EXPECT_THAT(text, HasSubstr("326.6/27.3 |"));
  EXPECT_THAT(text, Not(HasSubstr("GB/s |  ")));
}

TEST(Answer, ShowsTheHeadroomOfKernels) {
  const std::string text = tables(recorded("2xH200-kernels"));
  EXPECT_THAT(text, HasSubstr("| Headroom               | NCCL     | Kernel  | Against NCCL  |"));
  EXPECT_THAT(text, HasSubstr("| all_reduce graph 1 GiB |  3.30 ms | 2.94 ms |"));
}

TEST(Answer, ClaimsNoHeadroomThatIsNotShown) {
  // One launch has no interval; a kernel that takes longer has no headroom.
  EXPECT_THAT(spoken(recorded("2xH200-copies")), Not(HasSubstr("headroom")));
  const std::string text = tables(recorded("2xH200-copies"));
  EXPECT_THAT(text, HasSubstr("| Headroom "));
  const std::string headroom = text.substr(text.find("| Headroom "));
  EXPECT_THAT(headroom, HasSubstr(" 1.11x as long | 1.10–1.11x |")) << "the kernel is slower";
  EXPECT_THAT(headroom, Not(HasSubstr(" 0.9"))) << "a ratio below 1 leaves that to the reader";
}

TEST(Answer, ShowsOfOneVariantWhatItTook) {
  Record record = h200_record();
  record.settings.variants.pop_back();
  record.settings.environment_in_force.pop_back();
  for (CaseResult& result : record.cases) {
    result.variants.pop_back();
    result.ratios.clear();
  }
  EXPECT_THAT(spoken(record), StartsWith("No conclusion: "));
  EXPECT_THAT(tables(record), HasSubstr("| all_reduce 1 GiB      | 3.27 ms |      328.4 |"));
}

TEST(Answer, IsTheSameInJson) {
  for (const char* folder : {"2xH200-training", "2xH200-kernels", "2xH100-ddp-bf16"}) {
    const Record record = recorded(folder);
    const RunSummary summary(record);
    const Answer answer = answer_of(summary);
    const RecordedAnswer written = recorded_answer(summary);
    EXPECT_EQ(written.sentence, answer_sentence(summary, answer)) << folder;
    std::set<std::string> named;
    std::set<std::string> shown;
    for (const RecordedRow& row : written.rows) named.insert(row.name);
    for (const AnswerRow& row : answer.rows) shown.insert(case_name(row.of->definition()));
    EXPECT_EQ(named, shown) << folder;
    ASSERT_EQ(written.spoken.size(), answer.spoken.size()) << folder;
    EXPECT_EQ(written.spoken.front().ratio, *answer.comparison()->ratio) << folder;
    ASSERT_EQ(written.headroom.size(), answer.headroom.size()) << folder;
    for (std::size_t i = 0; i < written.headroom.size(); ++i) {
      EXPECT_EQ(written.headroom[i].ratio, answer.headroom[i]->variants[0].library_ratio);
    }
  }
}

TEST(Answer, SaysInALineWhatIsLeftOut) {
  Answer answer;
  EXPECT_EQ(left_out_text(answer, 80), "");
  answer.left_out = {"all_reduce kernel", "variant net", "GPT-2 step bf16"};
  EXPECT_THAT(left_out_text(answer, 80), EndsWith("net, GPT-2 step bf16."));
  EXPECT_THAT(left_out_text(answer, 70), EndsWith("net and 1 more."));
  EXPECT_THAT(left_out_text(answer, 10), EndsWith("all_reduce kernel and 2 more."));
}

TEST(Answer, ShowsWrongDataBeforeAnyChange) {
  const Record record = wrong_data_record();
  const RunSummary summary(record);
  EXPECT_EQ(answer_of(summary).spoken.front(), answer_of(summary).rows.front());
}

TEST(Answer, IsOfNothingWhereNothingWasMeasured) {
  const Record record;
  EXPECT_EQ(answer_of(RunSummary(record)).main(), nullptr);
}

TEST(AnswerTables, ColourWhatIsShownToBeTheSameAsNoDoubt) {
  const auto is_doubtful = [](double low, double high) {
    const Record record = one_case(10.0e-3, 10.0e-3, low, high);
    const RunSummary summary(record);
    const Table table = answer_tables(summary, answer_of(summary)).front();
    return to_terminal(table, {.color = true}).find("\033[33m") != std::string::npos;
  };
  EXPECT_FALSE(is_doubtful(0.999, 1.001));
  EXPECT_TRUE(is_doubtful(0.8, 1.2));
}

}  // namespace
}  // namespace linkgain::test
