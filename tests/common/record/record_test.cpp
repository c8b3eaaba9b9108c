#include "linkgain/record/record.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <set>

#include "linkgain/record/recorded_variables.hpp"
#include "linkgain/record/warning.hpp"
#include "support/full_record.hpp"
#include "support/launch_records.hpp"
#include "support/sample_records.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::DoubleEq;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;
using testing::SizeIs;

Sample sample(int variant, int launch, int round,
              const std::vector<std::optional<double>>& seconds) {
  Sample result;
  result.variant = variant;
  result.launch = launch;
  result.round = round;
  for (const std::optional<double>& rank : seconds) {
    result.times.push_back(rank ? std::optional(Seconds{*rank}) : std::nullopt);
  }
  return result;
}

/// Makes all_reduce of 1 GiB on two ranks, so that busbw is algbw, with this many variants.
CaseResult unmeasured(int variants) {
  CaseResult result;
  result.definition.size = Bytes{1 << 30};
  for (int i = 0; i < variants; ++i) {
    result.variants.emplace_back();
    result.variants.back().variant = std::to_string(i);
  }
  return result;
}

TEST(Sample, TakesTheTimeOfTheSlowestRank) {
  EXPECT_EQ(sample(0, 0, 0, {0.25, std::nullopt, 0.5, 0.125}).time(), Seconds{0.5});
  EXPECT_EQ(sample(0, 0, 0, {}).time(), Seconds{0.0});
}

TEST(Summarise, TakesMediansOverSamplesAndRanks) {
  CaseResult result = unmeasured(1);
  result.definition.ranks = 4;
  const std::vector<Sample> samples{sample(0, 0, 0, {0.5, 0.25}), sample(0, 0, 1, {0.75, 1.0}),
                                    sample(0, 0, 2, {0.125, 2.0})};
  result.samples = samples;
  summarise(result);
  const VariantResult& variant = result.variants[0];
  EXPECT_EQ(variant.time, Seconds{1.0});
  EXPECT_THAT(variant.skew, Optional(DoubleEq(0.5))) << "of 0.5, 0.25 and 0.9375";
  EXPECT_THAT(variant.algbw, Optional(DoubleEq(1.073741824)));
  EXPECT_THAT(variant.busbw, Optional(DoubleEq(1.073741824 * 1.5)));
  EXPECT_TRUE(result.ratios.empty());
}

/// Launches in which a variant takes so long, with three samples about that.
void add_launches(CaseResult& result, int variant, const std::vector<double>& seconds) {
  for (std::size_t launch = 0; launch < seconds.size(); ++launch) {
    for (int round = 0; round < 3; ++round) {
      const double time = seconds[launch] * (round == 0 ? 1.1 : round == 1 ? 1.0 : 0.5);
      result.samples.push_back(sample(variant, static_cast<int>(launch), round, {time}));
    }
  }
}

TEST(Summarise, TakesTheGeometricMeanOfLaunchMedians) {
  CaseResult result = unmeasured(3);
  add_launches(result, 0, {1e-3, 4e-3});
  add_launches(result, 1, {3e-3, 3e-3, 9e-3});
  result.samples.push_back(sample(1, 3, 0, {5.0}));  // too few for a median
  summarise(result);
  EXPECT_NEAR(result.variants[0].time->value, 2e-3, 1e-15);
  EXPECT_NEAR(result.variants[1].time->value, 3e-3 * std::cbrt(3.0), 1e-15);
  EXPECT_FALSE(result.variants[2].time);
  ASSERT_EQ(result.ratios.size(), 1U) << "the third variant was not sampled";
  EXPECT_EQ(result.ratios[0].variant, "1");
  EXPECT_EQ(result.ratios[0].ratio.value,
            result.variants[1].time->value / result.variants[0].time->value)
      << "the quotient of the times shown";
}

