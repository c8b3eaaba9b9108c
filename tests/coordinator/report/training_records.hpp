#pragma once

#include <string>
#include <utility>
#include <vector>

#include "linkgain/analysis/launch_statistics.hpp"
#include "support/sample_records.hpp"

namespace linkgain::test {

/// Adds blocks of four launches, five in each, of ten steps, with falling losses. Launches differ
/// by 0.1 %, and their geometric mean is `step`.
inline void add_blocks(Record& record, int place, int variant, double step, double loss) {
  for (int block = 0; block < 20; ++block) {
    Sample sample;
    sample.variant = variant;
    sample.launch = block / 5;
    sample.round = block % 5;
    sample.operations = 10;
    const double own = step * (sample.launch % 3 == 0 ? 1.0005 : 1.0 / 1.0005);
    sample.times = {Seconds{own}, Seconds{own * 0.999}};
    sample.loss = loss - 0.1 * sample.round;
    record.cases.at(static_cast<std::size_t>(place)).samples.push_back(sample);
  }
}

inline int add_training(Record& record, const std::string& name,
                        std::vector<VariantResult> variants) {
  CaseResult result;
  result.definition = parse_case_name(name);
  result.variants = std::move(variants);
  result.stopped = StopReason::converged;
  record.cases.push_back(result);
  return static_cast<int>(record.cases.size()) - 1;
}

inline VariantResult on_path(std::string variant, Path path) {
  VariantResult result;
  result.variant = std::move(variant);
  result.path = path;
  return result;
}

inline void finish(Record& record) {
  summarise(record);
  for (CaseResult& result : record.cases) result.converged = true;
}

/// Has the guide's steps: 509.5 ms with NVLink, 657.2 without, and 500 alone.
inline Record page_record() {
  Record record = two_gpus();
  record.settings.training = TrainingPlan{};
  const int ddp = add_training(record, "gpt2_step/fp32/gpt2/np2",
                               {on_path("p2p", Path::nvlink), on_path("host", Path::host_memory)});
  const int none =
      add_training(record, "gpt2_step/fp32/gpt2/np2/none",
                   {on_path("p2p", Path::unknown), skipped("host", "uses no link between ranks")});
  add_blocks(record, ddp, 0, 0.5095, 10.98);
  add_blocks(record, ddp, 1, 0.6572, 10.98);
  add_blocks(record, none, 0, 0.5, 10.98);
  finish(record);
  return record;
}

}  // namespace linkgain::test
