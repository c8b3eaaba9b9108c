#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "answer_records.hpp"
#include "setting_records.hpp"
#include "support/golden.hpp"
#include "support/race_records.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// Gives all cases of one variant beside the first another one's name.
Record of_variants(std::vector<CaseResult> cases, const std::vector<Variant>& variants) {
  Record record = two_gpus();
  record.settings.variants = variants;
  record.settings.environment_in_force.clear();
  for (CaseResult& each : cases) record.cases.push_back(of_setting(each, variants[1].name));
  return record;
}

/// Gives all-reduces by NCCL, which hardly differ, and by linkgain's kernel, of which one does.
Record with_kernels(const Variant& other) {
  std::vector<CaseResult> cases{nvlink_case(all_reduce(1 << 20), 1.465e-5, 1.470e-5, 1.001, 1.006),
                                nvlink_case(all_reduce(1 << 16), 2.13e-6, 2.14e-6, 0.999, 1.004),
                                nvlink_case(all_reduce(1 << 18), 2.88e-6, 3.03e-6, 1.04, 1.06)};
  for (CaseResult& each : cases) each.definition.kernel = each.definition.size.value < 1 << 20;
  return of_variants(cases, {{"p2p", {}}, other});
}

TEST(Answer, SaysOfSettingsWhatElseTheyChangedAndWhatSeveralChangedAlike) {
  Situations answers;
  answers.add("slower in three of four others", spoken(two_nccl_versions_by_both_modes()));
  Record record = four_variants();
  for (CaseResult& each : record.cases) {
    each.variants[1].time = each.variants[2].time;
    each.ratios[0].ratio = each.ratios[1].ratio;
  }
  answers.add("two of three variants alike", spoken(record));
  answers.add("two NCCL versions", spoken(recorded("2xH200-nccl-versions")));
  answers.add("five NCCL versions", spoken(recorded("2xH200-nccl-send_recv")));
  answers.expect_golden("answer_settings.txt");
}

/// Looks in what a sentence says beside its first figure for a launch mode, where the run has both,
/// and for intervals: by the other mode a reader may find nothing.
TEST(Answer, SaysByWhichLaunchModeAndWithWhichIntervalWhatElseChanged) {
  const std::regex place(" of [0-9]+ [KMG]?i?B(?! to)(?! \\((graph|stream))");
  const std::regex ratio("[0-9]x( as (long|fast))?(, at [0-9]+ [KMG]?i?B)?([;.]|, (but|in))");
  for (const char* folder : {"2xH200-nccl-versions", "2xH200-nccl-send_recv"}) {
    const std::string sentence = spoken(recorded(folder));
    EXPECT_THAT(sentence, HasSubstr("(stream)"));
    std::smatch found;
    EXPECT_FALSE(std::regex_search(sentence, found, ratio)) << found.str();
    const std::size_t beside = sentence.find("; it is slower in");
    EXPECT_FALSE(std::regex_search(sentence.begin() + static_cast<std::ptrdiff_t>(beside),
                                   sentence.end(), found, place))
        << found.str();
  }
}

/// Keeps NCCL from answering for a variant that another linkgain-bench, or what NCCL does not read,
/// tells from the first one.
TEST(Answer, SpeaksOfKernelsWhereTheVariantCanChangeThem) {
  Situations answers;
  for (const auto& [what, variant] :
       {std::pair("another linkgain-bench",
                  Variant{.name = "old", .environment = {}, .worker = "/old"}),
        {"a variable of CUDA's", Variant{"old", {{"CUDA_DEVICE_MAX_CONNECTIONS", "1"}}}},
        {"nothing", Variant{"old", {}}},
        {"a variable of NCCL's", Variant{"old", {{"NCCL_PROTO", "LL"}}}},
        {"another NCCL", Variant{"old", {{"LINKGAIN_NCCL", "/new.so"}}}}}) {
    answers.add(what, spoken(with_kernels(variant)));
  }
  answers.add("a run of three variants", spoken(recorded("2xH100-wait-before")));
  answers.expect_golden("answer_kernels.txt");
}

