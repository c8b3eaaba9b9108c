#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/predict/prediction.hpp"
#include "linkgain/predict/prediction_report.hpp"
#include "linkgain/report/answer.hpp"
#include "linkgain/summary/headroom_steps.hpp"
#include "linkgain/summary/judgement_text.hpp"
#include "linkgain/tables/number_format.hpp"
#include "linkgain/telemetry/program_traffic.hpp"
#include "run_rows.hpp"
#include "sentences.hpp"

namespace linkgain {

std::string variant_title(const CaseSummary& each, std::size_t variant) {
  const std::vector<VariantResult>& variants = each.result->variants;
  if (each.arms() == 2 && variant < 2 && variants[0].variant == "p2p" &&
      variants[1].variant == "host" && each.contrast != Contrast::variant) {
    return variant == 0 ? "P2P on" : "P2P off";
  }
  return variants[variant].variant;
}

namespace {

/// Tells whether its bandwidth says something: not of what is small, of a latency or of a step.
bool has_bandwidth(const CaseSummary& each, std::size_t variant) {
  constexpr std::int64_t kLeastForBandwidth = 1 << 20;
  const Case& definition = each.definition();
  const VariantSummary& summary = each.variants[variant];
  return summary.result->time && summary.result->busbw && !summary.wrong_data &&
         definition.size.value >= kLeastForBandwidth && !is_latency(definition.operation) &&
         !is_training(definition.operation);
}

std::string own_bandwidth(const VariantResult& result) {
  const std::string text = readable_bandwidth(*result.busbw);
  return text.substr(0, text.find(' '));
}

/// Says "324.3/25.7", of one variant "324.3".
std::string bandwidths_cell(const RunRow& row) {
  std::string text;
  for (const std::size_t variant : {std::size_t{0}, row.variant}) {
    if (!has_bandwidth(*row.of, variant)) return {};
    text += (text.empty() ? "" : "/") + own_bandwidth(*row.of->variants[variant].result);
    if (row.variant == 0) break;
  }
  return text;
}

RunColumn time_column(std::string title, int leave_out = 0) {
  RunColumn column = value_column(std::move(title));
  column.column.leave_out = leave_out;
  return column;
}

/// Adds what a model would gain: a row for each phase, times under the variants' names. Without an
/// interval, which would not cover what the products leave out.
void add_predicted(const RunSummary& summary, Table& table) {
  const std::optional<Prediction> prediction = model_prediction(summary);
  if (!prediction) return;
  const MeasuredLink& measured = prediction->measured;
  const std::vector<Variant>& variants = summary.record.settings.variants;
  for (const PhasePrediction& phase : prediction->phases) {
    const auto time_of = [&](const std::string& variant) {
      return variant == measured.link.variant    ? readable_time(*phase.link)
             : variant == measured.other.variant ? readable_time(*phase.other)
                                                 : "";
    };
    const bool at_most = measured.is_at_most();
    Cells cells{fmt::format("{}: 8B, {}", at_most ? "with the link" : "predicted",
                            phase.phase == Phase::decode ? "batch 1" : "prefill"),
                time_of(variants[0].name)};
    if (variants.size() > 2) cells.emplace_back(measured.other.variant);
    append_cells(cells, {time_of(variants.size() > 2 ? measured.other.variant : variants[1].name),
                         (at_most ? "≤" : "~") + readable_ratio(*phase.ratio).estimate});
    table.add_row(std::move(cells));
  }
}

/// Shows a row for each case and later variant; bandwidths are left out first. Beside variants with
/// names, whose column of speed-ups is wider, the interval outlasts the times.
Table rows_table(const RunSummary& summary, const Answer& answer) {
  const CaseSummary& main = *answer.main();
  const bool several = main.variants.size() > 2;
  const bool is_named = main.contrast == Contrast::variant;
  RunColumns columns{label_column({.title = "Operation", .too_long = Table::TooLong::cut})};
  add_of_variant(columns, 0, {time_column(variant_title(main, 0), is_named ? 2 : 4)});
  if (main.variants.size() > 1) {
    if (several) {
      columns.push_back({{"Against"}, [](const RunRow& row) { return row.result().variant; }});
    }
    columns.push_back(time_column(several ? "Time" : variant_title(main, 1), 3));
    // A race asks what its settings gain.
    const SpeedUpOf of = summary.tuning ? SpeedUpOf::row : SpeedUpOf::first;
    const bool is_of_named = is_named && of == SpeedUpOf::first;
    columns.push_back(
        speed_up_column(is_of_named ? "Speed-up of " + row_name(main, 0) : "Speed-up", 0, of));
    columns.push_back(interval_column(is_named ? 4 : 2, of));
  }
  columns.push_back({{"busbw GB/s", kRight, true, 1}, bandwidths_cell});
  std::vector<RunRow> rows;
  for (const AnswerRow& each : answer.rows) {
    const bool is_again = !rows.empty() && rows.back().of == each.of;
    rows.push_back({each.of, each.other, is_again ? "" : answer_label(each.of->definition())});
  }
  Table table = table_of(columns, rows, Narrow::as_declared);
  if (main.variants.size() > 1) add_predicted(summary, table);
  return table;
}

/// Finds NCCL's operation, or the copy engine's, that a kernel's is compared with.
const CaseSummary* library_case(const RunSummary& summary, Case definition) {
  definition.kernel = false;
  const auto found = std::ranges::find_if(
      summary.cases, [&](const CaseSummary& each) { return each.definition() == definition; });
  return found == summary.cases.end() ? nullptr : &*found;
}

/// Shows with the first variant what our kernels take beside NCCL or the copy engine: "4.10x as
/// fast", "1.02x as long".
Table headroom_table(const RunSummary& summary, const Answer& answer) {
  const auto copies = std::ranges::count_if(answer.headroom, [](const CaseSummary* each) {
    return is_copy(each->definition().operation);
  });
  const bool all_are_copies = copies == std::ssize(answer.headroom);
  const auto [title, library] = copies == 0      ? std::pair("NCCL", "NCCL")
                                : all_are_copies ? std::pair("Copy engine", "copy engine")
                                                 : std::pair("Library", "library");
  const auto ratio_of = [](const RunRow& row) -> const Estimate& {
    return *row.summary().library_ratio;
  };
  const std::vector<HeadroomCurve> curves = headroom_curves(summary);
  const auto time_of = [&](const auto& step_of) {
    return [&curves, step_of](const RunRow& row) {
      const std::optional<HeadroomRow> found = headroom_row(curves, row.definition());
      const HeadroomStep* const step = found ? step_of(*found) : nullptr;
      return step ? readable_time(step->time) : "";
    };
  };
  const auto best_of = [](const HeadroomRow& row) {
    const HeadroomStep& best = best_of_nccl(row);
    return best.station == HeadroomStation::nccl ? nullptr : &best;
  };
  const auto floor_of = [](const HeadroomRow& row) {
    return find_step(row, HeadroomStation::floor);
  };
  const RunColumns columns{
      label_column({.title = "Headroom", .too_long = Table::TooLong::cut}),
      {{title, kRight, false, 4},
       [&](const RunRow& row) {
         const CaseSummary* const of = library_case(summary, row.definition());
         return of == nullptr ? "" : readable_time(*of->result->variants.front().time);
       }},
      {{"Best setting", kRight, true, 1}, time_of(best_of)},
      time_column("Kernel", 5),
      {{"Floor", kRight, true, 2}, time_of(floor_of)},
      {{fmt::format("Against {}", library), kRight},
       [=](const RunRow& row) {
         return toned(spoken_ratio(ratio_of(row)).words, tone_of(row.summary().beside_library));
       }},
      {{"95 % CI", kRight, false, 3}, [=](const RunRow& row) {
         const Estimate& ratio = ratio_of(row);
         return interval_cell(ratio.value < 1.0 ? inverse_of(ratio) : ratio);
       }}};
  std::vector<RunRow> rows;
  for (const CaseSummary* each : answer.headroom) {
    Case definition = each->definition();
    definition.kernel = false;
    rows.push_back({each, 0, answer_label(definition)});
  }
  return table_of(columns, rows, Narrow::as_declared);
}

}  // namespace

Table card_table(const Answer& answer) {
  if (answer.main()->definition().metric) return metrics_table({answer.main()});
  constexpr std::size_t kMostVariants = 4;
  std::vector<std::size_t> variants(std::min(kMostVariants, answer.main()->variants.size()));
  std::iota(variants.begin(), variants.end(), 0);
  return variants_table(
      *answer.main(), variants,
      {value_column(answer_label(answer.main()->definition())),
       {{"busbw GB/s", kRight, true},
        [](RunRow row) {
          return has_bandwidth(*row.of, row.variant) ? own_bandwidth(row.result()) : "";
        }},
       {{"Path"}, [](const RunRow& row) { return readable_path(row.result().path); }},
       {{"NVLink traffic", kRight, true}, [](const RunRow& row) {
          const std::optional<double>& share = row.summary().nvlink_share;
          return share ? rounded_percent(*share, 1) + " of expected" : "";
        }}});
}

namespace {

/// Says "with P2P on", "in variant tcp".
std::string words_for(const CaseSummary& each, std::size_t variant) {
  const std::string title = variant_title(each, variant);
  const bool is_name = title == each.result->variants[variant].variant;
  return fmt::format("{} {}", is_name ? "in variant" : "with", title);
}

/// Tells whether NCCL's log, or the engine's, and no counter names such a path of a program.
bool is_by_log(Path path) { return path != Path::nvlink && path != Path::unknown; }

/// Says what NVLink carried of a program, with each variant, and which path NCCL's log names, or
/// the engine's.
std::vector<std::string> traffic_sentences(const CaseSummary& each) {
  std::vector<std::string> seen;
  std::vector<std::string> unseen;
  std::vector<std::string> logged;
  std::vector<std::string> engine;
  bool is_elsewhere = false;
  for (std::size_t i = 0; i < each.variants.size(); ++i) {
    const Path path = each.variants[i].result->path;
    const std::string& by = each.variants[i].connections;
    if (path == Path::engine || (is_by_log(path) && by.empty())) {
      engine.push_back(fmt::format("{} {}", readable_path(path), words_for(each, i)));
    } else if (is_by_log(path)) {
      logged.push_back(fmt::format("{}{} {}", readable_path(path),
                                   path == Path::mixed ? fmt::format(" ({})", by) : "",
                                   words_for(each, i)));
    }
    const std::optional<double>& bytes = each.variants[i].nvlink_bytes;
    if (!bytes) {
      unseen.push_back(words_for(each, i));
      continue;
    }
    is_elsewhere = is_elsewhere || *bytes <= static_cast<double>(kNvlinkFloor);
    seen.push_back(fmt::format("{}{} {}", readable_traffic(*bytes), seen.empty() ? " in a run" : "",
                               words_for(each, i)));
  }
  std::vector<std::string> sentences;
  if (!logged.empty()) {
    sentences.push_back(fmt::format("By NCCL's log {}.", fmt::join(logged, ", ")));
  }
  if (!engine.empty()) {
    sentences.push_back(fmt::format("By the engine's lines {}, which no NCCL variable changes.",
                                    fmt::join(engine, ", ")));
  }
  if (!seen.empty()) {
    sentences.push_back(fmt::format("NVLink carried {}.", fmt::join(seen, ", ")));
  }
  if (sentences.empty()) return {"Not known: NVLink traffic was not measured."};
  if (!unseen.empty()) {
    sentences.push_back(
        fmt::format("NVLink's traffic {}was not measured{}.",
                    seen.empty() ? "" : fmt::format("{} ", fmt::join(unseen, ", ")),
                    logged.empty() ? "" : ": what the program copied beside NCCL is not known"));
  }
  if (is_elsewhere && logged.empty() && engine.empty()) {
    sentences.emplace_back("PCIe and host memory are not counted.");
  }
  return sentences;
}

}  // namespace

std::vector<std::string> path_sentences(const CaseSummary& each) {
  if (is_program(each.definition().operation)) return traffic_sentences(each);
  std::set<Path> kinds;
  std::vector<std::string> paths;
  std::vector<std::string> shares;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < each.variants.size(); ++i) {
    const VariantSummary& variant = each.variants[i];
    if (!variant.result->time) continue;
    kinds.insert(variant.result->path);
    paths.push_back(fmt::format("{} {}", readable_path(variant.result->path), words_for(each, i)));
    if (!variant.nvlink_share) continue;
    least = std::min(least, *variant.nvlink_share);
    shares.push_back(fmt::format("{}{} {}", rounded_percent(*variant.nvlink_share, 1),
                                 shares.empty() ? " of the expected bytes" : "",
                                 words_for(each, i)));
  }
  const bool all_have_shares = !shares.empty() && shares.size() == paths.size();
  const bool are_alike = kinds.size() == 1 && paths.size() > 2;
  std::vector<std::string> sentences{
      are_alike ? fmt::format("{} in all {} variants.", readable_path(*kinds.begin()), paths.size())
                : fmt::format("{}.", fmt::join(paths, ", "))};
  if (!all_have_shares) return sentences;
  sentences.push_back(are_alike
                          ? fmt::format("NVLink carried {} of the expected bytes in each, or more.",
                                        rounded_percent(least, 1))
                          : fmt::format("NVLink carried {}.", fmt::join(shares, ", ")));
  return sentences;
}

