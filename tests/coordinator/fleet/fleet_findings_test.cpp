// What is said of nodes and of the fleet, in words.
#include <gtest/gtest.h>

#include "fleet_fixture.hpp"
#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/record/warning.hpp"
#include "support/golden.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

class FleetFindings : public Fleet {
 protected:
  /// Adds the findings of a healthy fleet after `change`, and what the reader must know.
  void add(const std::string& situation, const std::function<void()>& change,
           const FleetOptions& options = {}) {
    reset();
    change();
    const FleetReport report = judge(options);
    std::string said;
    for (const FleetNode& each : report.nodes) {
      for (const std::string& finding : each.findings) {
        said += fmt::format("{} {}: {}\n", each.host, name_of(each.state), finding);
      }
    }
    for (const std::string& note : report.notes) said += "Note: " + note + "\n";
    situations_.add(situation, said);
  }

  void count_links(int first, int last, int count) {
    for (int i = first; i <= last; ++i) {
      for (PairLink& link : node(i).machine.links) link.nvlinks = count;
    }
  }

  void without_gpus() {
    for (int i = 1; i <= 12; ++i) {
      node(i).machine.links.clear();
      for (RankInfo& rank : node(i).machine.ranks) rank.gpu.reset();
      if (i > 6) node(i).machine.processor = "AMD EPYC 9654";
    }
    node(12).machine.processor = "AMD EPYC 7763";
  }

  Situations situations_;
};

bool is_pair_1_3(const Case& c) { return is_pair(c, 1, 3); }

TEST_F(FleetFindings, OfNodes) {
  add("wrong data, health, runs cut short, another driver", [&] {
    node(1).cases[3].variants[1].verification->wrong = 5;
    for (CaseResult& result : node(2).cases) result.variants[0].health.unhealthy_samples = 10;
    node(3).cases[0].variants[0].health.unhealthy_samples = 1;
    node(4).status = RunStatus::job_lost;
    node(5).warnings = {warning_of(WarningCode::wrong_path, "variant p2p")};
    node(6).machine.software.driver = "570.1";
  });
  add("others' work, on a node that is slow and on one that is not", [&] {
    slow_down(node(1), 1.5, [](const Case&) { return true; });
    for (const int number : {1, 2}) {
      node(number).cases[0].variants[0].disturbed_samples = 4;
      node(number).cases[2].variants[0].disturbed_samples = 1;
      node(number).cases[1].variants[0].level_shift = LevelShift{0, 2, 1.3};
      node(number).neighbours.emplace().seen.resize(2);
      node(number).warnings = {
          {"busy-gpu", "", ""}, {"host-load", "processes waited", ""}, {"left-out", "", ""}};
    }
  });
  add("another path", [&] {
    for (CaseResult& result : node(3).cases) result.variants[0].path = Path::host_memory;
  });
  add("machines that are not like their peers", [&] {
    node(2).machine.links[4].nvlink = false;
    node(2).machine.ranks[1].gpu->nvlink_links_active = 17;
    slow_down(node(2), 9.0, is_pair_1_3);
    node(9).machine.ranks[3].gpu->nvlink_links_active = 17;
    records_.push_back(fleet_node("node13", 13, 3));
  });
  add("a pair with half its links", [&] {
    count_links(1, 12, 18);
    node(7).machine.links[4].nvlinks = 9;
  });
  add("cases that peers have", [&] {
    node(4).cases.clear();
    node(7).cases.resize(node(7).cases.size() / 2);
  });
  add("the same beside nodes that measured nothing", [&] {
    for (const int number : {1, 2, 3, 4}) node(number).cases.clear();
    for (const int number : {5, 6, 7}) node(number).cases.resize(node(number).cases.size() / 2);
  });
  add("two selections of cases", [&] {
    const auto half = std::ssize(node(1).cases) / 2;
    for (int i = 1; i <= 12; ++i) {
      std::vector<CaseResult>& cases = node(i).cases;
      cases.erase(cases.begin() + (i <= 7 ? half : 0), i <= 7 ? cases.end() : cases.begin() + half);
    }
  });
  add("no peers", [&] { records_.resize(2); });
  add("two machines of one name", [&] {
    records_.push_back(node(4));
    for (RankInfo& rank : records_.back().machine.ranks) rank.gpu->uuid += "-other";
  });
  FleetOptions expected;
  expected.expected = {"node13", "node13"};
  add(
      "a node without a record", [] {}, expected);
  expect_golden(situations_.text(), "findings.txt");
}

