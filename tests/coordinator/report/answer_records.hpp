#pragma once

#include <string>
#include <utility>
#include <vector>

#include "linkgain/analysis/run_validity.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/record/journal.hpp"
#include "linkgain/report/answer.hpp"
#include "support/sample_records.hpp"

namespace linkgain::test {

inline Record recorded(const std::string& folder) {
  Record record = read_record(std::string(RESULTS_FOLDER) + "/" + folder);
  judge(record);
  return record;
}

inline CaseResult trained(TrainingPrecision precision, double own, double other) {
  Case definition = all_reduce(0);
  definition.operation = OperationKind::gpt2_step;
  definition.training.emplace().precision = precision;
  return nvlink_case(definition, own, other, 0.99 * other / own, 1.01 * other / own);
}

inline CaseResult latency(double own, double other) {
  Case definition = all_reduce(8);
  definition.operation = OperationKind::latency;
  definition.pair = Pair{0, 1};
  return nvlink_case(definition, own, other, 0.99 * other / own, 1.01 * other / own);
}

inline Record record_of(std::vector<CaseResult> cases) {
  Record record = two_gpus();
  record.cases = std::move(cases);
  return record;
}

inline std::string spoken(const Record& record) {
  const RunSummary summary(record);
  return answer_sentence(summary, answer_of(summary));
}

inline std::vector<std::string> labels(const Answer& answer) {
  std::vector<std::string> rows;
  for (const AnswerRow& each : answer.rows) {
    const Comparison* const comparison = each.comparison();
    const bool several = each.of->variants.size() > 2;
    rows.push_back(answer_label(each.of->definition()) +
                   (several ? " against " + comparison->other->variant : ""));
  }
  return rows;
}

/// A record, and parts of its sentence, of which the first one begins it.
struct Spoken {
  std::string what;
  Record record;
  std::vector<std::string> parts;
};

}  // namespace linkgain::test