Table metrics_table(const std::vector<const CaseSummary*>& metrics, Traffic traffic) {
  const CaseSummary& first = *metrics.front();
  const ProgramMetric& metric = *first.definition().metric;
  const std::string& name = metric.name;
  const auto is_of_first = [&](const CaseSummary* each) {
    return each->definition().metric->name == name;
  };
  const bool several = !std::ranges::all_of(metrics, is_of_first);
  RunColumns columns;
  if (several) columns.push_back(label_column({"Metric"}));
  if (!metric.at.empty()) {
    columns.push_back({{axis_of(metric)}, [](const RunRow& row) {
                         return row.variant == 0 ? value_on_axis(*row.definition().metric) : "";
                       }});
  }
  columns.push_back({{std::string(words_of(first.contrast).title)},
                     [](const RunRow& row) { return row_name(*row.of, row.variant); }});
  columns.push_back(value_column(several ? "Value" : name == ProgramMetric::kTime ? "Time" : name));
  columns.push_back({{"by NVLink", kRight, true, 4}, [&](const RunRow& row) {
                       const std::optional<double>& bytes = row.summary().nvlink_bytes;
                       const bool is_here = traffic == Traffic::here && is_of_first(row.of);
                       return bytes && is_here ? readable_traffic(*bytes) : "";
                     }});
  columns.push_back({{"Path by log", Table::Alignment::left, true, 3}, [&](const RunRow& row) {
                       const Path path = row.result().path;
                       return is_of_first(row.of) && is_by_log(path) ? readable_path(path) : "";
                     }});
  columns.push_back({{"Runs", kRight, false, 1}, [](const RunRow& row) {
                       const VariantSummary& variant = row.summary();
                       return variant.ended.lost() > 0
                                  ? fmt::format("{} of {}", variant.launches, variant.ended.all)
                                  : fmt::to_string(variant.launches);
                     }});
  // The first one's against the row's: with names alone one would take it for the row's own.
  const bool of_first = first.contrast == Contrast::variant && first.arms() > 2;
  for (const RunColumn& each :
       {speed_up_column(of_first ? "Speed-up of " + row_name(first, 0) : "Speed-up", 3),
        interval_column(2)}) {
    columns.push_back({each.column, [cell = each.cell](RunRow row) {
                         const bool is_pair = row.of->arms() == 2 && !row.summary().is_control;
                         if (is_pair) row.variant = 1 - row.variant;
                         return cell(row);
                       }});
  }
  columns.front().column.too_long = Table::TooLong::cut;
  std::vector<RunRow> rows;
  std::string last;
  for (const CaseSummary* each : metrics) {
    for (std::size_t i = 0; i < each->variants.size(); ++i) {
      const std::string& own = each->definition().metric->name;
      rows.push_back({each, i, std::exchange(last, own) == own ? "" : own});
    }
  }
  return table_of(columns, rows, Narrow::as_declared);
}

