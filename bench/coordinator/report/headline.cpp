#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/report/report.hpp"
#include "run_rows.hpp"
#include "sentences.hpp"

namespace linkgain {
namespace {

/// Says curve_label(), or "send_recv between pairs, both ways".
std::string curve_or_pairs_label(const Curve& curve) {
  Case definition = curve.definition();
  if (!curve.has_pairs()) {
    return curve_label(definition);
  }
  const bool both = definition.pair->both;
  definition.pair.reset();
  return fmt::format("{} between pairs{}", curve_label(definition), both ? ", both ways" : "");
}

std::string not_compared(const Curve& curve) {
  std::string reasons;
  for (const VariantResult& variant : curve.cases.back()->result->variants) {
    if (variant.skipped.has_value()) {
      reasons += fmt::format("{}{}: {}", reasons.empty() ? " (" : "; ", variant.variant,
                             why_skipped(variant));
    }
  }
  return fmt::format("{}: no {} was measured with the first variant and another one{}.",
                     curve_or_pairs_label(curve), curve.has_pairs() ? "pair" : "size",
                     reasons.empty() ? "" : reasons + ")");
}

/// Says "WRONG DATA at other sizes: 8 B.", or at other pairs where the curve has several; `shown`
/// is left out. Empty where there is none.
Text wrong_sentence(const Curve& curve, const CaseSummary* shown) {
  constexpr std::size_t kMostNamed = 8;
  const bool pairs = curve.has_pairs();
  std::vector<std::string> wrong;
  for (const CaseSummary* each : curve.cases) {
    if (each != shown && each->has_wrong_data) {
      wrong.push_back(pairs ? case_label(each->definition())
                            : readable_bytes(each->definition().size));
    }
  }
  if (wrong.empty()) {
    return {};
  }
  const std::size_t left_out = pairs && wrong.size() > kMostNamed ? wrong.size() - kMostNamed : 0;
  wrong.resize(wrong.size() - left_out);
  return wrong_data_mark() + fmt::format(" at other {}: {}{}.", pairs ? "pairs" : "sizes",
                                         fmt::join(wrong, ", "),
                                         left_out > 0 ? fmt::format(" and {} more", left_out) : "");
}

/// Shows the largest size of each curve in a row of one table, and says which have none.
Document largest_sizes(const RunSummary& summary) {
  std::vector<const CaseSummary*> cases;
  Document sentences;
  for (const Curve& curve : summary.headline) {
    const CaseSummary* const largest = summary.main_case(curve, &CaseSummary::is_compared);
    if (largest == nullptr) {
      sentences.paragraph(not_compared(curve));
    } else {
      cases.push_back(largest);
    }
    if (const Text wrong = wrong_sentence(curve, largest); !wrong.empty()) {
      sentences.paragraph(Text(curve_or_pairs_label(curve) + ": ") + wrong);
    }
  }
  Document document;
  if (!cases.empty()) {
    const bool has_latency = std::ranges::any_of(
        cases, [](const CaseSummary* each) { return is_latency(each->definition().operation); });
    document.add(case_table(summary, curve_of("", std::move(cases)),
                            {.title = {"Case"}, .label = case_label, .place = "in this case"},
                            fmt::format("The largest size of each operation{}",
                                        has_latency ? ", of latencies the smallest" : "")));
  }
  document.add(sentences);
  return document;
}

/// Adds what every reader must know of the run.
void add_notes(Document& document, const RunSummary& summary) {
  const Record& record = summary.record;
  if (summary.left_out_of_headline > 0) {
    const std::string curves = counted(static_cast<std::int64_t>(summary.left_out_of_headline),
                                       "curve more is", "curves more are");
    document.paragraph(with_code(fmt::format(
        "{} in the tables by size and by pair{}.", curves,
        summary.is_condensed ? ", in groups; `linkgain report --format csv` has every case" : "")));
  }
  if (record.settings.backend == BackendKind::mpi) {
    document.paragraph("These are MPI transfers in CPU memory (backend mpi), not GPU figures.");
  }
  if (record.status != RunStatus::complete) {
    document.paragraph(fmt::format("The run is not complete ({}): this is what it had measured.",
                                   name_of(record.status)));
  }
}

}  // namespace

Document headline(const RunSummary& summary) {
  Document document = training_tables(summary);
  document.add(largest_sizes(summary));
  if (document.empty()) document.paragraph("Nothing was measured.");
  add_notes(document, summary);
  return document;
}

}  // namespace linkgain
