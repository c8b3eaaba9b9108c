#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/text.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/summary/headroom_steps.hpp"
#include "linkgain/summary/judgement_text.hpp"
#include "linkgain/tables/number_format.hpp"

namespace linkgain {
namespace {

/// Says "NCCL takes 4.12 times the time of linkgain's kernel at 8 B, 2.50 times at 1 MiB and 1.10
/// times at 1 GiB: that is the headroom." Names the curve where other kernels were measured, and
/// the sizes where the kernel is slower; empty where no kernel is shown to be faster.
std::string headroom_of_kernels(const Answer& answer) {
  std::vector<std::string> parts;
  std::vector<std::string> slower;
  const auto in_words = [](const std::vector<std::string>& all) {
    return listed(std::vector<std::string_view>(all.begin(), all.end()));
  };
  for (const CaseSummary* each : answer.spoken_headroom) {
    const VariantSummary& first = each->variants.front();
    const std::string size = readable_bytes(each->definition().size);
    if (first.beside_library == Verdict::slower) slower.push_back(size);
    if (first.beside_library != Verdict::faster) continue;
    const std::string ratio = readable_ratio(*first.library_ratio).estimate;
    const std::string of_kernel = parts.empty() ? " the time of linkgain's kernel" : "";
    parts.push_back(
        fmt::format("{} times{} at {}", ratio.substr(0, ratio.find('x')), of_kernel, size));
  }
  if (parts.empty()) return {};
  const Case& definition = answer.spoken_headroom.front()->definition();
  Case operation = definition;
  operation.kernel = false;
  const std::string_view who = is_copy(definition.operation) ? "the copy engine" : "NCCL";
  std::string text =
      fmt::format("{}{} takes {}: that is the headroom.",
                  answer.has_other_headroom ? fmt::format("In {}, ", spoken_curve(operation)) : "",
                  who, in_words(parts));
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  if (slower.empty()) return text;
  return fmt::format("{} At {} the kernel is slower.", text, in_words(slower));
}

/// Says how far NCCL, its best setting and the kernel are from the floor where NCCL is furthest:
/// "NCCL is furthest from the floor, the least time that the link allows, at 64 KiB: it takes 4.48x
/// as long (6.86 against 1.53 us; 95 % CI 4.45x to 4.52x), 2.80x with its best setting, and
/// linkgain's kernel 1.22x." Empty where no floor was measured but that of the smallest sum, which
/// is the kernel's own time.
std::string floor_sentence(const RunSummary& summary, const Answer& answer) {
  const std::vector<HeadroomCurve> curves = headroom_curves(summary);
  const auto has_spoken = [&](const HeadroomCurve& curve) {
    return headroom_row({&curve, 1}, answer.spoken_headroom.front()->definition()).has_value();
  };
  const auto curve = std::ranges::find_if(curves, has_spoken);
  if (curve == curves.end()) return {};
  const auto floor_of = [](const HeadroomRow& each) {
    return find_step(each, HeadroomStation::floor);
  };
  if (std::ranges::none_of(curve->rows, [&](const HeadroomRow& each) {
        return floor_of(each) != nullptr && floor_of(each)->factor->interval;
      })) {
    return {};
  }
  const HeadroomRow& row = *std::ranges::max_element(curve->rows, {}, [&](const HeadroomRow& each) {
    return floor_of(each) == nullptr ? 0.0 : floor_of(each)->whole->value;
  });
  const HeadroomStep* const floor = floor_of(row);
  const auto beside_floor = [&](const HeadroomStep& step) {
    return spoken_ratio({step.time.value / floor->time.value, {}, 0}).text.estimate;
  };
  const HeadroomStep& best = best_of_nccl(row);
  const HeadroomStep* const kernel = find_step(row, HeadroomStation::kernel);
  const RatioText whole = readable_ratio(*floor->whole);
  return fmt::format(
      "NCCL is furthest from the floor, the least time that the link allows, at {}: it takes {} as "
      "long ({} against {}; {}){}{}.",
      readable_bytes(parse_case_name(row.name).size), whole.estimate,
      readable_time(row.steps.front().time), readable_time(floor->time), interval_text(whole),
      best.station == HeadroomStation::nccl
          ? ""
          : fmt::format(", {} with its best setting", beside_floor(best)),
      kernel == nullptr ? "" : fmt::format(", and linkgain's kernel {}", beside_floor(*kernel)));
}

}  // namespace

std::vector<std::string> headroom_sentences(const RunSummary& summary, const Answer& answer) {
  const std::string kernels = headroom_of_kernels(answer);
  if (kernels.empty()) return {};
  return {kernels, floor_sentence(summary, answer)};
}

}  // namespace linkgain