std::vector<Table> answer_tables(const RunSummary& summary, const Answer& answer) {
  if (answer.rows.empty()) return {};
  if (summary.is_of_program()) {
    std::vector<const CaseSummary*> metrics;
    for (const AnswerRow& each : answer.rows) metrics.push_back(each.of);
    return {metrics_table(metrics)};
  }
  std::vector<Table> tables{rows_table(summary, answer)};
  if (answer.headroom.empty()) return tables;
  tables.insert(answer.begins_with_headroom ? tables.begin() : tables.end(),
                headroom_table(summary, answer));
  return tables;
}

namespace {

/// Names a group whose cases have one variant, or none, and says why: "host_to_device: host was
/// skipped: it uses no link". Empty of others.
std::string not_compared(const CaseGroup& group) {
  const std::vector<const CaseSummary*>& cases = group.all.cases;
  if (!group.is_in_answer || std::ranges::any_of(cases, &CaseSummary::is_compared)) return {};
  if (group.all.definition().operation == OperationKind::product_norm) return {};  // by design
  std::vector<std::string> reasons;
  for (const VariantResult& variant : cases.back()->result->variants) {
    if (!variant.skipped) continue;
    reasons.push_back(fmt::format("{}: {}", variant.variant, why_skipped(variant)));
  }
  return fmt::format("{} was not measured with two variants{}{}.",
                     curve_label(group.all.definition()), reasons.empty() ? "" : "; ",
                     fmt::join(reasons, "; "));
}

/// Names the cases with wrong data, of which the sentence says the first.
Text wrong_cases(const RunSummary& summary) {
  constexpr std::size_t kMostNamed = 8;
  std::vector<std::string> wrong;
  for (const CaseSummary& each : summary.cases) {
    if (each.has_wrong_data) wrong.push_back(answer_label(each.definition()));
  }
  const std::size_t named = std::min(kMostNamed, wrong.size());
  const std::string more =
      wrong.size() > named ? fmt::format(" and {} more", wrong.size() - named) : "";
  wrong.resize(named);
  return wrong.empty() ? Text()
                       : wrong_data_mark() + fmt::format(": {}{}.", fmt::join(wrong, ", "), more);
}

/// Tells whether a log names the path of a variant, and counters do not tell what went past it.
bool has_path_by_log_alone(const RunSummary& summary) {
  const bool counters_tell =
      same_for_all_pairs(summary.record.machine.links, joined_by_nvlink) == true;
  return std::ranges::any_of(summary.cases, [&](const CaseSummary& each) {
    return std::ranges::any_of(each.variants, [&](const VariantSummary& variant) {
      return is_by_log(variant.result->path) && !(counters_tell && variant.nvlink_bytes);
    });
  });
}

}  // namespace

