#include "linkgain/report/answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "linkgain/predict/prediction_report.hpp"
#include "linkgain/summary/headroom_steps.hpp"
#include "linkgain/tables/text_lines.hpp"
#include "sentences.hpp"

namespace linkgain {

RecordedAnswer recorded_answer(const RunSummary& summary) {
  const Answer answer = answer_of(summary);
  const auto add = [](std::vector<RecordedRow>& rows, const AnswerRow& row) {
    const std::string name = case_name(row.of->definition());
    bool is_compared = false;
    for (std::size_t i = 1; i <= row.of->comparisons.size(); ++i) {
      if (row.other != 0 && row.other != i) continue;
      const Comparison& comparison = row.of->comparisons[i - 1];
      rows.push_back({name, comparison.other->variant, {}});
      if (comparison.has_speed_up()) rows.back().ratio = *comparison.ratio;
      is_compared = true;
    }
    if (!is_compared) rows.push_back({name});
  };
  RecordedAnswer result;
  result.sentence = answer_sentence(summary, answer);
  // A race that confirmed nothing speaks of no row.
  for (const AnswerRow& row : summary.tuning ? confirmed_rows(summary) : answer.spoken) {
    add(result.spoken, row);
  }
  for (const AnswerRow& row : answer.rows) add(result.rows, row);
  for (const CaseSummary* each : answer.headroom) {
    result.headroom.push_back(
        {.name = case_name(each->definition()), .ratio = each->variants.front().library_ratio});
  }
  for (const HeadroomCurve& curve : headroom_curves(summary)) {
    std::ranges::copy(curve.rows, std::back_inserter(result.headroom_steps));
  }
  if (const std::optional<Prediction> model = model_prediction(summary)) {
    for (const PhasePrediction& phase : model->phases) {
      const std::string link =
          model->measured.is_at_most() ? ", with " + model->measured.link.name : "";
      result.predicted.push_back(
          {.name = model->question.decoder->model.name + " " + label_of(*model, phase) + link,
           .variant = model->measured.other.variant,
           .ratio = phase.ratio});
    }
  }
  return result;
}

std::string left_out_text(const Answer& answer, std::size_t most) {
  if (answer.left_out.empty()) return {};
  std::string text = "In the report, too: " + answer.left_out.front();
  for (std::size_t i = 1; i < answer.left_out.size(); ++i) {
    const std::string more = fmt::format(" and {} more", answer.left_out.size() - i);
    const std::string next = ", " + answer.left_out[i];
    if (display_width(text + next + more) > most) return text + more + ".";
    text += next;
  }
  return text + ".";
}

}  // namespace linkgain
