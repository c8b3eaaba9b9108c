#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/report/report.hpp"
#include "linkgain/tables/document.hpp"
#include "linkgain/tables/number_format.hpp"
#include "linkgain/tables/text_lines.hpp"
#include "run_rows.hpp"

namespace linkgain {
namespace {

constexpr std::string_view kLead =
    "What the links' counters say, for one operation and all GPUs together: bytes that NVLink "
    "carried, and those that it must carry if every message goes over it.";

/// What a case's algorithm is known from.
enum class Source { log, own_work, assumption };

Source source_of(const Case& definition) {
  if (definition.training) return Source::assumption;
  return is_own_work(definition) ? Source::own_work : Source::log;
}

/// Says where the algorithms are from that the table shows.
std::string source_of_algorithms(const Record& record) {
  const auto has = [&](Source source) {
    return std::ranges::any_of(record.cases, [&](const CaseResult& result) {
      return source_of(result.definition) == source;
    });
  };
  std::vector<std::string_view> found;
  if (has(Source::log)) found.emplace_back("the one that NCCL's log names");
  if (has(Source::own_work)) found.emplace_back("the one that our own kernels and copies used");
  std::string text;
  if (!found.empty()) text = fmt::format("The algorithm is {}.", fmt::join(found, ", or "));
  if (!has(Source::assumption)) return text;
  return fmt::format("{}{} of gpt2_step is assumed: rings and protocol Simple.", text,
                     text.empty() ? "The algorithm" : " That");
}

std::string cost_of(const Record& record) {
  if (!record.evidence_cost) return {};
  const EvidenceCost& cost = *record.evidence_cost;
  const std::string health = cost.health_s
                                 ? fmt::format(", reading temperatures, power and clocks {}",
                                               readable_time(Seconds{*cost.health_s}))
                                 : "";
  return fmt::format(
      " Reading counters took {} of the run{}, asking NCCL for algorithm and protocol {}.",
      readable_time(Seconds{cost.counters_s}), health, readable_time(Seconds{cost.probes_s}));
}

/// Says bytes of all GPUs together, for one operation; empty where it was not measured.
template <typename Value>
std::string per_operation(const std::optional<Value>& bytes, const TrafficEvidence& evidence) {
  if (!bytes || evidence.operations <= 0) {
    return {};
  }
  return rounded_bytes(static_cast<double>(*bytes) / static_cast<double>(evidence.operations));
}

/// Says "(1) (2)": of the share, and of PCIe bytes where their columns are shown.
std::string notes_of(const VariantResult& variant, bool pcie, Footnotes& reasons) {
  std::string marks;
  const auto add = [&](const std::string& reason) {
    if (reason.empty()) return;
    marks += (marks.empty() ? "" : " ") + reasons.number(reason);
  };
  add(variant.evidence ? variant.evidence->reason : "nothing was counted");
  const std::string no_pcie = variant.evidence ? variant.evidence->pcie_reason : "";
  if (pcie && !no_pcie.empty()) add("PCIe bytes not measured: " + no_pcie);
  return marks;
}

/// Says nothing where nothing is sent between GPUs, whatever older records say of it.
std::string algorithm_cell(const Case& definition, const TrafficEvidence& evidence) {
  return definition.training && !uses_link(definition) ? "" : readable_plan(evidence.plan);
}

/// Tells whether a counted variant of the record has what `holds` asks for.
template <typename Holds>
bool any_evidence(const Record& record, Holds holds) {
  return std::ranges::any_of(record.cases, [&](const CaseResult& result) {
    return std::ranges::any_of(result.variants, [&](const VariantResult& variant) {
      return variant.evidence && holds(*variant.evidence);
    });
  });
}

/// Says what there is to say of PCIe bytes; empty where nothing is known of them.
std::string words_on_pcie(const Record& record, bool pcie) {
  if (pcie) {
    return " PCIe bytes, out of the GPUs and into them, count everything, packet headers included.";
  }
  std::set<std::string> reasons;
  any_evidence(record, [&](const TrafficEvidence& evidence) {
    if (!evidence.pcie_reason.empty()) reasons.insert(one_line(evidence.pcie_reason));
    return false;
  });
  if (reasons.empty()) return {};
  return fmt::format(" PCIe bytes were not measured: {}.", fmt::join(reasons, "; "));
}

/// Shows what a row's variant has by its counters.
RunColumns columns_of(bool pcie, Footnotes& reasons) {
  const auto add = [](RunColumns& columns, Table::Column column, auto cell) {
    columns.push_back({std::move(column), [cell](const RunRow& row) {
                         static const TrafficEvidence kNone;
                         const auto& evidence = row.result().evidence;
                         return Text(cell(row, evidence ? *evidence : kNone));
                       }});
  };
  const auto add_bytes = [&](RunColumns& columns, const char* title, auto bytes) {
    add(columns, {title, kRight}, [bytes](const RunRow&, const TrafficEvidence& evidence) {
      return per_operation(evidence.*bytes, evidence);
    });
  };
  using Row = const RunRow&;
  using Evidence = const TrafficEvidence&;
  RunColumns columns{label_column({"Case"})};
  add(columns, {"Variant"}, [](Row row, Evidence) { return row.result().variant; });
  add(columns, {"Path"}, [](Row row, Evidence) { return readable_path(row.result().path); });
  add(columns, {"Algorithm"},
      [](Row row, Evidence evidence) { return algorithm_cell(row.definition(), evidence); });
  add_bytes(columns, "NVLink", &TrafficEvidence::nvlink_sent);
  add_bytes(columns, "Expected", &TrafficEvidence::expected);
  add(columns, {"Share", kRight}, [](Row row, Evidence) {
    const std::optional<double>& share = row.summary().nvlink_share;
    return share ? rounded_percent(*share, 1) : "";
  });
  if (pcie) {
    add_bytes(columns, "PCIe out", &TrafficEvidence::pcie_sent);
    add_bytes(columns, "PCIe in", &TrafficEvidence::pcie_received);
  }
  add(columns, {"Note"},
      [&, pcie](Row row, Evidence) { return notes_of(row.result(), pcie, reasons); });
  return columns;
}

/// What one variant's counters came to over all cases.
struct TrafficTotals {
  int cases = 0;
  int judged = 0;
  const CaseSummary* least = nullptr;
  const CaseSummary* most = nullptr;
  double least_share = 0.0;
  double most_share = 0.0;
  std::map<std::string, int> reasons{};  ///< why shares were not judged

