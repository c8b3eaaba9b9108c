#include "linkgain/report/size_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "comparison.hpp"
#include "markdown_table.hpp"
#include "wording.hpp"

namespace linkgain {
namespace {

/// Collects what the marks of one table mean; each is explained once, in order of appearance.
class Footnotes {
 public:
  /// A mark of a fixed meaning.
  std::string mark(const std::string& symbol, const std::string& meaning) {
    const auto known = std::find_if(notes_.begin(), notes_.end(),
                                    [&](const Note& note) { return note.symbol == symbol; });
    if (known == notes_.end()) {
      notes_.push_back({symbol, meaning});
    }
    return symbol;
  }

  /// A number for a text of its own; the same text keeps its number.
  std::string number(const std::string& meaning) {
    const auto known = std::find_if(notes_.begin(), notes_.end(),
                                    [&](const Note& note) { return note.meaning == meaning; });
    if (known != notes_.end()) {
      return known->symbol;
    }
    notes_.push_back({fmt::format("({})", ++numbered_), meaning});
    return notes_.back().symbol;
  }

  std::string text() const {
    std::string result;
    for (const Note& note : notes_) {
      result += fmt::format("- `{}` {}\n", note.symbol, note.meaning);
    }
    return result.empty() ? result : "\n" + result;
  }

 private:
  struct Note {
    std::string symbol;
    std::string meaning;
  };
  std::vector<Note> notes_;
  int numbered_ = 0;
};

std::vector<std::string> variant_names(const Curve& curve) {
  std::vector<std::string> names;
  for (const CaseResult* result : curve.cases) {
    for (const VariantResult& variant : result->variants) {
      if (std::find(names.begin(), names.end(), variant.variant) == names.end()) {
        names.push_back(variant.variant);
      }
    }
  }
  return names;
}

std::vector<MarkdownTable::Column> columns_for(const std::vector<std::string>& variants) {
  constexpr auto kRight = MarkdownTable::Alignment::right;
  std::vector<MarkdownTable::Column> columns{{"Size", kRight}};
  for (const std::string& variant : variants) {
    columns.push_back({variant, kRight});
    columns.push_back({"busbw", kRight});
  }
  for (std::size_t i = 1; i < variants.size(); ++i) {
    const std::string over = variants.size() > 2 ? " over " + variants[i] : std::string{};
    columns.push_back({"Speed-up" + over, kRight});
    columns.push_back({"95 % CI", kRight});
    columns.push_back({"Less time", kRight});
  }
  columns.push_back({"Marks", MarkdownTable::Alignment::left});
  return columns;
}

void add_variant_cells(std::vector<std::string>& cells, const CaseResult& result,
                       const std::string& name, Footnotes& footnotes) {
  const auto variant =
      std::find_if(result.variants.begin(), result.variants.end(),
                   [&](const VariantResult& entry) { return entry.variant == name; });
  if (variant == result.variants.end()) {
    cells.insert(cells.end(), 2, "");
  } else if (has_wrong_data(*variant)) {
    const std::string number = footnotes.number(wrong_elements(*variant->verification));
    cells.insert(cells.end(), {"WRONG DATA " + number, ""});
  } else if (variant->skipped.has_value()) {
    const std::string number = footnotes.number(one_line(*variant->skipped));
    cells.insert(cells.end(), {"skipped " + number, ""});
  } else {
    cells.push_back(variant->time.has_value() ? readable_time(*variant->time) : "");
    cells.push_back(variant->busbw.has_value() ? readable_bandwidth(*variant->busbw) : "");
  }
}

void add_ratio_cells(std::vector<std::string>& cells, const Comparison& comparison,
                     Footnotes& footnotes) {
  switch (comparison.finding) {
    case Finding::wrong_data:
    case Finding::not_measured:
      cells.insert(cells.end(), 3, "");
      return;
    case Finding::same_road:
      footnotes.mark(
          "same road",
          "the variants' bytes took the same road, so their times do not show what one road "
          "is worth against another");
      cells.insert(cells.end(),
                   {"same road", std::string(readable_path(comparison.first->path)), ""});
      return;
    case Finding::no_interval:
    case Finding::no_difference:
    case Finding::less_time:
    case Finding::more_time:
      break;
  }
  const RatioText text = readable_ratio(*comparison.ratio);
  cells.push_back(text.estimate);
  cells.push_back(text.low.has_value() ? fmt::format("{} … {}", *text.low, *text.high)
                                       : "too few rounds");
  cells.push_back(readable_percent(less_time(comparison.ratio->estimate)));
}

/// Whether some ratio that is shown is less certain than was asked for.
bool shows_unconverged(const CaseResult& result, const std::vector<Comparison>& comparisons) {
  return !result.converged &&
         std::any_of(comparisons.begin(), comparisons.end(), [](const Comparison& comparison) {
           return comparison.finding == Finding::less_time ||
                  comparison.finding == Finding::more_time ||
                  comparison.finding == Finding::no_difference ||
                  comparison.finding == Finding::no_interval;
         });
}

std::string marks_of(const Record& record, const CaseResult& result,
                     const std::vector<Comparison>& comparisons, Footnotes& footnotes) {
  std::vector<std::string> marks;
  if (shows_unconverged(result, comparisons)) {
    marks.push_back(footnotes.mark(
        "*", fmt::format("not converged: the interval did not come within {} of the ratio, or "
                         "neighbouring rounds are correlated, so that it may be too narrow",
                         readable_precision(record.settings.precision))));
  }
  const bool warm =
      std::any_of(result.variants.begin(), result.variants.end(), [](const VariantResult& variant) {
        return variant.time.has_value() && !variant.execution.cold_data;
      });
  if (warm) {
    marks.push_back(
        footnotes.mark("w", "warm data: operations may find their buffers in the cache"));
  }
  return fmt::format("{}", fmt::join(marks, " "));
}

std::string curve_table(const Record& record, const Curve& curve) {
  const std::vector<std::string> variants = variant_names(curve);
  MarkdownTable table(columns_for(variants));
  Footnotes footnotes;
  for (const CaseResult* result : curve.cases) {
    std::vector<std::string> cells{readable_bytes(result->definition.size)};
    for (const std::string& variant : variants) {
      add_variant_cells(cells, *result, variant, footnotes);
    }
    const std::vector<Comparison> comparisons = compare_variants(record, *result);
    for (std::size_t i = 1; i < variants.size(); ++i) {
      const auto comparison = std::find_if(
          comparisons.begin(), comparisons.end(),
          [&](const Comparison& entry) { return entry.other->variant == variants[i]; });
      add_ratio_cells(cells, comparison != comparisons.end() ? *comparison : Comparison{},
                      footnotes);
    }
    cells.push_back(marks_of(record, *result, comparisons, footnotes));
    table.add_row(cells);
  }
  return fmt::format("### {}\n\n{}{}", curve.name, table.text(), footnotes.text());
}

}  // namespace

std::string size_tables(const Record& record) {
  std::string text;
  for (const Curve& curve : curves_of(record)) {
    text += text.empty() ? "" : "\n";
    text += curve_table(record, curve);
  }
  const bool compares =
      std::any_of(record.cases.begin(), record.cases.end(),
                  [](const CaseResult& result) { return !result.ratios.empty(); });
  if (compares) {
    text += "\nSpeed-ups are estimated round by round, not from the two medians beside them.\n";
  }
  return text;
}

}  // namespace linkgain
