#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <regex>
#include <sstream>
#include <string>

#include "gpu_programs.hpp"

/// What carried the bytes, by the counters of real GPUs' links.
namespace linkgain::test {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Lt;

/// Two GPUs whose NVLinks join them.
class EvidenceOnGpus : public RunOnGpus {
 protected:
  void SetUp() override {
    RunOnGpus::SetUp();
    if (IsSkipped()) return;
    const auto nvml = Nvml::open();
    const PairLink link = nvml->device_by_index(0)->link_to(*nvml->device_by_index(1));
    if (!link.nvlink.value_or(false)) GTEST_SKIP() << "no NVLink joins the first two GPUs";
  }
};

TEST_F(EvidenceOnGpus, NvlinkCarriesAllOrNothing) {
  const Outcome outcome =
      with_status(0, run_linkgain("--only all_reduce,send_recv --sizes 64M,256M,1G"));
  const Record record = this->record();
  for (const CaseResult& result : record.cases) {
    const std::string name = case_name(result.definition);
    const TrafficEvidence& p2p = result.variants[0].evidence.value();
    const TrafficEvidence& host = result.variants[1].evidence.value();
    ASSERT_TRUE(p2p.judged) << name << ": " << p2p.reason;
    ASSERT_TRUE(host.judged) << name << ": " << host.reason;
    EXPECT_THAT(p2p.nvlink_share().value(), AllOf(Ge(0.99), Le(1.02))) << name;
    EXPECT_LT(host.nvlink_share().value(), 0.001) << name;
    EXPECT_EQ(result.variants[0].path, Path::nvlink) << name;
    EXPECT_EQ(result.variants[1].path, Path::host_memory) << name;
  }
  EXPECT_THAT(outcome.output, HasSubstr("% of"));
}

TEST_F(EvidenceOnGpus, ProbesFindAlgorithmsAndProtocols) {
  const Outcome outcome = with_status(0, run_linkgain("--only all_reduce --sizes 8,64M"));
  const Record record = this->record();
  for (const VariantResult& variant : record.cases.at(0).variants) {
    EXPECT_FALSE(variant.evidence.value().plan.algorithm.empty());
    EXPECT_EQ(variant.evidence.value().plan.protocol, "LL");
  }
  EXPECT_EQ(record.cases.at(1).variants.at(0).evidence.value().plan.protocol, "SIMPLE");
}

TEST_F(EvidenceOnGpus, LimitsAndHealthStandBesideEveryResult) {
  const Outcome outcome = with_status(0, run_linkgain("--only all_reduce --sizes 256M"));
  const Record record = this->record();
  for (const VariantResult& variant : record.cases.at(0).variants) {
    EXPECT_THAT(variant.fraction_of_limit.value(), AllOf(Gt(0.2), Lt(1.0))) << variant.variant;
    EXPECT_NE(variant.limit, LimitKind::unknown);
    EXPECT_TRUE(variant.health.highest_temperature_c);
    EXPECT_TRUE(variant.health.clock_event_reasons);
  }
  for (const RankInfo& rank : record.machine.ranks) {
    EXPECT_THAT(rank.host_copy.value().to_gpu_gb_per_s, AllOf(Gt(1.0), Lt(500.0)));
    EXPECT_THAT(rank.host_copy.value().from_gpu_gb_per_s, AllOf(Gt(1.0), Lt(500.0)));
    const CopyRates alone = rank.host_copy->alone.value();
    EXPECT_GT(alone.to_gpu_gb_per_s, 0.9 * rank.host_copy->to_gpu_gb_per_s);
    EXPECT_GT(alone.from_gpu_gb_per_s, 0.9 * rank.host_copy->from_gpu_gb_per_s);
  }
}

TEST_F(EvidenceOnGpus, AVariableThatForbidsP2pIsNamed) {
  const Outcome outcome = run_shell("NCCL_P2P_LEVEL=LOC " + std::string(LINKGAIN) +
                                    " run --backend nccl --np 2 --quiet --only all_reduce --sizes "
                                    "64M --out " +
                                    directory_.string());
  EXPECT_THAT(outcome.output, HasSubstr("NCCL_P2P_LEVEL"));
  EXPECT_EQ(record().cases.at(0).variants.at(0).path, Path::host_memory);
}

TEST_F(RunOnGpus, TheWorkerCanKeepTheLinksBusy) {
  const Outcome outcome = with_status(0, run_shell(std::string(LINKGAIN_BENCH) + " --load 0.5"));
  EXPECT_THAT(outcome.output, ::testing::StartsWith("{\"peer_copies\":["));
}

/// Returns the lines of nvidia-smi's output that hold `words`, none where it is missing or fails.
Words nvidia_smi(const std::string& arguments, const std::string& words = {}) {
  const Outcome outcome = run_shell("nvidia-smi " + arguments);
  Words lines;
  if (outcome.status != 0) return lines;
  std::istringstream text(outcome.output);
  for (std::string line; std::getline(text, line);) {
    if (line.find(words) != std::string::npos) lines.push_back(line);
  }
  return lines;
}

/// Returns the values of the findings with this id, in the order of the GPUs.
Words values_of(const std::string& diagnosis, const std::string& id) {
  const std::regex finding("\"id\": \"" + id + "\"[^}]*\"value\": \"([^\"]*)\"");
  Words values;
  for (std::sregex_iterator match(diagnosis.begin(), diagnosis.end(), finding), end; match != end;
       ++match) {
    values.push_back((*match)[1]);
  }
  return values;
}

/// Expects the limits that nvidia-smi shows; what it does not know it writes as N/A.
void expect_limits_of_nvidia_smi(const std::string& diagnosis) {
  const auto powers = values_of(diagnosis, "power-limit");
  const auto limits = nvidia_smi("--query-gpu=power.limit --format=csv,noheader,nounits");
  for (std::size_t i = 0; i < std::min(powers.size(), limits.size()); ++i) {
    const double limit = std::strtod(limits[i].c_str(), nullptr);
    if (limit <= 0.0) continue;
    EXPECT_NEAR(std::strtod(powers[i].c_str(), nullptr), limit, 1.0) << powers[i];
  }
  const auto temperatures = values_of(diagnosis, "temperature");
  const auto slowdowns = nvidia_smi("-q -d TEMPERATURE", "GPU Slowdown Temp ");
  for (std::size_t i = 0; i < std::min(temperatures.size(), slowdowns.size()); ++i) {
    const std::string number = slowdowns[i].substr(slowdowns[i].find(':') + 1);
    const long slowdown = std::strtol(number.c_str(), nullptr, 10);
    if (slowdown <= 0) continue;
    EXPECT_THAT(temperatures[i], HasSubstr("at " + std::to_string(slowdown) + " °C"));
  }
}

TEST_F(RunOnGpus, DoctorLooksAtEveryGpuUnderLoad) {
  const Outcome outcome = run_shell(std::string(LINKGAIN) + " doctor --load --json");
  EXPECT_THAT(outcome.status, ::testing::AnyOf(0, 1)) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("linkgain.diagnosis/1"));
  EXPECT_THAT(outcome.output, HasSubstr("GPU1"));
  EXPECT_THAT(values_of(outcome.output, "load"), ::testing::IsEmpty()) << outcome.output;
  const auto links = values_of(outcome.output, "pcie-link");
  EXPECT_THAT(links, AllOf(::testing::SizeIs(Ge(2U)), ::testing::Each(HasSubstr(" under load"))));
  EXPECT_THAT(values_of(outcome.output, "power-brake"),
              AllOf(::testing::SizeIs(Ge(2U)), ::testing::Each(HasSubstr("host copies"))));
  expect_limits_of_nvidia_smi(outcome.output);
  EXPECT_THAT(values_of(outcome.output, "nvlink-bandwidth"),
              AllOf(::testing::Not(::testing::IsEmpty()), ::testing::Each(HasSubstr("GB/s"))));
}

TEST_F(RunOnGpus, DoctorIsQuickWithoutLoad) {
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome = run_shell(std::string(LINKGAIN) + " doctor --json");
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  EXPECT_THAT(outcome.status, ::testing::AnyOf(0, 1)) << outcome.output;
  EXPECT_LT(taken.count(), 3.0);
  EXPECT_THAT(outcome.output, ::testing::Not(HasSubstr("host copies")));
}

}  // namespace
}  // namespace linkgain::test
