#include "linkgain/diagnostics/check_catalog.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "doctor_support.hpp"
#include "linkgain/base/text.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using ::testing::ContainsRegex;
using ::testing::Not;

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
    const std::vector<Finding> findings = check_machine(survey);
    expect_samples_of_numbers(findings);
    for (const Finding& finding : findings) {
      const CheckEntry& entry = find_check(finding.id);
      EXPECT_EQ(entry.group, finding.group) << finding.id;
      found.insert(entry.id);
    }
  }
  std::set<std::string_view> listed;
  for (const CheckEntry& entry : check_catalog()) {
    EXPECT_TRUE(listed.insert(entry.id).second) << entry.id << " twice";
    EXPECT_FALSE(entry.looks_at.empty()) << entry.id;
    const auto is_own = [&](const Fault* fault) { return fault->check == entry.id; };
    EXPECT_TRUE(std::ranges::any_of(fault_catalog(), is_own)) << entry.id;
  }
  EXPECT_EQ(found, listed);
}

TEST(CheckCatalog, SaysOfEachFaultWhyAndWhatToDo) {
  for (const Fault* const fault : fault_catalog()) {
    EXPECT_NO_THROW(find_check(fault->check));
    EXPECT_NE(fault->verdict, CheckVerdict::ok);
    EXPECT_FALSE(fault->when.empty() || fault->advice.empty()) << fault->check;
    EXPECT_EQ(fault->why.empty(), fault->verdict == CheckVerdict::not_checkable) << fault->when;
  }
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

/// Takes words in capitals for what a reader puts a name or a number for, and for nothing else.
TEST(CheckCatalog, ExplainsWithoutPlacesForWholePhrases) {
  const std::set<std::string> nouns{"GPU",     "WATTS",  "DRIVER", "RUNTIME",
                                    "LIBRARY", "MPIRUN", "NAME",   "VARIABLE"};
  std::set<std::string> places;
  for (const Fault* const fault : fault_catalog()) {
    for (const std::string_view text : {fault->why, fault->advice}) {
      for (std::size_t at = text.find('{'); at != text.npos; at = text.find('{', at + 1)) {
        places.insert(upper(text.substr(at + 1, text.find('}', at) - at - 1)));
      }
    }
  }
  EXPECT_GT(places.size(), nouns.size());
  for (const CheckEntry& check : check_catalog()) {
    const std::string text = to_terminal(explanation_of(check));
    for (const std::string& place : places) {
      if (nouns.contains(place)) continue;
      EXPECT_THAT(text, Not(ContainsRegex("\\b" + place + "\\b")));
    }
  }
}

TEST(CheckCatalog, Explains) {
  Situations texts;
  texts.add("60 columns", to_terminal(explanation_of(find_check("nvlink-links")), {.columns = 60}));
  texts.add("no terminal", to_terminal(explanation_of(find_check("power-limit"))));
  texts.add("codes", to_terminal(explanation_of(find_check("xid"))));
  texts.refuse("'nvlink-link'", [] { find_check("nvlink-link"); });
  texts.expect_golden("check_catalog.txt");
}

}  // namespace
}  // namespace linkgain::test