Document answer_notes(const RunSummary& summary) {
  const Record& record = summary.record;
  const std::vector<Variant>& variants = record.settings.variants;
  Document document;
  if (summary.is_of_program() && variants.size() > 1) {
    const auto arms = std::ranges::count(variants, false, &Variant::is_control);
    document.paragraph(fmt::format(
        "Values are geometric means over runs of the whole command. A speed-up is {} against {}{}, "
        "its interval Welch's.",
        variants.front().name, arms == 2 ? variants[1].name : "the row's variant",
        arms == 2 && variants.size() > 2 ? ", in the control's row against that" : ""));
    if (has_path_by_log_alone(summary)) {
      document.paragraph(
          "A path by log is what NCCL took, or the engine's all-reduce. What the program copied "
          "beside these was not seen; no-p2p takes P2P from that, too.");
    }
  }
  if (variants.size() > 1) {
    for (const CaseGroup& group : summary.groups) {
      if (const std::string text = not_compared(group); !text.empty()) document.paragraph(text);
    }
  }
  if (const Text wrong = wrong_cases(summary); !wrong.empty()) document.paragraph(wrong);
  if (const auto others = std::ranges::count(summary.groups, false, &CaseGroup::is_in_answer)) {
    document.paragraph(fmt::format("{} in the tables by size and by pair.",
                                   counted(others, "curve more is", "curves more are")));
  }
  if (record.settings.backend == BackendKind::mpi) {
    document.paragraph("These are MPI transfers in CPU memory (backend mpi), not GPU figures.");
  }
  if (record.status != RunStatus::complete) {
    document.paragraph(fmt::format("The run is not complete ({}): this is what it had measured.",
                                   ending_of(record)));
  }
  return document;
}

Document answer_document(const RunSummary& summary) {
  const Answer answer = answer_of(summary);
  Document document;
  document.paragraph(strong(answer_sentence(summary, answer)));
  for (const Table& table : answer_tables(summary, answer)) document.table(table);
  document.add(answer_notes(summary));
  return document;
}

}  // namespace linkgain