TEST_F(FleetFindings, OfWhatRunsSayThemselves) {
  for (const RunStatus status : kValues<RunStatus>) {
    add(fmt::format("status {}", name_of(status)), [&] { node(1).status = status; });
  }
  add("runs that did not end, which say why, and one that does not", [&] {
    for (const int number : {1, 2, 3}) node(number).status = RunStatus::job_lost;
    const auto lost = [](const char* text) { return warning_of(WarningCode::job_lost, text); };
    node(1).warnings = {warning_of(WarningCode::one_launch, "one launch"),
                        lost("variant p2p: the job ended; its last words:\n  rank 2:\n  Aborted\n"
                             "GPU 2: Xid 79, the GPU fell off the bus")};
    node(2).warnings = {lost("variant p2p: rank 0 was lost"),
                        lost("variant host: rank 1 was lost")};
    node(4).status = RunStatus::incomplete;
    node(4).warnings = {warning_of(WarningCode::nothing_measured, "nothing was measured")};
  });
  add("a budget that ended before anything was measured", [&] {
    node(1).status = RunStatus::incomplete;
    for (CaseResult& result : node(1).cases) {
      for (VariantResult& variant : result.variants) {
        VariantResult left_out;
        left_out.variant = variant.variant;
        left_out.skipped = Skip{SkipReason::out_of_time};
        variant = left_out;
      }
      result.samples.clear();
      result.ratios.clear();
    }
  });
  add("drivers that nobody has most of, another NCCL, and one that is not known", [&] {
    for (int i = 1; i <= 6; ++i) node(i).machine.software.driver = "570.1";
    node(3).machine.software.nccl_library = "2.20.5";
    node(4).machine.software.nccl_library.reset();
  });
  add("paths that half of the nodes take", [&] {
    for (int i = 1; i <= 6; ++i) {
      for (CaseResult& result : node(i).cases) result.variants[0].path = Path::host_memory;
    }
    for (CaseResult& result : node(7).cases) result.variants[1].path = Path::unknown;
  });
  add("an older record of other cases", [&] {
    Record newer = node(4);
    newer.started = "2026-11-21T00:00:00Z";
    newer.cases.resize(15);
    records_.push_back(newer);
  });
  add("records that say nothing of themselves", [&] {
    for (const char* path : {"out/x.json", "out/node14/journal.jsonl", "record.json",
                             "20261120T164000Z_node15/record.json"}) {
      FleetRecord broken;
      broken.path = path;
      broken.problem = "cut off";
      others_.push_back(broken);
    }
  });
  expect_golden(situations_.text(), "findings_of_runs.txt");
}

TEST_F(FleetFindings, OfTheWholeFleet) {
  FleetOptions fine;
  fine.tolerance = 0.02;
  FleetOptions wide;
  wide.tolerance = 1.5;
  add("one launch each", [] {});
  add(
      "a tolerance finer than a launch can tell", [] {}, fine);
  add(
      "the same with eight launches each",
      [&] {
        for (Record& record : records_) set_launches(record, 8);
      },
      fine);
  add(
      "a tolerance that is what is found", [] {}, wide);
  add("no case of three", [&] {
    for (int i = 3; i <= 12; ++i) node(i).cases.clear();
  });
  add("an older record, and what is no record", [&] {
    Record newer = node(4);
    newer.started = "2026-11-21T00:00:00Z";
    records_.push_back(newer);
    FleetRecord other;
    other.path = "out/node13/topology.json";
    other.problem = "not a record";
    other.is_other_document = true;
    others_ = {other};
  });
  add("later programs: on one node, and on three", [&] {
    records_.push_back(later_program(node(4), "serve"));
    for (int i = 1; i <= 3; ++i) records_.push_back(later_program(node(i), "train"));
  });
  add("kinds of the same GPUs", [&] {
    count_links(1, 4, 17);
    count_links(5, 12, 18);
    for (PairLink& link : node(12).machine.links) link.nvlinks = link.from == 0 ? 9 : 18;
    node(12).machine.links[5].nvlinks = 1;
    node(11).machine.ranks[3].gpu->nvlink_links_active = 17;
  });
  add("kinds of processors", [&] { without_gpus(); });
  add("more kinds than are named", [&] {
    for (int i = 1; i <= 12; ++i) count_links(i, i, i <= 3 ? 18 : i);
  });
  add("small cases alone", [&] {
    for (Record& record : records_) {
      std::erase_if(record.cases,
                    [](const CaseResult& each) { return each.definition.size >= kSteadySize; });
    }
  });
  add("large cases alone", [&] {
    for (Record& record : records_) {
      std::erase_if(record.cases,
                    [](const CaseResult& each) { return each.definition.size < kSteadySize; });
    }
  });
  add("nothing that can be read", [&] { records_.clear(); });
  expect_golden(situations_.text(), "notes.txt");
}

/// Shows findings as an operator sees them in 80 columns.
TEST_F(FleetFindings, OnAScreen) {
  const auto show = [&](const std::string& situation, const std::function<void()>& change) {
    reset();
    for (Record& record : records_) set_launches(record, 8);
    change();
    situations_.add(situation, to_terminal(fleet_report(judge()), {.columns = 80}));
  };
  show("one at the tolerance, one disturbed, one with links missing", [&] {
    slow_down(node(3), 1.06, is_pair_1_3);
    slow_down(node(4), 1.8, is_pair_1_3);
    for (CaseResult& result : node(4).cases) result.variants[0].disturbed_samples = 2;
    slow_down(node(7), 1.5, is_pair_1_3);
    node(7).machine.links[4].nvlinks = 12;
    for (const std::size_t rank : {1U, 3U}) {
      node(7).machine.ranks[rank].gpu->nvlink_links_active = 12;
    }
  });
  show("one that no longer reports, and three that are faster", [&] {
    node(3).started = "2026-08-01T16:40:00Z";
    for (int i = 4; i <= 12; ++i) slow_down(node(i), 1.2, is_pair_1_3);
    slow_down(node(12), 0.7, is_pair_1_3);
  });
  show("two groups", [&] {
    for (int i = 1; i <= 6; ++i) slow_down(node(i), 1.3, is_pair_1_3);
  });
  show("two groups in every case", [&] {
    for (int i = 1; i <= 6; ++i) slow_down(node(i), 3.0, [](const Case&) { return true; });
    for (Record& record : records_) {
      for (CaseResult& result : record.cases) result.variants.resize(1);
    }
  });
  expect_golden(situations_.text(), "screens.txt");
}

}  // namespace
}  // namespace linkgain::test
