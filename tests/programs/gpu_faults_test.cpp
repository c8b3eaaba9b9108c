#include <algorithm>
#include <cctype>
#include <chrono>
#include <set>

#include "gpu_programs.hpp"
#include "linkgain/record/warning.hpp"

/// What a rank does wrong on a real GPU, at every place of a job's life: in NCCL's operations, in
/// linkgain's kernels and in copies, with P2P and without.
namespace linkgain::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// One of two variants has the fault.
struct Planted {
  const char* cases;  ///< options that choose them
  bool p2p;           ///< the faulty variant's; the other one has what it lacks
  const char* fault;  ///< of LINKGAIN_TEST_FAULT
  const char* said;   ///< in the warnings, beside the variant's name; empty for a whole run
};

constexpr bool kByP2p = true;
constexpr bool kByHost = false;
constexpr const char* kNccl = "--only all_reduce --sizes 1M";
constexpr const char* kKernels = "--only all_reduce --sizes 1K --kernels";
constexpr const char* kCopies = "--only copy_push --sizes 16M";

constexpr Planted kPlanted[] = {
    {kNccl, kByP2p, "die@1/start", "rank 1 was ended by SIGKILL"},
    {kNccl, kByHost, "hang@1/start", "rank 1 has not come"},
    {kNccl, kByHost, "die@0/connect", "rank 0 was ended by SIGKILL"},
    {kCopies, kByP2p, "hang@1/connect", "rank 1 has not come"},
    {kKernels, kByP2p, "die@1/open", "'open'"},
    {kCopies, kByHost, "hang@1/open", "opening copy_push/16MiB/np2"},
    {kKernels, kByP2p, "hang@1/warm-up", "for rank 1 in vain"},
    {kKernels, kByHost, "hang@1/warm-up", "for rank 1 in vain"},
    {kNccl, kByP2p, "die@1:2/operation", "'run'"},
    {kKernels, kByHost, "die@1:2/operation", "'run'"},
    {kNccl, kByP2p, "die@1:2", "'run'"},
    {kCopies, kByP2p, "die@1:2", "'run'"},
    {kNccl, kByP2p, "hang@1:2/operation", "batch 2 of all_reduce/float32/sum/1MiB/np2"},
    {kKernels, kByP2p, "hang@1:2/operation", "rank 1"},
    {kKernels, kByHost, "hang@1:2/operation", "rank 1"},
    {kCopies, kByHost, "hang@1:2", "rank 1 has not come"},
    {kKernels, kByP2p, "stop@1:2/operation", "rank 1"},
    {kNccl, kByHost, "garbage@0:2/reply", "rank 0's reply to 'run' is not understood"},
    {kKernels, kByP2p, "garbage@0:2/reply", "rank 0's reply to 'run' is not understood"},
    {kCopies, kByHost, "garbage@0:2/reply", "rank 0's reply to 'run' is not understood"},
    {kCopies, kByP2p, "die@0/verify", "'verify'"},
    {kKernels, kByP2p, "hang@1/verify", "rank 1"},
    {kNccl, kByHost, "stop@1/verify", "rank 1"},
    {kKernels, kByHost, "die@1/close", "'close'"},
    {kCopies, kByP2p, "hang@1/close", "closing copy_push/16MiB/np2"},
    {kNccl, kByP2p, "late@1:2/operation", ""},
    {kNccl, kByHost, "late@1:2", ""},
    {kKernels, kByP2p, "late@1:2/operation", ""},
    {kKernels, kByHost, "late@1:2", ""},
    {kCopies, kByP2p, "late@1:2/operation", ""},
};

/// Returns a job's names in a folder where it may have files; others may put theirs there
/// meanwhile.
std::set<std::string> names_in(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& each : std::filesystem::directory_iterator(folder)) {
    const std::string name = each.path().filename();
    if (name.starts_with("linkgain") || name.starts_with("vader") || name.starts_with("nccl")) {
      names.insert(name);
    }
  }
  return names;
}

class FaultOnGpus : public RunOnGpus, public testing::WithParamInterface<Planted> {};

TEST_P(FaultOnGpus, EndsInTimeAndKeepsTheOtherVariant) {
  const Planted& planted = GetParam();
  constexpr double kTimeout = 5.0;
  constexpr double kWork = 15.0;  // both jobs start, measure and end
  const std::string fault = std::string("LINKGAIN_TEST_FAULT=") + planted.fault;
  const std::string variants = planted.p2p
                                   ? "--variant host --variant faulty:" + fault
                                   : "--variant p2p --variant faulty:NCCL_P2P_DISABLE=1," + fault;
  const auto segments = names_in("/dev/shm");
  const auto files = names_in(std::filesystem::temp_directory_path());
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome = run_linkgain(std::string(planted.cases) + " --launches 1 --timeout " +
                                       std::to_string(static_cast<int>(kTimeout)) + " " + variants);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(run_shell("pgrep -f 'linkgain-benc[h] .*--serve'").status, 1) << "processes are left";
  EXPECT_EQ(names_in("/dev/shm"), segments);
  const auto files_now = names_in(std::filesystem::temp_directory_path());
  EXPECT_EQ(files_now, files);

  const Record record = this->record();
  const auto cases = static_cast<double>(record.cases.size());
  EXPECT_LT(took.count(), kWork + cases * (kTimeout + 5.0));
  std::string warnings;
  for (const Warning& warning : record.warnings) {
    if (warning.code == "job-lost") warnings += warning.text + "\n";
  }
  for (const CaseResult& result : record.cases) {
    const Case& c = result.definition;
    const bool copies_by_kernel = c.kernel && c.operation == OperationKind::copy_push;
    if (planted.p2p && copies_by_kernel) continue;  // the other one is refused them
    EXPECT_TRUE(result.variants.at(0).time) << case_name(c) << "\n" << outcome.output;
  }
  if (std::string_view(planted.said).empty()) {
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    EXPECT_THAT(warnings, IsEmpty());
    return;
  }
  EXPECT_EQ(outcome.status, 6) << outcome.output;
  EXPECT_EQ(record.status, RunStatus::job_lost);
  EXPECT_THAT(warnings, AllOf(HasSubstr("'faulty'"), HasSubstr(planted.said)));
  const bool in_a_case = !fault.ends_with("/start") && !fault.ends_with("/connect");
  for (const CaseResult& result : record.cases) {
    const Case& c = result.definition;
    const bool copies_by_kernel = c.kernel && c.operation == OperationKind::copy_push;
    if (!planted.p2p && copies_by_kernel) continue;  // refused
    const std::string begin = spoken_case(record, c) + ": ";
    EXPECT_EQ(warnings.find(begin) != std::string::npos, in_a_case) << begin << "\n" << warnings;
  }
}

/// Returns a name such as "nccl_p2p_die_1_start".
std::string test_name(const testing::TestParamInfo<Planted>& instance) {
  const Planted& planted = instance.param;
  const std::string cases = planted.cases == kNccl     ? "nccl"
                            : planted.cases == kCopies ? "copies"
                                                       : "kernels";
  std::string name = cases + (planted.p2p ? "_p2p_" : "_host_") + planted.fault;
  std::ranges::replace_if(
      name, [](unsigned char each) { return std::isalnum(each) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Planted, FaultOnGpus, testing::ValuesIn(kPlanted), test_name);

}  // namespace
}  // namespace linkgain::test
