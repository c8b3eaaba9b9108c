#include "linkgain/diagnostics/check_catalog.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "linkgain/diagnostics/doctor.hpp"
#include "linkgain/tables/text_lines.hpp"
#include "support/sample_survey.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

TEST(CheckCatalog, HasEveryCheckOnceInItsGroup) {
  Survey faulty = healthy_survey();
  faulty.load_failure = "no CUDA";
  faulty.proof_failure = "no mpirun";
  faulty.software.nccl = {{{"NCCL_ALGO", "Ring"}}, {"a line without effect"}};
  faulty.software.cuda_variables = {{"CUDA_LAUNCH_BLOCKING", "1"}};
  faulty.topology.gpus[0].nvlink.peers = {"00000000:41:00.0"};
  faulty.peer_copies = std::vector<PeerCopy>{};
  std::set<std::string_view> found;
  for (const Survey& survey : {faulty, pcie_survey(), no_gpu_survey()}) {
    for (const Finding& finding : check_machine(survey)) {
      const CheckEntry& entry = find_check(finding.id);
      EXPECT_EQ(entry.group, finding.group) << finding.id;
      found.insert(entry.id);
    }
  }
  std::set<std::string_view> listed;
  for (const CheckEntry& entry : check_catalog()) {
    EXPECT_TRUE(listed.insert(entry.id).second) << entry.id << " twice";
    EXPECT_FALSE(entry.meaning.empty() || entry.fix.empty()) << entry.id;
  }
  EXPECT_EQ(found, listed);
}

TEST(CheckCatalog, TellsTheMachineFromARun) {
  std::set<std::string_view> of_run;
  for (const CheckEntry& entry : check_catalog()) {
    if (entry.scope == CheckScope::run) of_run.insert(entry.id);
    if (entry.group == CheckGroup::software) {
      EXPECT_EQ(entry.scope, CheckScope::run) << entry.id << ": by PATH and environment";
    }
  }
  for (const char* id : {"cores", "cuda-visible", "cuda-order", "locked-memory", "process-ids"}) {
    EXPECT_TRUE(of_run.contains(id)) << id;
  }
  for (const char* id : {"xid", "p2p", "nvlink-links", "gpu-driver", "shared-memory"}) {
    EXPECT_FALSE(of_run.contains(id)) << id;
  }
}

TEST(CheckCatalog, Explains) {
  Situations texts;
  texts.add("60 columns", explanation_of(find_check("nvlink-links"), 60));
  texts.add("no terminal", explanation_of(find_check("nvlink-bandwidth"), kAnyColumns));
  texts.refuse("'nvlink-link'", [] { find_check("nvlink-link"); });
  texts.expect_golden("check_catalog.txt");
}

}  // namespace
}  // namespace linkgain::test