/// Covers records whose sentence could claim more than was measured.
TEST(Answer, ClaimsWhatWasMeasuredAndNoMore) {
  const std::vector<Variant> setting{{"p2p", {}}, {"new", {}}};
  CaseResult other_way = sent(1 << 20, 1.0e-3, 0.8e-3, 0.79, 0.81);
  other_way.definition.pair = Pair{1, 0};
  Record versions = two_nccl_versions();
  versions.settings.variants[1].environment = {{"NCCL_PROTO", "LL"}};
  const std::vector<Spoken> rows{
      {"a training that is slower beside one that is faster",
       record_of({trained(TrainingPrecision::bf16, 20e-3, 10e-3),
                  trained(TrainingPrecision::fp32, 10e-3, 11e-3)}),
       {"NVLink makes the GPT-2 step take 2.00x as long in bf16 (",
        "; the GPT-2 step is 1.10x as fast in fp32."}},
      {"a training that is slower beside a faster operation",
       record_of({nvlink_case(all_reduce(1 << 28), 1e-3, 9e-3, 8.9, 9.1),
                  trained(TrainingPrecision::fp32, 20e-3, 10e-3)}),
       {"NVLink makes all-reduce of 256 MiB 9.00x as fast (",
        "; the GPT-2 step takes 2.00x as long in fp32."}},
      {"an operation whose interval is wide is not within 5 %",
       of_variants({nvlink_case(all_reduce(1 << 28), 1e-3, 2e-3, 1.98, 2.02),
                    sent(1 << 28, 1e-3, 0.98e-3, 0.69, 1.38)},
                   setting),
       {"new is slower than p2p in all-reduce of 256 MiB: 2.00x as long (", "over 6 launches)."}},
      {"the largest change of a range, though another one's interval reaches further down",
       of_variants({nvlink_case(all_reduce(1 << 16), 1e-5, 1.75e-5, 1.66, 1.84),
                    nvlink_case(all_reduce(1 << 18), 1e-5, 1.7e-5, 1.69, 1.71)},
                   setting),
       {"new is slower than p2p in all-reduce of 64 KiB to 256 KiB, at most 1.75x at 64 KiB ("}},
      {"another NCCL that has a setting of its own, too",
       versions,
       {"new (NCCL 2.32.3) is slower than p2p (NCCL 2.28.3) in send-recv of 16 KiB to 1 MiB"}},
      {"a variant that takes as long: its own ratio and values",
       of_variants({nvlink_case(all_reduce(1 << 28), 1.004e-3, 1.0e-3, 0.992, 1.0005)}, setting),
       {"new makes no significant difference to all-reduce of 256 MiB beside p2p: 1.00",
        "x (268.4 against 267.4 GB/s;"}},
      {"a latency beside a setting",
       of_variants({latency(2e-6, 1e-6)}, setting),
       {"new is faster than p2p in a message of 8 B: 2.00x as fast (1.00 against 2.00 us; "}},
      {"one direction of two",
       of_variants({sent(1 << 20, 1.0e-3, 1.3e-3, 1.29, 1.31), other_way}, setting),
       {"new is slower than p2p in send-recv from GPU 0 to GPU 1 of 1 MiB: 1.30x as long ("}}};
  for (const Spoken& row : rows) {
    SCOPED_TRACE(row.what);
    const std::string sentence = spoken(row.record);
    EXPECT_THAT(sentence, StartsWith(row.parts.front()));
    for (const std::string& part : row.parts) EXPECT_THAT(sentence, HasSubstr(part));
    EXPECT_THAT(sentence, Not(HasSubstr("send-recv is within 5 %")));
  }
}

TEST(Answer, NamesAllSizesThatChangeByMoreThanAFewPerCent) {
  const std::vector<Variant> setting{{"p2p", {}}, {"new", {}}};
  const std::vector<Spoken> rows{
      {"all sizes that change by a few per cent, as ranges",
       of_variants({nvlink_case(all_reduce(1 << 10), 1e-5, 2e-5, 1.99, 2.01),
                    nvlink_case(all_reduce(1 << 12), 1e-5, 1.9e-5, 1.89, 1.91),
                    nvlink_case(all_reduce(1 << 20), 1.21e-5, 1e-5, 0.82, 0.84),
                    nvlink_case(all_reduce(1 << 26), 1e-3, 1.04e-3, 1.03, 1.05),
                    nvlink_case(all_reduce(1 << 28), 1e-3, 1.08e-3, 1.07, 1.09)},
                   setting),
       {"new is slower than p2p in all-reduce of 1 KiB to 4 KiB and of 64 MiB to 256 MiB, at most "
        "2.00x at 1 KiB (",
        "; at 1 MiB it is 1.21x as fast (95 % CI 1.19x to 1.22x)."}},
      {"no clause on a lesser contrary",
       of_variants({nvlink_case(all_reduce(1 << 10), 1e-5, 2e-5, 1.99, 2.01),
                    nvlink_case(all_reduce(1 << 28), 1.006e-3, 1e-3, 0.992, 0.996)},
                   setting),
       {"new is slower than p2p in all-reduce of 1 KiB: 2.00x as long (", "over 6 launches)."}}};
  for (const Spoken& row : rows) {
    SCOPED_TRACE(row.what);
    const std::string sentence = spoken(row.record);
    EXPECT_THAT(sentence, StartsWith(row.parts.front()));
    EXPECT_THAT(sentence, EndsWith(row.parts.back()));
  }
}

