#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/report/answer.hpp"
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

/// Lists the cases that have rows: of a condensed summary those of the answer.
std::vector<const CaseSummary*> shown_cases(const RunSummary& summary) {
  std::vector<const CaseSummary*> cases;
  if (summary.is_condensed) {
    for (const AnswerRow& row : answer_of(summary).rows) {
      if (cases.empty() || cases.back() != row.of) cases.push_back(row.of);
    }
    return cases;
  }
  for (const CaseSummary& each : summary.cases) cases.push_back(&each);
  return cases;
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
  std::vector<RunRow> rows;
  for (const CaseSummary* each : shown_cases(summary)) {
    std::string label = case_label(each->definition());
    for (std::size_t i = 0; i < each->variants.size(); ++i) {
      if (each->variants[i].result->time) rows.push_back({each, i, std::exchange(label, "")});
    }
  }
  Footnotes reasons;
  Table table = table_of(columns_of(pcie, reasons), rows, Narrow::from_the_right);
  document.paragraph(fmt::format("{} {} A note says why a share is not judged.{}{}", kLead,
                                 source_of_algorithms(record), words_on_pcie(record, pcie),
                                 cost_of(record)));
  if (summary.is_condensed) {
    document.paragraph(
        with_code("These are the cases of the answer; `linkgain report --format csv` has all."));
  }
  document.table(std::move(table));
  document.notes(reasons);
  return document;
}

}  // namespace linkgain
