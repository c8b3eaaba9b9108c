#include "linkgain/report/screen.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <vector>

#include "case_table.hpp"
#include "less_time_sentences.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/tables/number_format.hpp"
#include "linkgain/tables/table.hpp"
#include "linkgain/tables/text_lines.hpp"
#include "repetition.hpp"

namespace linkgain {
namespace {

/// In the order of the rows; others follow as they were measured.
constexpr std::array kQuestions{OperationKind::all_reduce, OperationKind::send_recv,
                                OperationKind::copy_push, OperationKind::copy_pull,
                                OperationKind::latency};
constexpr std::size_t kMostRows = 6;
constexpr std::size_t kMostWarnings = 3;

bool is_latency(OperationKind operation) {
  return operation == OperationKind::latency || operation == OperationKind::load_latency;
}

/// What stands for the curve, among what was measured with the first variant and another one: the
/// largest size, of latencies the smallest; null where there is none.
const CaseSummary* compared_case(const Curve& curve) {
  if (!is_latency(curve.definition().operation)) return curve.largest_compared();
  const auto smallest = std::ranges::find_if(curve.cases, &CaseSummary::is_compared);
  return smallest == curve.cases.end() ? nullptr : *smallest;
}

/// The compared_case() of each operation, those of kQuestions first, and the training.
std::vector<const CaseSummary*> cases_of_rows(const RunSummary& summary) {
  std::vector<const CaseSummary*> rows;
  const auto add_first_of = [&](OperationKind operation) {
    for (const Curve& curve : summary.headline) {
      if (curve.definition().operation != operation) continue;
      if (const CaseSummary* each = compared_case(curve)) return rows.push_back(each);
    }
  };
  for (const OperationKind operation : kQuestions) add_first_of(operation);
  const std::size_t trained = summary.trainings.empty() ? 0 : 1;
  for (const OperationKind operation : kOperations) {
    const bool known = std::ranges::find(kQuestions, operation) != kQuestions.end();
    if (!known && rows.size() + trained < kMostRows) add_first_of(operation);
  }
  if (trained > 0 && summary.trainings.front()->is_compared) {
    rows.push_back(summary.trainings.front());
  }
  return rows;
}

std::string name_in_rows(const CaseSummary& each, std::size_t variant) {
  if (each.contrast == Contrast::variant) return each.result->variants[variant].variant;
  return variant == 0 ? "Y" : "N";
}

/// The pair that every run has unless it names others says more than its names do.
std::string variant_title(const CaseSummary& each, std::size_t variant) {
  const std::vector<VariantResult>& variants = each.result->variants;
  if (variants[0].variant == "p2p" && variants[1].variant == "host") {
    return variant == 0 ? "P2P on" : "P2P off";
  }
  return variants[variant].variant;
}

/// "all_reduce 1 GiB", "GPT-2 step fp32".
std::string label_of(const Case& definition) {
  std::string label = case_label(definition);
  if (!definition.training) return label;
  label = "GPT-2 step" + label.substr(name_of(definition.operation).size());
  constexpr std::string_view kUsualModel = " gpt2";
  const std::size_t model = label.find(kUsualModel);
  const std::size_t end = model + kUsualModel.size();
  const bool whole = model != std::string::npos && (end == label.size() || label[end] == ' ');
  return whole ? label.erase(model, kUsualModel.size()) : label;
}

/// Bandwidth of what is large enough for one, else time.
std::string value_of(const Case& definition, const VariantResult& variant) {
  constexpr std::int64_t kLeastForBandwidth = 1 << 20;
  if (has_wrong_data(variant)) return "WRONG DATA";
  if (!variant.time) return variant.skipped ? "skipped" : "not measured";
  const bool large = definition.size.value >= kLeastForBandwidth;
  return variant.busbw && large && !is_training(definition.operation)
             ? readable_bandwidth(*variant.busbw)
             : readable_time(*variant.time);
}

Color color_of(Outcome outcome) {
  if (outcome == Outcome::wrong_data) return kRed;
  if (outcome == Outcome::same_path || outcome == Outcome::no_difference) return kYellow;
  return outcome == Outcome::less_time ? kGreen : kNoColor;
}

std::string speed_up_of(const Comparison& comparison) {
  if (comparison.has_speed_up()) return readable_ratio(*comparison.ratio).estimate;
  if (comparison.outcome == Outcome::wrong_data) return "wrong data";
  return comparison.outcome == Outcome::same_path ? "same path" : "none";
}

/// Of the case's first two variants, in the form of the guide: "NVLink", Y and N, and the time.
std::string two_rows(const CaseSummary& each, const ScreenStyle& style) {
  Table table({{std::string(words_of(each.contrast).title)},
               {label_of(each.definition()), Table::Alignment::right}});
  for (std::size_t i = 0; i < 2; ++i) {
    const VariantResult& variant = each.result->variants[i];
    const bool wrong = has_wrong_data(variant);
    const std::string value = variant.time && !wrong ? readable_time(*variant.time)
                                                     : value_of(each.definition(), variant);
    table.add_row({name_in_rows(each, i), painted(value, wrong ? kRed : kNoColor, style)});
  }
  return table.text(style.columns, Table::FirstColumn::cut);
}

Table table_of(const std::vector<const CaseSummary*>& cases, const ScreenStyle& style) {
  const CaseSummary& first = *cases.front();
  constexpr auto kRight = Table::Alignment::right;
  Table table({{.title = "Operation"},
               {variant_title(first, 0), kRight, false, 3},
               {variant_title(first, 1), kRight, false, 2},
               {"Speed-up", kRight},
               {"95 % CI", kRight, false, 1}});
  for (const CaseSummary* each : cases) {
    const Comparison& comparison = each->comparisons.front();
    const auto value = [&](const VariantResult& variant) {
      return painted(value_of(each->definition(), variant),
                     has_wrong_data(variant) ? kRed : kNoColor, style);
    };
    table.add_row(
        {label_of(each->definition()), value(*comparison.first), value(*comparison.other),
         painted(speed_up_of(comparison), color_of(comparison.outcome), style),
         comparison.has_speed_up() ? interval_cell(readable_ratio(*comparison.ratio)) : ""});
  }
  return table;
}

/// "all_reduce p2p  16 B ▁▁▂▃▆▇██ 1 GiB  324.3 of 450 GB/s (72 %)": the first variant's bus
/// bandwidth by size, as a share of the limit where that is known. Empty below three sizes, of
/// which the bars would show no more than the table does.
std::string plot_of(const Curve& curve, const std::string& variant_name, const ScreenStyle& style) {
  static constexpr std::array<std::string_view, 8> kBlocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::vector<const VariantResult*> points;
  std::vector<Bytes> sizes;
  double most = 0.0;
  for (const CaseSummary* each : curve.cases) {
    const VariantResult& variant = each->result->variants.front();
    if (!variant.busbw || has_wrong_data(variant)) continue;
    points.push_back(&variant);
    sizes.push_back(each->definition().size);
    most = std::max(most, *variant.busbw);
  }
  constexpr std::size_t kFewest = 3;
  if (points.size() < kFewest || most <= 0.0) return {};
  const VariantResult& largest = *points.back();
  std::string end = readable_bandwidth(*largest.busbw);
  if (largest.fraction_of_limit && *largest.fraction_of_limit > 0.0) {
    const double limit = *largest.busbw / *largest.fraction_of_limit;
    most = std::max(most, limit);
    end = fmt::format("{:.4g} of {:.3g} GB/s ({})", *largest.busbw, limit,
                      rounded_percent(*largest.fraction_of_limit, 0));
  }
  std::string plot;
  for (const VariantResult* point : points) {
    const auto level = static_cast<std::size_t>(*point->busbw / most * kBlocks.size());
    plot += kBlocks[std::min(level, kBlocks.size() - 1)];
  }
  const Case definition = curve.definition();
  const std::string bars =
      fmt::format("{} {} {}", readable_bytes(sizes.front()), plot, readable_bytes(sizes.back()));
  const std::string head = fmt::format("{}, {}", curve_label(definition), variant_name);
  for (const std::string& line : {fmt::format("  {}  {}  {}", head, bars, end),
                                  fmt::format("  {}  {}", bars, end), "  " + bars}) {
    if (display_width(line) <= style.columns) return line + "\n";
  }
  return {};
}

/// "Path: NVLink with P2P on, host memory with P2P off. NVLink carried 100.0 % and 0 % of the
/// expected bytes."
std::string path_of(const CaseSummary& each, const ScreenStyle& style) {
  std::vector<std::string> paths;
  std::vector<std::string> shares;
  for (std::size_t i = 0; i < each.variants.size(); ++i) {
    const VariantSummary& variant = each.variants[i];
    if (!variant.result->time) continue;
    paths.push_back(
        fmt::format("{} with {}", readable_path(variant.result->path), variant_title(each, i)));
    if (variant.nvlink_share) shares.push_back(rounded_percent(*variant.nvlink_share, 1));
  }
  std::string text = fmt::format("Path: {}.", fmt::join(paths, ", "));
  if (!shares.empty() && shares.size() == paths.size()) {
    text += fmt::format(" NVLink carried {} of the expected bytes.", fmt::join(shares, " and "));
  }
  return in_lines(text, style);
}

std::string machine_line(const RunSummary& summary, const ScreenStyle& style) {
  const Record& record = summary.record;
  const Machine& machine = record.machine;
  std::string text = machine.ranks.empty() ? "no ranks" : one_line(describe_ranks(machine));
  if (record.settings.backend == BackendKind::mpi) text += ", MPI in CPU memory (no GPU figures)";
  if (!machine.links.empty()) {
    const std::string link = label_of(machine.links.front());
    const bool alike = std::ranges::all_of(
        machine.links, [&](const PairLink& each) { return label_of(each) == link; });
    if (alike && !link.ends_with('?')) text += ", " + link;
  }
  if (machine.software.nccl_library) text += ", NCCL " + *machine.software.nccl_library;
  const std::string end = record.status == RunStatus::complete && record.wall_seconds
                              ? fmt::format("finished in {:.0f} s", *record.wall_seconds)
                              : fmt::format("not complete: {}", name_of(record.status));
  return with_end(text, end, style);
}

bool is_wrong_path(const Warning& warning) {
  return warning.code == "wrong-path" || warning.code == "exec-path";
}

/// "NVLink makes all-reduce of 1 GiB 12.6 times faster (324.3 against 25.7 GB/s; 95 % CI 12.4 to
/// 12.9)."; of one launch "made".
std::string speed_up_sentence(const CaseSummary& each, const Comparison& comparison) {
  const bool named = each.contrast == Contrast::variant;
  const std::string subject =
      named ? comparison.first->variant : std::string(words_of(each.contrast).title);
  const Case& definition = each.definition();
  const std::string what =
      is_training(definition.operation)
          ? std::string("the GPT-2 training")
          : fmt::format("{}{} of {}", is_latency(definition.operation) ? "the " : "",
                        spoken_operation(definition), readable_bytes(definition.size));
  const RatioText text = readable_ratio(*comparison.ratio);
  const bool has_interval = text.low && text.high;
  const std::string interval = has_interval ? fmt::format("95 % CI {} to {}", *text.low, *text.high)
                                            : "no confidence interval";
  const std::string figures =
      fmt::format("({} against {}; {})", value_of(definition, *comparison.first),
                  value_of(definition, *comparison.other), interval);
  const std::string than = named ? " than " + comparison.other->variant : "";
  if (comparison.outcome == Outcome::no_difference) {
    return fmt::format("{} makes no significant difference to {}: {} {}.", subject, what,
                       text.estimate, figures);
  }
  const double ratio = comparison.ratio->estimate;
  const bool latency = is_latency(definition.operation);
  const auto [more, less] = latency ? std::pair("lower", "higher") : std::pair("faster", "slower");
  constexpr double kTimes = 2.0;
  const std::string change =
      ratio >= kTimes
          ? fmt::format("{} times {}", text.estimate.substr(0, text.estimate.find('x')), more)
      : ratio >= 1.0
          ? fmt::format("{} {}",
                        readable_percent(latency ? 1.0 - 1.0 / ratio : ratio - 1.0, Whole::no),
                        more)
          : fmt::format("{} {}", readable_percent(1.0 / ratio - 1.0, Whole::no), less);
  const auto [makes, once] =
      has_interval ? std::pair("makes", "") : std::pair("made", " in one launch");
  return fmt::format("{} {} {} {}{}{} {}.", subject, makes, what, change, than, once, figures);
}

std::string answer_of(const CaseSummary& each) {
  const Comparison& comparison = each.comparisons.front();
  if (comparison.has_speed_up()) return speed_up_sentence(each, comparison);
  if (comparison.outcome == Outcome::same_path) {
    return fmt::format("{} and {} took the same path, {}: this run cannot compare paths.",
                       variant_title(each, 0), variant_title(each, 1),
                       readable_path(comparison.first->path));
  }
  return fmt::format("No conclusion: {} has no right results of both {} and {}.",
                     label_of(each.definition()), comparison.first->variant,
                     comparison.other->variant);
}

/// Nothing where the case is the largest that was asked for.
std::string larger_sizes(const RunSummary& summary, const CaseSummary& shown_case) {
  for (const Curve& curve : summary.headline) {
    if (std::ranges::find(curve.cases, &shown_case) == curve.cases.end()) continue;
    const Bytes largest = curve.cases.back()->definition().size;
    if (largest.value <= shown_case.definition().size.value) return {};
    return fmt::format("No larger size, of up to {}, was measured with both.",
                       readable_bytes(largest));
  }
  return {};
}

/// Empty where all data are right.
std::string wrong_data(const RunSummary& summary) {
  const auto has_wrong = [](const CaseSummary& each) { return each.has_wrong_data; };
  const auto first = std::ranges::find_if(summary.cases, has_wrong);
  if (first == summary.cases.end()) return {};
  const auto cases = static_cast<std::int64_t>(summary.cases.size());
  const auto& variants = first->result->variants;
  const auto variant = std::ranges::find_if(
      variants, [](const VariantResult& each) { return has_wrong_data(each); });
  return fmt::format("WRONG DATA in {} of {}. {} with {}: {}.",
                     std::ranges::count_if(summary.cases, has_wrong),
                     counted(cases, "case", "cases"), label_of(first->definition()),
                     variant->variant, describe_wrong(first->definition(), *variant->verification));
}

std::string answer(const RunSummary& summary, const CaseSummary* headline_case) {
  const std::string wrong = wrong_data(summary);
  if (!wrong.empty()) return wrong;
  const std::string conclusion = headline_case != nullptr
                                     ? answer_of(*headline_case)
                                     : "No conclusion: nothing was measured with two variants.";
  const bool wrong_path = std::ranges::any_of(summary.record.warnings, is_wrong_path);
  return (wrong_path ? "WRONG PATH, see the warning. " : "") + conclusion;
}

}  // namespace

std::string warning_lines(const Record& record, std::size_t most, const ScreenStyle& style) {
  std::vector<Warning> warnings = record.warnings;
  std::stable_partition(warnings.begin(), warnings.end(), is_wrong_path);
  std::string text;
  const std::size_t shown_warnings = std::min(warnings.size(), most);
  const std::size_t more = warnings.size() - shown_warnings;
  for (std::size_t i = 0; i < shown_warnings; ++i) {
    const bool last = i + 1 == shown_warnings;
    const std::string count = last && more > 0 ? fmt::format(" (and {} more)", more) : "";
    constexpr std::string_view kLead = "warning:";
    const std::size_t room = style.columns - kLead.size() - 1 - count.size();
    const Color color = is_wrong_path(warnings[i]) ? kRed : kYellow;
    text += painted(std::string(kLead), color, style) + " " + cut(warnings[i].text, room, style) +
            count + "\n";
  }
  return text;
}

std::string screen(const RunSummary& summary, const std::string& footer, const ScreenStyle& style) {
  const std::vector<const CaseSummary*> rows = cases_of_rows(summary);
  const CaseSummary* const first = rows.empty() ? nullptr : rows.front();
  std::string text = machine_line(summary, style);
  std::string plot;
  std::string path;
  if (first != nullptr) {
    text += "\n" + two_rows(*first, style) + "\n";
    text += table_of(rows, style).text(style.columns, Table::FirstColumn::cut);
    for (const Curve& curve : summary.curves_by_size) {
      if (curve.definition().operation != first->definition().operation) continue;
      plot = plot_of(curve, variant_title(*first, 0), style);
      break;
    }
    path = path_of(*first, style);
    if (const std::string larger = larger_sizes(summary, *first); !larger.empty()) {
      path += in_lines(larger, style);
    }
  }
  const std::string end = "\n" + in_lines(answer(summary, first), style);
  const std::size_t used = line_count(text + path + end) + 1;
  std::size_t room = kMostScreenLines - std::min(kMostScreenLines, used);
  if (room > 1 && !plot.empty()) {
    text += plot;
    --room;
  }
  text += path + warning_lines(summary.record, std::min(kMostWarnings, room), style);
  text += footer + "\n" + end;
  return style.utf8 ? text : in_ascii(std::move(text));
}

namespace {

constexpr ScreenStyle kCardStyle{.columns = kCardColumns};

/// The guide's table; of columns that are empty there are none.
std::string card_rows(const CaseSummary& each) {
  constexpr auto kRight = Table::Alignment::right;
  const auto some = [&](auto has) {
    return std::any_of(each.variants.begin(), each.variants.begin() + 2, has);
  };
  const bool busbw = some([](const VariantSummary& v) { return v.result->busbw.has_value(); });
  const bool counted_bytes =
      some([](const VariantSummary& v) { return v.nvlink_share.has_value(); });
  std::vector<Table::Column> columns{{std::string(words_of(each.contrast).title)},
                                     {label_of(each.definition()), kRight}};
  if (busbw) columns.push_back({"busbw", kRight});
  columns.push_back({"Path"});
  if (counted_bytes) columns.push_back({"NVLink traffic", kRight});
  Table table(columns);
  for (std::size_t i = 0; i < 2; ++i) {
    const VariantSummary& variant = each.variants[i];
    const VariantResult& result = *variant.result;
    const bool right = result.time && !variant.wrong_data;
    std::vector<std::string> cells{
        name_in_rows(each, i),
        right ? readable_time(*result.time) : value_of(each.definition(), result)};
    if (busbw) cells.push_back(right && result.busbw ? readable_bandwidth(*result.busbw) : "");
    cells.emplace_back(readable_path(result.path));
    if (counted_bytes && variant.nvlink_share) {
      cells.push_back(rounded_percent(*variant.nvlink_share, 1) + " of expected");
    }
    table.add_row(cells);
  }
  return table.text(kCardColumns, Table::FirstColumn::cut);
}

/// Without the folder that the program lay in.
std::string card_command(Settings settings) {
  if (settings.argv.empty()) return {};
  settings.argv.front() = std::filesystem::path(settings.argv.front()).filename();
  return "$ " + one_line(repetition(settings)) + "\n";
}

}  // namespace

std::string card_circumstances(const Record& record, std::string_view runs) {
  const Software& software = record.machine.software;
  std::vector<std::string> parts;
  if (software.driver) parts.push_back("driver " + *software.driver);
  if (software.cuda_runtime) parts.push_back("CUDA " + *software.cuda_runtime);
  if (!record.machine.kernel.empty()) parts.push_back(record.machine.kernel);
  if (!software.linkgain.empty()) parts.push_back("linkgain " + software.linkgain);
  parts.emplace_back(runs);
  return cut(fmt::format("{}", fmt::join(parts, ", ")), kCardColumns, kCardStyle) + "\n";
}

std::string card_warnings(const Record& record, std::size_t used) {
  const std::size_t room = kMostCardLines - std::min(kMostCardLines, used);
  return warning_lines(record, std::min(kMostWarnings, room), kCardStyle);
}

std::string card(const RunSummary& summary) {
  const Record& record = summary.record;
  const std::vector<const CaseSummary*> rows = cases_of_rows(summary);
  const CaseSummary* const first = rows.empty() ? nullptr : rows.front();
  std::string text = machine_line(summary, kCardStyle);
  const LaunchRange& launches = summary.launches;
  text += card_circumstances(
      record, launches.is_one() ? counted(launches.most, "launch", "launches")
                                : fmt::format("{} to {} launches", launches.least, launches.most));
  if (first != nullptr) text += card_rows(*first);
  text += in_lines(answer(summary, first), kCardStyle);
  const std::string command = card_command(record.settings);
  constexpr std::size_t kFences = 2;
  text += card_warnings(record, line_count(text + command) + kFences);
  return fenced(text + command);
}

std::string answer_in_markdown(const RunSummary& summary) {
  const std::vector<const CaseSummary*> rows = cases_of_rows(summary);
  if (rows.empty()) return fmt::format("**{}**\n", answer(summary, nullptr));
  return fmt::format("**{}**\n\n{}", answer(summary, rows.front()), table_of(rows, {}).markdown());
}

}  // namespace linkgain
