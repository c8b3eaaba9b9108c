#include <fmt/format.h>

#include <string_view>

#include "linkgain/core/backend.hpp"
#include "linkgain/core/training_summary.hpp"
#include "verdict_parts.hpp"

namespace linkgain {
namespace {

/// Where to look for what bent data.
std::string_view memory_advice(const Record& record) {
  return record.settings.backend == name_of(BackendKind::mpi)
             ? "then check the host's memory (errors in `dmesg`)"
             : "then check the GPUs' memory (nvidia-smi -q -d ECC) and NCCL's release notes for "
               "corruption bugs";
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

void judge_losses(Record& record) {
  for (const CaseResult& result : record.cases) {
    if (!uses_link(result.definition) || !result.definition.training) continue;
    const double bound = loss_bound(*result.definition.training, result.definition.ranks);
    for (std::size_t i = 1; i < result.variants.size(); ++i) {
      if (!have_losses_parted(record, result, i)) continue;
      add_once(record,
               {"losses-differ",
                fmt::format("{}: the loss with {} is off from that with {} by {:.1e} of it within "
                            "{} steps, rounding explains {:.1e}",
                            case_name(result.definition), result.variants[i].variant,
                            result.variants[0].variant, *judged_loss_difference(record, result, i),
                            kJudgedSteps, bound),
                fmt::format("both trained alike on the same tokens: unless a variant changes the "
                            "arithmetic (as NVIDIA_TF32_OVERRIDE does), one of the two had wrong "
                            "data; run again, {}",
                            memory_advice(record))});
    }
  }
}

}  // namespace linkgain
