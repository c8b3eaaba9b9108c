// The whole of what training_tables() writes, of records that have a row of every kind.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/golden.hpp"
#include "training_records.hpp"
#include "training_tables.hpp"

namespace linkgain::testing {
namespace {

/// Blocks of a launch whose steps stray by 2 per mille of `step`; nothing for a step of 0.
void add_straying_blocks(Record& record, int place, int variant, int launch, double step) {
  if (step == 0.0) return;
  for (int round = 0; round < 20; ++round) {
    const double factor = 1.0 + 1e-3 * (round * (variant + 3) % 5 - 2);
    Sample sample;
    sample.case_index = place;
    sample.variant = variant;
    sample.launch = launch;
    sample.round = round;
    sample.operations = 10;
    sample.seconds = {step * factor, step * factor * 0.999};
    sample.loss = 10.98 - 0.1 * round;
    record.samples.push_back(sample);
  }
}

/// A training by `variants` whose steps took `steps` seconds; 0: this one was skipped.
void add_measured(Record& record, const std::string& name, std::vector<VariantResult> variants,
                  const std::vector<double>& steps) {
  const int place = add_training(record, name, std::move(variants));
  for (int launch = 0; launch < record.settings.launches; ++launch) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      // The second launch is 4 ms slower with every variant.
      const double step = steps[i] == 0.0 ? 0.0 : steps[i] + 4e-3 * launch;
      add_straying_blocks(record, place, static_cast<int>(i), launch, step);
    }
  }
}

std::vector<VariantResult> two_variants() {
  return {on_path("p2p", Path::nvlink), on_path("host", Path::host_memory)};
}

/// Of two launches, on a file of tokens, and not converged.
Record page_of_two_launches() {
  Record record = two_gpus();
  record.settings.launches = 2;
  record.settings.training = TrainingPlan{.steps = 400, .tokens = "/data/wiki|text-2.bin"};
  add_measured(record, "gpt2_step/fp32/gpt2/np2/dropout=0", two_variants(), {0.0834, 0.0897});
  add_measured(record, "gpt2_step/fp32/gpt2/np2/none/dropout=0",
               {on_path("p2p", Path::unknown), skipped("host", "uses no link between ranks")},
               {0.0816, 0.0});
  finish(record);
  CaseResult& ddp = record.cases[0];
  ddp.converged = false;
  ddp.stopped = "launches differ";
  ddp.variants[0].evidence = known_evidence();
  ddp.variants[1].evidence = known_evidence();
  ddp.variants[1].evidence->nvlink_sent = 0;
  ddp.variants[1].evidence->nvlink_received = 0;
  return record;
}

/// Three variants, one of which cannot train everything.
Record strategies_of_three_variants() {
  Record record = two_gpus();
  record.settings.variants.push_back({"net", {{"NCCL_SHM_DISABLE", "1"}}});
  record.settings.training = TrainingPlan{.steps = 200, .tokens = {}};
  std::vector<VariantResult> all = two_variants();
  all.push_back(on_path("net", Path::network));
  std::vector<VariantResult> without_net = two_variants();
  without_net.push_back(skipped("net", "the job died | in its first step"));
  add_measured(record, "gpt2_step/fp32/gpt2/np2", all, {0.0834, 0.0897, 0.2711});
  add_measured(record, "gpt2_step/fp32/gpt2/np2/zero2", all, {0.0836, 0.0953, 0.2804});
  add_measured(record, "gpt2_step/fp32/gpt2/np2/zero3", without_net, {0.0841, 0.1012, 0.0});
  add_measured(record, "gpt2_step/fp32/gpt2/np2/none", {on_path("p2p", Path::unknown)}, {0.0816});
  add_measured(record, "gpt2_step/bf16/gpt2/np2/buckets=legacy", all, {0.0121, 0.0243, 0.1907});
  add_measured(record, "gpt2_step/bf16/gpt2/np2/zero2/bucket-mb=5", all, {0.0122, 0.0257, 0.1911});
  add_measured(record, "gpt2_step/bf16/gpt2/np2/none", {on_path("p2p", Path::unknown)}, {0.0108});
  add_measured(record, "gpt2_step/fp32/tiny/np2", all, {0.0009, 0.0009, 0.0021});
  add_training(record, "gpt2_step/fp32/gpt2/np2/zero3/batch=8",
               {skipped("p2p", "3 ranks do not divide them"), skipped("host", "the same")});
  finish(record);
  record.cases[1].converged = false;
  record.cases[1].stopped = "out of rounds";
  record.cases[4].variants[1].verification = checked(2, 1, "rank 1, other parameters");
  return record;
}

TEST(TrainingTables, OfThePage) {
  expect_golden(training_tables(page_of_two_launches()), "training_page.md");
}

TEST(TrainingTables, OfStrategies) {
  expect_golden(training_tables(strategies_of_three_variants()), "training_strategies.md");
}

}  // namespace
}  // namespace linkgain::testing