  void add(const CaseSummary& each, const VariantSummary& variant) {
    if (!variant.result->time) return;
    ++cases;
    if (!variant.nvlink_share) {
      ++reasons[variant.result->evidence ? one_line(variant.result->evidence->reason)
                                         : "nothing was counted"];
      return;
    }
    ++judged;
    const double share = *variant.nvlink_share;
    if (least == nullptr || share < least_share) {
      least = &each;
      least_share = share;
    }
    if (most == nullptr || share > most_share) {
      most = &each;
      most_share = share;
    }
  }
};

/// Says "100.4 % (all_reduce 1 GiB)"; without the case where the other end looks the same.
std::string share_cell(double share, const CaseSummary* of, double other) {
  if (of == nullptr) return {};
  const std::string text = rounded_percent(share, 1);
  return text == rounded_percent(other, 1)
             ? text
             : fmt::format("{} ({})", text, case_label(of->definition()));
}

/// Adds a row for each variant, and below them why shares were not judged.
void add_totals(Document& document, const RunSummary& summary) {
  Table table({{"Variant"},
               {"Cases", kRight},
               {"Judged", kRight},
               {"Least share"},
               {"Most share"},
               {"Not judged", kRight}});
  std::vector<std::string> reasons;
  for (const Variant& variant : summary.record.settings.variants) {
    TrafficTotals totals;
    for (const CaseSummary& each : summary.cases) {
      if (const VariantSummary* own = each.find(variant.name)) totals.add(each, *own);
    }
    table.add_row({variant.name, std::to_string(totals.cases), std::to_string(totals.judged),
                   share_cell(totals.least_share, totals.least, totals.most_share),
                   share_cell(totals.most_share, totals.most, totals.least_share),
                   std::to_string(totals.cases - totals.judged)});
    std::vector<std::string> words;
    for (const auto& [reason, count] : totals.reasons) {
      words.push_back(fmt::format("{} ({})", reason.empty() ? "reason not known" : reason,
                                  counted(count, "case", "cases")));
    }
    if (!words.empty()) {
      reasons.push_back(
          fmt::format("Not judged with {}: {}", variant.name, fmt::join(words, "; ")));
    }
  }
  document.table(std::move(table));
  for (const std::string& each : reasons) document.item(each);
}

/// Adds them of a condensed summary.
void add_condensed(Document& document, const RunSummary& summary, bool pcie) {
  document.paragraph(
      with_code(
          "What the links' counters say: bytes that NVLink carried, as a share of those that "
          "it must carry if every message goes over it, of all cases. The bytes of each case, "
          "with its algorithm: `linkgain report --format csv`.") +
      words_on_pcie(summary.record, pcie) + cost_of(summary.record));
  add_totals(document, summary);
}

}  // namespace

Document nvlink_traffic_section(const RunSummary& summary) {
  const Record& record = summary.record;
  if (!any_evidence(record, [](const TrafficEvidence&) { return true; })) {
    return {};
  }
  const bool pcie = any_evidence(record, [](const TrafficEvidence& evidence) {
    return evidence.pcie_sent.has_value() || evidence.pcie_received.has_value();
  });
  Document document;
  document.heading("NVLink traffic");
  if (summary.is_condensed) {
    add_condensed(document, summary, pcie);
    return document;
  }
  std::vector<RunRow> rows;
  for (const CaseSummary& each : summary.cases) {
    std::string label = case_label(each.definition());
    for (std::size_t i = 0; i < each.variants.size(); ++i) {
      if (each.variants[i].result->time) rows.push_back({&each, i, std::exchange(label, "")});
    }
  }
  Footnotes reasons;
  Table table = table_of(columns_of(pcie, reasons), rows, Narrow::from_the_right);
  document.paragraph(fmt::format("{} {} A note says why a share is not judged.{}{}", kLead,
                                 source_of_algorithms(record), words_on_pcie(record, pcie),
                                 cost_of(record)));
  document.table(std::move(table));
  document.notes(reasons);
  return document;
}

}  // namespace linkgain
