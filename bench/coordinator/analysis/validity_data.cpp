#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "linkgain/analysis/training_summary.hpp"
#include "linkgain/cases/backend.hpp"
#include "validity_parts.hpp"

namespace linkgain {
namespace {

/// Where to look for what bent data.
std::string_view memory_advice(const Record& record) {
  return record.settings.backend == name_of(BackendKind::mpi)
             ? "then check the host's memory (errors in `dmesg`)"
             : "then check the GPUs' memory (nvidia-smi -q -d ECC) and NCCL's release notes for "
               "corruption bugs";
}

/// A step without communication, which is there for others to be held against.
bool is_yardstick(const CaseResult& result) {
  return result.definition.training && !uses_link(result.definition);
}

bool was_measured(const CaseResult& result) {
  return std::any_of(result.variants.begin(), result.variants.end(),
                     [](const VariantResult& variant) { return variant.time.has_value(); });
}

/// ": " and the first reason that is known, with its case; empty where none is.
std::string why_not(const Record& record) {
  for (const CaseResult& result : record.cases) {
    if (was_measured(result)) continue;
    for (const VariantResult& variant : result.variants) {
      if (!variant.skipped) continue;
      return fmt::format(": {}: {}", case_name(result.definition), *variant.skipped);
    }
  }
  return {};
}

}  // namespace

bool judge_data(Record& record) {
  bool wrong = false;
  for (const CaseResult& result : record.cases) {
    for (const VariantResult& variant : result.variants) {
      if (!has_wrong_data(variant)) continue;
      wrong = true;
      add_once(record, {"wrong-data",
                        fmt::format("{} with {}: {}", case_name(result.definition), variant.variant,
                                    describe_wrong(result.definition, *variant.verification)),
                        fmt::format("do not trust results of this machine; run again, {}",
                                    memory_advice(record))});
    }
  }
  return wrong;
}

bool judge_absence(Record& record) {
  if (record.status != "complete" || record.cases.empty()) return false;
  const bool all_are_yardsticks =
      std::all_of(record.cases.begin(), record.cases.end(), is_yardstick);
  for (const CaseResult& result : record.cases) {
    const bool counts = all_are_yardsticks || !is_yardstick(result);
    if (counts && was_measured(result)) return false;
  }
  add_once(record, {"nothing-measured",
                    fmt::format("nothing was measured of what was asked for{}", why_not(record)),
                    "the record has the reason of every case; ask for what this machine can do, "
                    "or give more time with --budget"});
  return true;
}

void judge_losses(Record& record) {
  for (const CaseResult& result : record.cases) {
    if (!may_stand_for_run(result.definition)) continue;
    const double bound = loss_bound(*result.definition.training, result.definition.ranks);
    for (std::size_t i = 1; i < result.variants.size(); ++i) {
      const std::optional<double> difference = judged_loss_difference(record, result, i);
      if (!difference || *difference <= bound) continue;
      add_once(record,
               {"losses-differ",
                fmt::format("{}: the loss with {} is off from that with {} by {:.1e} of it within "
                            "{} steps, rounding explains {:.1e}",
                            case_name(result.definition), result.variants[i].variant,
                            result.variants[0].variant, *difference, kJudgedSteps, bound),
                fmt::format("both trained alike on the same tokens: unless a variant changes the "
                            "arithmetic (as NVIDIA_TF32_OVERRIDE does), one of the two had wrong "
                            "data; run again, {}",
                            memory_advice(record))});
    }
  }
}

}  // namespace linkgain