TEST(Summarise, KeepsTheTimeOfALaunchThatWasCutShort) {
  CaseResult result = unmeasured(2);
  result.samples = {sample(0, 0, 0, {1.0}), sample(1, 0, 0, {2.0}), sample(0, 0, 1, {3.0})};
  summarise(result);
  EXPECT_EQ(result.variants[0].time, Seconds{2.0});
  EXPECT_EQ(result.ratios.at(0).ratio.value, 1.0);
  EXPECT_TRUE(launch_medians(result, 0).empty());
}

TEST(LaunchMedians, NeedThreeSamplesOrABlockOfSteps) {
  CaseResult result = unmeasured(1);
  add_launches(result, 0, {1.0, 2.0});
  result.samples.pop_back();
  EXPECT_EQ(launch_medians(result, 0), (std::vector<LaunchMedian>{{0, Seconds{1.0}}}));
  result.definition = parse_case_name("gpt2_step/fp32/gpt2/np2");
  EXPECT_EQ(launch_medians(result, 0).size(), 2U);
}

TEST(Precision, IsThatOfTheSizeUnlessOneWasAskedFor) {
  Case definition;
  for (const auto& [bytes, precision] : {std::pair{std::int64_t{16} << 20, 0.01},
                                         {(std::int64_t{16} << 20) - 8, 0.02},
                                         {std::int64_t{1} << 20, 0.02},
                                         {(std::int64_t{1} << 20) - 8, 0.05}}) {
    definition.size = Bytes{bytes};
    EXPECT_EQ(precision_of(Settings{}, definition), precision) << bytes;
  }
  EXPECT_EQ(precision_of(Settings{}, parse_case_name("gpt2_step/fp32/tiny/np2")), 0.01);
  Settings asked;
  asked.precision = 0.003;
  EXPECT_EQ(precision_of(asked, definition), 0.003);
}

TEST(Summarise, SumsUpTheHealthOfAVariantsSamples) {
  CaseResult result = unmeasured(2);
  std::vector<Sample> samples{sample(0, 0, 0, {1.0}), sample(0, 0, 1, {1.0}),
                              sample(1, 0, 0, {1.0})};
  samples[0].health = {{40, 300.0, 1980, 0x0}, {44, 310.0, 1950, 0x4}};
  samples[1].health = {{50, 200.0, 1200, 0x40}, {45, 310.0, 1980, 0x0}};
  result.samples = samples;
  summarise(result);
  EXPECT_EQ(result.variants[0].health.highest_temperature_c, 50);
  EXPECT_EQ(result.variants[0].health.lowest_sm_clock_mhz, 1200);
  EXPECT_EQ(result.variants[0].health.samples, 2);
  EXPECT_EQ(result.variants[0].health.unhealthy_samples, 1);
  EXPECT_EQ(result.variants[0].health.power_capped_samples, 1);
  EXPECT_EQ(result.variants[1].health, HealthSummary{}) << "nothing was measured";
  const HealthSummary once = result.variants[0].health;
  result.samples = samples;
  summarise(result);
  EXPECT_EQ(result.variants[0].health, once) << "written anew";
}

TEST(Summarise, KeepsWhatSamplesDoNotTell) {
  const Record record = full_record();
  CaseResult result = record.cases[0];
  summarise(result);
  EXPECT_TRUE(same(result.variants[0].verification, record.cases[0].variants[0].verification));
  EXPECT_TRUE(same(result.variants[0].execution, record.cases[0].variants[0].execution));
  EXPECT_EQ(result.variants[0].path, Path::nvlink);
  EXPECT_EQ(result.stopped, record.cases[0].stopped);
  EXPECT_EQ(result.variants[2].skipped, Skip{.refusal = "no network"});
  EXPECT_FALSE(result.variants[2].time);
}

/// Drops samples as a launch does that was cut and is measured again.
TEST(Summarise, LeavesNoNumbersToAVariantWithoutSamples) {
  CaseResult result = full_record().cases[0];
  std::erase_if(result.samples, [](const Sample& sample) { return sample.variant == 0; });
  summarise(result);
  const VariantResult& without = result.variants[0];
  EXPECT_FALSE(without.time || without.algbw || without.busbw || without.skew);
  EXPECT_FALSE(without.training);
  EXPECT_TRUE(result.variants[1].time);
  EXPECT_TRUE(result.ratios.empty());
}

