#include "linkgain/tuning/tuning_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <set>

#include "linkgain/base/text.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/record/warning.hpp"
#include "linkgain/summary/answer_choice.hpp"
#include "linkgain/summary/repetition.hpp"
#include "linkgain/tables/number_format.hpp"

namespace linkgain {
namespace {

const Variant& variant_of(const RunSummary& summary, const AnswerRow& row) {
  return summary.record.settings.variants[row.other];
}

const Confirmation& confirmation_of(const RunSummary& summary, const CaseSummary* of) {
  return summary.tuning->confirmations[static_cast<std::size_t>(of - summary.cases.data())];
}

/// Finds the neighbouring sizes of the row's curve at which its variant is confirmed.
std::vector<SizeRange> confirmed_ranges(const RunSummary& summary, const AnswerRow& row) {
  const auto is_confirmed = [&](const CaseSummary* each) {
    const Confirmation& found = confirmation_of(summary, each);
    return found.holds && found.variant == confirmation_of(summary, row.of).variant;
  };
  return ranges_where(summary, row, is_confirmed);
}

bool is_one(const std::vector<SizeRange>& ranges) {
  return ranges.size() == 1 && ranges.front().size() == 1;
}

/// Says "98.3 % CI 1.16x to 1.18x over 6 launches".
std::string interval_text(const Confirmation& found) {
  const RatioText text = readable_ratio(found.ratio);
  return fmt::format("{:.3g} % CI {} to {} over {} launches", 100.0 * found.confidence,
                     text.low.value_or(""), text.high.value_or(""), found.ratio.replicates);
}

/// Says "; at 1 MiB and at 8 MiB to 16 MiB it takes up to 1.50x as long, at 16 MiB" of the sizes of
/// the row's curve at which its variant takes longer; empty where at none.
std::string cost_text(const RunSummary& summary, const AnswerRow& row) {
  const AnswerRow most = most_contrary(summary, row);
  if (most.of == nullptr) return {};
  const std::vector<SizeRange> ranges = ranges_like(summary, most);
  const std::string words = spoken_ratio(inverse_of(*most.comparison()->ratio)).words;
  const std::string size = readable_bytes(most.of->definition().size);
  return fmt::format("; at {} it takes {}", ranges_text(ranges, "at"),
                     is_one(ranges) ? words : fmt::format("up to {}, at {}", words, size));
}

/// Says "With NCCL_PROTO=LL128 all-reduce of 2 MiB to 4 MiB is up to 1.17x as fast, at 2 MiB (24.20
/// us instead of 28.40 us; …); at 256 MiB it takes 1.45x as long." of a variant in the row's curve,
/// where the row gains most.
std::string confirmed_sentence(const RunSummary& summary, const AnswerRow& row) {
  const Variant& variant = variant_of(summary, row);
  const std::string setting = variant.unset.empty()
                                  ? "With " + assignments(variant.environment)
                                  : fmt::format("Without {}", fmt::join(variant.unset, ", "));
  const std::vector<SizeRange> ranges = confirmed_ranges(summary, row);
  const Confirmation& found = confirmation_of(summary, row.of);
  const Comparison& comparison = *row.comparison();
  const Case& definition = row.of->definition();
  const std::string words = spoken_ratio(found.ratio).words;
  return fmt::format("{} {} of {} is {} ({} instead of {}; {}){}.", setting,
                     spoken_curve_of(summary, definition), ranges_text(ranges, "of"),
                     is_one(ranges)
                         ? words
                         : fmt::format("up to {}, at {}", words, readable_bytes(definition.size)),
                     readable_time(*comparison.other->time), readable_time(*comparison.first->time),
                     interval_text(found), cost_text(summary, row));
}

/// Says what to do about the setting that gains most and takes longer at no size: "Set
/// NCCL_PROTO=LL128." or, where each does, where to set the first. A disturbed run is no ground.
std::string advice_sentence(const RunSummary& summary, const std::vector<AnswerRow>& rows) {
  if (std::ranges::any_of(summary.record.warnings, disturbs)) {
    return "Tune again on a quiet machine before setting it.";
  }
  const auto costs_nothing = [&](const AnswerRow& row) {
    return most_contrary(summary, row).of == nullptr;
  };
  const auto free = std::ranges::find_if(rows, costs_nothing);
  const AnswerRow& row = free == rows.end() ? rows.front() : *free;
  const Variant& variant = variant_of(summary, row);
  const std::string what = variant.unset.empty()
                               ? "Set " + assignments(variant.environment)
                               : fmt::format("Unset {}", fmt::join(variant.unset, ", "));
  const std::string_view where =
      free == rows.end()                ? " where these sizes matter more than the others"
      : row.other != rows.front().other ? ", which is not shown to take longer at any size"
                                        : "";
  const bool by_file = !tuner_file(summary).empty();
  return fmt::format("{}{}{}.", what, where,
                     by_file ? fmt::format("; {} chooses by size", kTunerFile) : "");
}

/// Says that nothing is confirmed, and of how many candidates.
std::string nothing_sentence(const RunSummary& summary) {
  const Tuning& tuning = *summary.tuning;
  const auto winners =
      std::ssize(tuning.winners) - std::ranges::count(tuning.winners, std::size_t{0});
  const bool is_tested = std::ranges::any_of(tuning.confirmations, [](const Confirmation& each) {
    return each.ratio.interval.has_value();
  });
  const RunStatus status = summary.record.status;
  const bool is_cut = status == RunStatus::interrupted || status == RunStatus::unfinished;
  if (is_cut || (winners > 0 && !is_tested)) {
    return "The race was not finished: nothing is confirmed.";
  }
  return fmt::format(
      "Nothing to gain: none of {} settings makes a size faster than the default by "
      "3 % or more{}.",
      tuning.variants.size() - 1,
      winners == 0 ? ""
                   : fmt::format("; at {} one looked faster, which new launches did "
                                 "not confirm",
                                 counted(winners, "size", "sizes")));
}

/// Names what the plugin knows by the same word in small letters; empty for what it does not know,
/// and would take for something else (plugin.c, parseAlgorithm and parseProtocol).
std::string word_of_plugin(std::string name) {
  static constexpr std::array<std::string_view, 10> kKnown{
      "tree",      "ring", "collnet_direct", "collnet_chain", "nvls", "ll",
      "nvls_tree", "pat",  "ll128",          "simple"};
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::ranges::count(kKnown, name) > 0 ? name : "";
}

/// Names the operation as the plugin does; empty for one that it does not know.
std::string_view word_of_plugin(OperationKind operation) {
  static constexpr std::array<std::pair<OperationKind, std::string_view>, 5> kKnown{
      {{OperationKind::all_reduce, "allreduce"},
       {OperationKind::all_gather, "allgather"},
       {OperationKind::reduce_scatter, "reducescatter"},
       {OperationKind::broadcast, "broadcast"},
       {OperationKind::reduce, "reduce"}}};
  const auto* const found =
      std::ranges::find(kKnown, operation, &std::pair<OperationKind, std::string_view>::first);
  return found == kKnown.end() ? std::string_view{} : found->second;
}

/// What the plugin does for a range of sizes.
struct PluginRow {
  std::string operation;
  std::int64_t least = 0;
  std::int64_t most = 0;
  std::string choice;  ///< algorithm, protocol, channels, nodes, ranks and what matches any
};

/// Says what the plugin must choose to have what the variant had; absent where that is more than
/// algorithm and protocol, or not known.
std::optional<PluginRow> plugin_row(const RunSummary& summary, const AnswerRow& row) {
  const Variant& variant = variant_of(summary, row);
  const bool is_expressible = !variant.environment.empty() &&
                              std::ranges::all_of(variant.environment, [](const auto& each) {
                                return each.first == "NCCL_PROTO" || each.first == "NCCL_ALGO";
                              });
  const VariantResult& result = row.of->result->variants[row.other];
  const Case& definition = row.of->definition();
  if (!is_expressible || !result.evidence) return std::nullopt;
  const std::string algorithm = word_of_plugin(result.evidence->plan.algorithm);
  const std::string protocol = word_of_plugin(result.evidence->plan.protocol);
  const std::string_view operation = word_of_plugin(definition.operation);
  if (algorithm.empty() || protocol.empty() || operation.empty()) return std::nullopt;
  std::set<std::string> hosts;
  for (const RankInfo& rank : summary.record.machine.ranks) hosts.insert(rank.host);
  return PluginRow{
      std::string(operation), definition.size.value, definition.size.value,
      fmt::format("{},{},-1,{},{},-1,-1", algorithm, protocol, hosts.size(), definition.ranks)};
}

}  // namespace

std::vector<std::string> tuning_sentences(const RunSummary& summary) {
  const std::vector<AnswerRow> rows = confirmed_rows(summary);
  if (rows.empty() && std::ranges::none_of(summary.cases, &CaseSummary::is_measured)) {
    return {"No conclusion: nothing was measured."};
  }
  if (rows.empty()) return {nothing_sentence(summary)};
  std::vector<std::string> sentences;
  std::set<std::pair<const Curve*, std::size_t>> said;
  for (const AnswerRow& row : rows) {
    if (!said.insert({summary.curve_with(row.of), row.other}).second) continue;
    sentences.push_back(confirmed_sentence(summary, row));
  }
  sentences.push_back(advice_sentence(summary, rows));
  return sentences;
}

Document tuning_section(const RunSummary& summary) {
  if (!summary.tuning) return {};
  const Tuning& tuning = *summary.tuning;
  Document document;
  document.heading("Tuning");
  document.paragraph(
      fmt::format("{} settings raced in {}: {} pairs of setting and size, of which {} could still "
                  "gain 3 % when the launches that choose were over. The launches that confirm had "
                  "no part in the choice; all other tables show these alone.",
                  tuning.variants.size() - 1, counted(std::ssize(summary.cases), "case", "cases"),
                  tuning.screened, tuning.left));
  std::vector<Table::Column> columns{{"Case"},
                                     {"Setting"},
                                     {"When chosen", kRight},
                                     {"New launches", kRight},
                                     {"Interval", kRight},
                                     {"Confirmed"}};
  leave_out_from_the_right(columns);
  Table table(columns);
  for (std::size_t i = 0; i < summary.cases.size(); ++i) {
    const std::size_t winner = tuning.winners[i];
    if (winner == 0) continue;
    const Confirmation& found = tuning.confirmations[i];
    const double chosen_by =
        tuning.choice[i].front()->time.value / tuning.choice[i][winner]->time.value;
    const RatioText text = readable_ratio(found.ratio);
    const bool is_tested = found.ratio.interval.has_value();
    table.add_row(
        {case_label(summary.cases[i].definition()), tuning.variants[winner].name,
         fmt::format("{:.2f}x", chosen_by), is_tested ? text.estimate : "",
         is_tested ? fmt::format("{} ({:.3g} %)", text.interval(), 100 * found.confidence) : "",
         found.holds ? "yes" : "no"});
  }
  if (!table.rows().empty()) document.table(std::move(table));
  return document;
}

std::string tuner_file(const RunSummary& summary) {
  std::vector<AnswerRow> rows = confirmed_rows(summary);
  std::ranges::sort(rows, {}, &AnswerRow::of);
  std::vector<PluginRow> chosen;
  std::string unsaid;
  const CaseSummary* before = nullptr;
  for (const AnswerRow& row : rows) {
    const std::optional<PluginRow> own = plugin_row(summary, row);
    if (!own) {
      unsaid += fmt::format("# The plugin cannot express {}: {}\n", variant_of(summary, row).name,
                            case_name(row.of->definition()));
      continue;
    }
    const bool goes_on = !chosen.empty() && row.of == before + 1 &&
                         chosen.back().operation == own->operation &&
                         chosen.back().choice == own->choice && chosen.back().most < own->least;
    if (!goes_on) chosen.push_back(*own);
    chosen.back().most = own->most;
    before = row.of;
  }
  if (chosen.empty()) return {};
  std::string text =
      "# Written by linkgain run --tune for NCCL's example tuner plugin.\n"
      "# NCCL_TUNER_PLUGIN=libnccl-tuner-example.so NCCL_TUNER_CONFIG_FILE=this file\n"
      "# Build plugins/tuner/example of NCCL 2.30.3 or later, which NCCL 2.28 loads, too. Change\n"
      "# \"*nChannels = 1\" in plugin.c to 0, NCCL's own choice: the 1 slows down all other "
      "calls.\n"
      "# collective,minbytes,maxbytes,algorithm,protocol,channels,nodes,ranks,pipeops,regbuff\n";
  for (const PluginRow& row : chosen) {
    text += fmt::format("{},{},{},{}\n", row.operation, row.least, row.most, row.choice);
  }
  return text + unsaid;
}

}  // namespace linkgain