/// Keeps an answer from hiding sizes that contradict it.
TEST(Answer, NamesSizesThatGoTheOtherWay) {
  const std::vector<Variant> setting{{"p2p", {}}, {"new", {}}};
  const std::vector<Spoken> rows{
      {"an operation that is slower at its smallest size",
       record_of({nvlink_case(all_reduce(1 << 10), 1.2e-5, 1.0e-5, 0.82, 0.84),
                  nvlink_case(all_reduce(1 << 28), 1e-3, 9e-3, 8.9, 9.1)}),
       {"NVLink makes all-reduce of 256 MiB 9.00x as fast (",
        "); at 1 KiB it takes 1.20x as long (95 % CI 1.19x to 1.22x)."}},
      {"an operation that is faster at two sizes",
       record_of({nvlink_case(all_reduce(1 << 10), 1.0e-5, 1.2e-5, 1.19, 1.21),
                  nvlink_case(all_reduce(1 << 12), 1.0e-5, 1.3e-5, 1.29, 1.31),
                  nvlink_case(all_reduce(1 << 28), 9e-3, 1e-3, 0.11, 0.112)}),
       {"NVLink makes all-reduce of 256 MiB take 9.00x as long (",
        "); at 1 KiB to 4 KiB it is up to 1.30x as fast, at 4 KiB (95 % CI 1.29x to 1.31x)."}},
      {"no word of a size that goes the other way by less than a few per cent",
       of_variants({nvlink_case(all_reduce(1 << 16), 1.2e-5, 1.0e-5, 0.82, 0.84),
                    nvlink_case(all_reduce(1 << 18), 1.02e-5, 1.0e-5, 0.975, 0.985),
                    nvlink_case(all_reduce(1 << 28), 1e-3, 2e-3, 1.98, 2.02)},
                   setting),
       {"new is slower than p2p in all-reduce of 256 MiB: 2.00x as long (",
        "); at 64 KiB it is 1.20x as fast (95 % CI 1.19x to 1.22x)."}},
      {"another operation that P2P off makes faster, with all its sizes",
       record_of({nvlink_case(all_reduce(1 << 28), 1e-3, 9e-3, 8.9, 9.1),
                  sent(8, 1.2e-5, 1.0e-5, 0.82, 0.84), sent(4096, 1.1e-5, 1.0e-5, 0.90, 0.92),
                  sent(1 << 28, 1e-3, 8e-3, 7.9, 8.1)}),
       {"NVLink makes all-reduce of 256 MiB 9.00x as fast (",
        "); send-recv of 8 B to 4 KiB takes up to 1.20x as long, at 8 B (95 % CI 1.19x to "
        "1.22x)."}},
      {"a setting that is faster at another size",
       of_variants({nvlink_case(all_reduce(1 << 16), 1.2e-5, 1.0e-5, 0.82, 0.84),
                    nvlink_case(all_reduce(1 << 28), 1e-3, 2e-3, 1.98, 2.02)},
                   setting),
       {"new is slower than p2p in all-reduce of 256 MiB: 2.00x as long (",
        "); at 64 KiB it is 1.20x as fast (95 % CI 1.19x to 1.22x)."}},
      {"sizes of another operation, which is faster, too, at its largest one alone",
       of_variants(
           {nvlink_case(all_reduce(1 << 16), 1.0e-5, 1.5e-5, 1.49, 1.51),
            nvlink_case(all_reduce(1 << 28), 2e-3, 1e-3, 0.49, 0.51),
            sent(1 << 12, 1.0e-5, 1.1e-5, 1.09, 1.11), sent(1 << 16, 1.0e-5, 1.1e-5, 1.09, 1.11),
            sent(1 << 24, 1.0e-4, 1.2e-4, 1.19, 1.21), sent(1 << 28, 1.3e-3, 1.0e-3, 0.76, 0.78)},
           setting),
       {"new is faster than p2p in all-reduce of 256 MiB: 2.00x as fast (",
        "); at 64 KiB it takes 1.50x as long (95 % CI 1.49x to 1.51x); it is faster in send-recv "
        "of "
        "256 MiB, too: 1.30x (95 % CI 1.28x to 1.32x), but at 4 KiB to 16 MiB it takes up to "
        "1.20x as long, at 16 MiB (95 % CI 1.19x to 1.21x)."}}};
  for (const Spoken& row : rows) {
    SCOPED_TRACE(row.what);
    const std::string sentence = spoken(row.record);
    EXPECT_THAT(sentence, StartsWith(row.parts.front()));
    EXPECT_THAT(sentence, EndsWith(row.parts.back()));
  }
}