TEST(Skip, IsReadByItsWords) {
  VariantResult variant;
  EXPECT_EQ(why_skipped(variant), "");
  for (const Skip& skip :
       {Skip{SkipReason::job_lost}, Skip{SkipReason::out_of_time}, Skip{.refusal = "no memory"}}) {
    variant.skipped = skip;
    EXPECT_EQ(parse_skip(why_skipped(variant)), skip) << why_skipped(variant);
  }
  EXPECT_EQ(parse_skip("the job was lost").reason, SkipReason::job_lost)
      << "as all records have it";
  EXPECT_EQ(parse_skip("the time budget was used up").reason, SkipReason::out_of_time);
}

/// Computes from the record alone, without summarise().
TEST(Summarise, GivesNumbersThatTheRecordsSamplesGiveAgain) {
  Record record = full_record();
  for (CaseResult& result : record.cases) summarise(result);
  const Record back = parse_record(to_json(record), "");
  for (const CaseResult& shown : back.cases) {
    std::vector<double> product(2, 1.0);
    for (int launch = 0; launch < 2; ++launch) {
      for (int variant = 0; variant < 2; ++variant) {
        std::vector<double> times;
        for (const Sample& one : shown.samples) {
          if (one.launch == launch && one.variant == variant) times.push_back(one.time().value);
        }
        product[variant] *= median(times);
      }
    }
    for (int variant = 0; variant < 2; ++variant) {
      const Seconds time = shown.variants[variant].time.value();
      EXPECT_NEAR(time.value, std::sqrt(product[variant]), 1e-15);
      EXPECT_EQ(shown.variants[variant].algbw, algorithm_bandwidth(shown.definition, time));
      EXPECT_EQ(shown.variants[variant].busbw, bus_bandwidth(shown.definition, time));
      EXPECT_THAT(shown.variants[variant].skew, Optional(::testing::DoubleNear(2.0 / 3, 1e-12)));
    }
    EXPECT_DOUBLE_EQ(shown.ratios.at(0).ratio.value, std::sqrt(product[1] / product[0]));
  }
}

TEST(MayBeRecorded, OnlyWhatAffectsTheMeasurement) {
  for (const char* name :
       {"NCCL_ALGO", "NCCL_", "OMPI_MCA_btl", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",
        "CUDA_LAUNCH_BLOCKING", "CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
        "NVIDIA_TF32_OVERRIDE", "CUBLAS_WORKSPACE_CONFIG", "CUBLASLT_LOG_LEVEL", "LINKGAIN_NCCL"}) {
    EXPECT_TRUE(may_be_recorded(name)) << name;
  }
  for (const char* name : {"", "PATH", "HOME", "NCCL", "MY_NCCL_ALGO", "CUDA_VISIBLE_DEVICES_2",
                           "AWS_SECRET_ACCESS_KEY", "OMPI_COMM_WORLD_RANK", "nccl_algo",
                           "CUDA_HOME", "NVIDIA_VISIBLE_DEVICES", "CUBLAS", "OMPI_MCA_ras",
                           "OMPI_MCA_PREFIXES", "OMPI_MCA_num_procs", "OMPI_MCA_cpu_type"}) {
    EXPECT_FALSE(may_be_recorded(name)) << name;
  }
}

std::string troubleshooting() {
  std::ifstream page(RESULTS_FOLDER "/../docs/troubleshooting.md");
  return {std::istreambuf_iterator<char>(page), {}};
}

bool is_kebab_case(std::string_view name) {
  return std::ranges::all_of(name, [](char c) {
    return std::islower(static_cast<unsigned char>(c)) != 0 ||
           std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '-';
  });
}

/// Tells whether a line of advice reads as all others: a clause without an end.
bool is_advice(std::string_view text) {
  return std::ranges::count(text, ' ') >= 1 && text.back() != '.' &&
         std::isupper(static_cast<unsigned char>(text.front())) == 0;
}

TEST(Warnings, HaveACodeOfTheirOwnAdviceAndARowOnTheirPage) {
  const std::string page = troubleshooting();
  std::set<std::string_view> names;
  for (const WarningRow& row : warning_rows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(is_kebab_case(row.name)) << row.name;
    EXPECT_TRUE(is_advice(row.advice)) << row.name << ": " << row.advice;
    EXPECT_EQ(name_of(row.code), row.name);
    EXPECT_EQ(advice_of(row.code), row.advice);
    const Warning warning{std::string(row.name), "text", "advice"};
    EXPECT_EQ(row_of(warning).code, row.code);
    EXPECT_TRUE(is(warning, row.code));
    if (row.code != WarningCode::unknown) {
      EXPECT_THAT(page, HasSubstr("`" + std::string(row.name) + "`"));
    }
  }
}

TEST(Warnings, ThatAreWrongEndARunWithTheirStatus) {
  for (const WarningRow& row : warning_rows()) {
    const bool is_wrong =
        row.exit_code == ExitCode::wrong_data || row.exit_code == ExitCode::wrong_path;
    EXPECT_EQ(row.weight == WarningWeight::wrong, is_wrong) << row.name;
    if (row.exit_code == ExitCode::incomplete) {
      EXPECT_EQ(row.weight, WarningWeight::incomplete) << row.name;
    }
    if (row.exit_code == ExitCode::unhealthy) {
      EXPECT_EQ(row.weight, WarningWeight::doubtful) << row.name;
    }
  }
}

TEST(Warnings, DecideTheExitStatus) {
  for (const WarningRow& row : warning_rows()) {
    if (row.code == WarningCode::wrong_data) continue;  // the data themselves do
    Record record = h200_record();
    record.warnings = {{std::string(row.name), "text", ""}};
    const bool unhealthy = row.exit_code == ExitCode::unhealthy;
    EXPECT_EQ(exit_code_of(record), unhealthy ? ExitCode::success : row.exit_code) << row.name;
    record.settings.require_healthy = true;
    EXPECT_EQ(exit_code_of(record), row.exit_code) << row.name;
  }
}

TEST(Warnings, OfWorseStatusComeFirst) {
  Record record = wrong_data_record();
  record.settings.require_healthy = true;
  record.warnings = {{"link-errors", "", ""}, {"wrong-path", "", ""}};
  EXPECT_EQ(exit_code_of(record), ExitCode::wrong_data);
  record.cases.clear();
  EXPECT_EQ(exit_code_of(record), ExitCode::wrong_path);
  record.warnings.push_back({"record-lost", "", ""});
  EXPECT_EQ(exit_code_of(record), ExitCode::incomplete);
  record.warnings.clear();
  EXPECT_EQ(exit_code_of(record), ExitCode::success);
  record.neighbours.emplace();
  record.neighbours->seen.emplace_back();
  EXPECT_EQ(exit_code_of(record), ExitCode::unhealthy) << "others were on a GPU";
}

TEST(Warnings, OfANewerVersionAreDoubtful) {
  const Warning warning{"of-tomorrow", "text", "advice"};
  const WarningRow& row = row_of(warning);
  EXPECT_EQ(row.code, WarningCode::unknown);
  EXPECT_EQ(row.weight, WarningWeight::doubtful);
  EXPECT_EQ(row.exit_code, ExitCode::success);
  EXPECT_THAT(std::string(row.advice), HasSubstr("not known"));
  EXPECT_THAT(label_of(warning),
              testing::AllOf(testing::StartsWith("of-"), HasSubstr("not known")));
  EXPECT_EQ(label_of({"job-lost", "", ""}), "job-lost");
}

}  // namespace
}  // namespace linkgain::test