/// Keeps a row of the largest size from standing for sizes that go the other way, though those
/// change less.
TEST(Answer, HasARowForSizesThatGoTheOtherWay) {
  const Record record = of_variants(
      {nvlink_case(all_reduce(1 << 28), 2e-3, 1e-3, 0.49, 0.51),
       sent(1 << 16, 1.0e-5, 1.01e-5, 1.005, 1.015), sent(1 << 24, 1.0e-4, 1.1e-4, 1.09, 1.11),
       sent(1 << 28, 1.3e-3, 1.0e-3, 0.76, 0.78)},
      {{"p2p", {}}, {"new", {}}});
  const RunSummary summary(record);
  EXPECT_THAT(labels(answer_of(summary)),
              ElementsAre("all_reduce 256 MiB", "send_recv 0->1 256 MiB", "send_recv 0->1 16 MiB"));
}

/// Keeps the row that the sentence begins with where there is room for only one.
TEST(Answer, HasTheRowOfItsFirstSentenceAndNamesEveryVariant) {
  const Record record = recorded("2xH200-nccl-send_recv");
  const RunSummary summary(record);
  const Answer one = answer_of(summary, 1);
  EXPECT_THAT(labels(one), ElementsAre("send_recv graph 64 KiB against v29"));
  EXPECT_EQ(one.spoken.front(), one.rows.front());
  EXPECT_THAT(
      labels(answer_of(summary, 4)),
      ElementsAre("send_recv graph 64 KiB against v29", "send_recv graph 256 MiB against v32-chunk",
                  "send_recv graph 128 KiB against v32-ll",
                  "send_recv graph 64 KiB against v28-ll"))
      << "rows of the same ratio leave room to those of other ones";
  for (const char* named :
       {"all_reduce 128 KiB against v32", "send_recv graph 16 MiB against v32-chunk"}) {
    EXPECT_THAT(labels(answer_of(summary)), Contains(named)) << "the sentence names it, too";
  }
  const std::string sentence = answer_sentence(summary, one);
  EXPECT_THAT(sentence, StartsWith("v29 (NCCL 2.29.7), v30 (NCCL 2.30.7), "))
      << "versions come before settings, which change more";
  EXPECT_THAT(sentence, HasSubstr("1.67x at 64 KiB"));
  EXPECT_THAT(sentence, HasSubstr(" v32-chunk (NCCL 2.32.3) is faster "))
      << "its largest change is a loss, and its gain the largest";
  EXPECT_THAT(sentence, HasSubstr(" v28-ll is slower ")) << "the last of all";
}

/// Speaks of a setting that has left the race long before launches confirm another.
TEST(Answer, OfARaceSaysWhichSettingGaveWrongData) {
  Record record = race_record(
      {{{"ll128", std::vector<double>(5, 0.7)}, {"ring", std::vector<double>(5, 1.5)}}});
  EXPECT_THAT(spoken(record), StartsWith("With NCCL_PROTO=LL128 "));
  VariantResult& ring = record.cases[2].variants[2];
  ring.verification = Verification{.checked = 8, .wrong = 1, .first_wrong = {}};
  EXPECT_THAT(spoken(record), StartsWith("WRONG DATA in 1 "));
  EXPECT_THAT(spoken(record), HasSubstr("4 MiB with ring, "));
}

TEST(Answer, HasARowForEveryFigureOfItsSentences) {
  for (const char* folder :
       {"2xH200-kernels", "2xH200-nccl-send_recv", "2xH200-nccl-versions", "2xH100-wait-before"}) {
    const Record record = recorded(folder);
    const RunSummary summary(record);
    const Answer answer = answer_of(summary);
    std::vector<AnswerRow> named = answer.spoken;
    for (const AnswerSentence& each : answer.sentences) {
      for (const AnswerRow& row : each.beside()) {
        if (row.of != nullptr) named.push_back(row);
      }
    }
    const Answer few = answer_of(summary, named.size() + answer.spoken_headroom.size());
    for (const AnswerRow& row : named) {
      for (const Answer* each : {&answer, &few}) {
        EXPECT_EQ(std::ranges::count(each->rows, row), 1) << answer_label(row.of->definition());
      }
    }
  }
}

}  // namespace
}  // namespace linkgain::test
