#include "linkgain/predict/prediction_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "linkgain/base/json.hpp"
#include "linkgain/tables/number_format.hpp"

namespace linkgain {
namespace {

std::string_view unit_of(Phase phase) {
  switch (phase) {
    case Phase::decode:
      return "a token";
    case Phase::prefill:
      return "a prompt";
    case Phase::training:
      return "a step";
  }
  return {};
}

std::string model_of(const Prediction& of) {
  const std::string& name = of.question.decoder->model.name;
  return name.empty() ? "the model" : name;
}

/// Writes a number of tokens or parameters to three digits: "251", "6.75", "7.00e9".
std::string count_text(double count) {
  if (count >= 1e6) return fmt::format("{:.3g} billion", count / 1e9);
  return count >= 100.0 ? fmt::format("{:.0f}", count) : fmt::format("{:.3g}", count);
}

/// Says "5.7 % less time a token (95 % CI 5.5 % to 5.9 %)", or how much more.
std::string less_time_text(const PhasePrediction& phase) {
  const Estimate& ratio = *phase.ratio;
  const double sign = ratio.value < 1.0 ? -1.0 : 1.0;
  const auto share = [&](double each) {
    return fmt::format("{:.3g} %", sign * 100.0 * less_time(each));
  };
  std::string text = fmt::format("{} {} time {}", share(ratio.value), sign < 0.0 ? "more" : "less",
                                 unit_of(phase.phase));
  if (!ratio.interval) return text;
  const auto [low, high] = *ratio.interval;
  return text + fmt::format(" ({}{} to {})", phase.phase == Phase::training ? "" : "95 % CI ",
                            share(sign < 0.0 ? high : low), share(sign < 0.0 ? low : high));
}

/// Says "at most" where a link's rate stands in, which has no latency; "about" where the rest of
/// the step is that of products, of which an engine's differs.
std::string_view reservation(const Prediction& of, const PhasePrediction& phase) {
  return of.measured.is_at_most() ? "at most " : phase.is_given ? "" : "about ";
}

std::string decoder_clause(const Prediction& of, const PhasePrediction& phase) {
  const DecoderQuestion& question = *of.question.decoder;
  const bool is_decode = phase.phase == Phase::decode;
  if (!phase.ratio) {
    return fmt::format("communication takes {} of {} instead of {}",
                       readable_time(phase.communication_link), unit_of(phase.phase),
                       readable_time(phase.communication_other));
  }
  const bool is_slower = phase.ratio->value < 1.0;
  const std::string what =
      is_decode ? fmt::format("{} {} at batch {}", model_of(of),
                              is_slower ? "takes to decode" : "decodes", question.batch)
                : fmt::format("a prompt of {} tokens {}", question.prompt,
                              is_slower ? "takes" : "is read");
  return fmt::format("{} {}{}: {}", what, is_slower ? "" : reservation(of, phase),
                     spoken_ratio({.value = phase.ratio->value}).words, less_time_text(phase));
}

std::string training_clause(const Prediction& of, const PhasePrediction& phase) {
  const TrainingQuestion& question = *of.question.training;
  const Interval& range = *phase.hidden_to_exposed;
  std::string text = fmt::format(
      "a training step of {} parameters with {} takes {} to {} less time, by how much of "
      "communication hides behind computing",
      count_text(question.parameters), name_of(question.strategy),
      readable_percent(less_time(range.low)),
      std::string(reservation(of, phase)) + readable_percent(less_time(range.high)));
  if (phase.ratio) {
    text += fmt::format("; as in the record's GPT-2 steps {}{}", reservation(of, phase),
                        less_time_text(phase));
  }
  return text;
}

std::string sentence_of(const Prediction& of) {
  std::string text = fmt::format("With {} on {}, ", of.measured.link.name, of.measured.gpus);
  for (std::size_t i = 0; i < of.phases.size(); ++i) {
    const PhasePrediction& phase = of.phases[i];
    if (i > 0) text += "; ";
    text += phase.phase == Phase::training ? training_clause(of, phase) : decoder_clause(of, phase);
  }
  return text + ".";
}

std::string time_text(const std::optional<Seconds>& time) {
  return time ? readable_time(*time) : "";
}

std::string speed_text(const PhasePrediction& phase, const std::optional<Seconds>& time) {
  return time ? count_text(phase.tokens / time->value) : "";
}

std::string communication_text(Seconds communication, const std::optional<Seconds>& step) {
  return step ? readable_percent(communication.value / step->value) : readable_time(communication);
}

Table table_of(const Prediction& of) {
  Table table({{"Phase"},
               {of.measured.link.variant, kRight},
               {of.measured.other.variant, kRight},
               {"Speed-up", kRight},
               {of.question.training ? "Range" : "95 % CI", kRight},
               {"Communication", kRight}});
  for (const PhasePrediction& phase : of.phases) {
    RatioText ratio;
    if (phase.ratio) ratio = readable_ratio(*phase.ratio);
    if (phase.hidden_to_exposed && !ratio.low) {
      ratio.low = fmt::format("{:.2f}x", phase.hidden_to_exposed->low);
      ratio.high = fmt::format("{:.2f}x", phase.hidden_to_exposed->high);
    }
    table.add_row({label_of(of, phase), time_text(phase.link), time_text(phase.other),
                   ratio.estimate, ratio.interval(),
                   communication_text(phase.communication_link, phase.link) + ", " +
                       communication_text(phase.communication_other, phase.other)});
    if (phase.tokens > 0.0 && phase.link) {
      table.add_row({"  tokens/s", speed_text(phase, phase.link), speed_text(phase, phase.other)});
    }
  }
  return table;
}

/// Says "65 all-reduces of 8 KiB".
std::string calls_text(const PhasePrediction& phase) {
  const Calls& calls = phase.calls.front();
  return fmt::format("{} all-reduces of {}", count_text(calls.count), rounded_bytes(calls.bytes));
}

void add_calls(const Prediction& of, Document& document) {
  const auto& [reducer, in_context] = of.curves;
  std::string text;
  for (const PhasePrediction& phase : of.phases) {
    text +=
        fmt::format("{}{}: {}", text.empty() ? "" : "; ", name_of(phase.phase), calls_text(phase));
  }
  if (of.question.decoder && of.question.decoder->model.vocabulary > 0) {
    text += "; and the gather of the logits";
  }
  if (of.question.training) {
    text += fmt::format(", {} bytes for each parameter (`--dtype`)",
                        count_text(bytes_exchanged(*of.question.training)));
  }
  text += in_context ? ". Their times are those between a product and a norm."
                     : fmt::format(
                           ". Their times are those of {} back to back: bytes count, not "
                           "the type.",
                           name_of(of.measured.type_of(of.curves)));
  if (reducer != Reducer::nccl) {
    text +=
        fmt::format(" With {} by {}, without it by NCCL.", of.measured.link.name,
                    reducer == Reducer::kernel ? "linkgain's kernel" : "NCCL in symmetric memory");
  }
  document.item(with_code(text));
}

std::string_view speed_option(Phase phase) {
  return phase == Phase::decode ? "--tokens-per-second" : "--prompt-tokens-per-second";
}

/// Asks about a given speed that is far below what the products allow: engines are slower than
/// these, but not so much.
void add_doubts(const Prediction& of, Document& document) {
  constexpr double kDoubted = 10.0;
  for (const PhasePrediction& phase : of.phases) {
    if (!phase.is_given || !phase.by_products) continue;
    const Seconds now = of.on == Side::link ? *phase.link : *phase.other;
    const double faster = now.value / phase.by_products->value;
    if (faster < kDoubted) continue;
    const bool is_batch = phase.phase == Phase::decode && of.question.decoder->batch > 1;
    document.item(with_code(fmt::format(
        "The record's products allow {}x as many tokens a second as `{}` says, {}. Is it {}?",
        count_text(faster), speed_option(phase.phase), speed_text(phase, phase.by_products),
        is_batch ? "the speed of all sequences together" : "right")));
  }
}

void add_grounds(const Prediction& of, Document& document) {
  const LinkSide& on = of.on == Side::link ? of.measured.link : of.measured.other;
  std::vector<std::string> to_give;
  for (const PhasePrediction& phase : of.phases) {
    if (phase.phase == Phase::training) continue;
    if (phase.is_given) {
      document.item(fmt::format("The rest of {} is what {} leaves with {}.", unit_of(phase.phase),
                                speed_option(phase.phase), on.variant));
    } else {
      to_give.push_back(fmt::format("`{}`", speed_option(phase.phase)));
    }
  }
  if (to_give.empty()) return;
  const std::string_view grounds =
      of.measured.products.empty()
          ? "The record has no products that the rest of the time could rest on."
      : !has_weights(of.question.decoder->model)
          ? "The rest of the time needs the model's heads and feed-forward."
          : "The rest of the time is that of the record's products, with weights in bfloat16 and "
            "the cache's reads. Engines add kernels of their own.";
  document.item(
      with_code(fmt::format("{} Give your speed: {}.", grounds, fmt::join(to_give, ", "))));
}

void add_splits(const Prediction& of, Document& document) {
  for (const PhasePrediction& phase : of.phases) {
    const bool with_link = phase.is_split_slower(Side::link);
    if (!with_link && !phase.is_split_slower(Side::other)) continue;
    document.item(fmt::format(
        "Do not split: one GPU alone would take {} {} for {}, less than {} {} {}.",
        phase.is_given ? "at most" : "about", readable_time(*phase.one_gpu), unit_of(phase.phase),
        of.measured.ranks, with_link ? "with" : "without", of.measured.link.name));
  }
}

Document notes_of(const Prediction& of) {
  Document document;
  if (of.measured.is_at_most()) {
    document.item(
        fmt::format("No link was measured: what {} carries by its rate, {:.4g} GB/s each way, "
                    "stands in, without "
                    "latency. Small all-reduces gain less.",
                    of.measured.link.name, *of.measured.link.limit));
  }
  if (of.measured.is_at_most() && of.measured.other.path == Path::pcie_p2p) {
    document.item(with_code(fmt::format(
        "It is compared with {}, which took PCIe P2P. What that is worth is in `linkgain report`.",
        of.measured.other.variant)));
  }
  if (!of.weights_fit && !of.phases.front().is_given) {
    document.item(with_code(fmt::format(
        "In bfloat16 these weights do not fit into the memory of {}. Quantised ones take "
        "less time to read, and send as much: give the speed of yours with `{}`.",
        of.measured.gpus, speed_option(Phase::decode))));
  }
  if (of.question.decoder && !of.phases.front().is_given && !of.measured.products.empty()) {
    const int least = of.measured.products.begin()->first;
    const int most = of.measured.products.rbegin()->first;
    const int hidden = of.question.decoder->model.hidden;
    if (hidden < least || hidden > most) {
      document.item(
          fmt::format("The record has no products of hidden {}: those of {} stand in, whose "
                      "weights are not read "
                      "at the same rate.",
                      hidden, hidden < least ? least : most));
    }
  }
  add_doubts(of, document);
  add_splits(of, document);
  add_calls(of, document);
  add_grounds(of, document);
  document.item(
      "Intervals cover the measured all-reduces alone: the error of the arithmetic may be larger.");
  for (const PhasePrediction& phase : of.phases) {
    if (!phase.is_beyond) continue;
    document.item(fmt::format("{}: beyond {}, the largest size measured, its bandwidth is taken.",
                              name_of(phase.phase), rounded_bytes(of.measured.largest(of.curves))));
  }
  return document;
}

json::Out question_json(const Prediction& of) {
  const MeasuredLink& measured = of.measured;
  json::Out out{{"ranks", measured.ranks},
                {"on", of.on == Side::link ? measured.link.variant : measured.other.variant},
                {"link", measured.link.variant},
                {"other", measured.other.variant},
                {"by", name_of(of.curves.reducer)},
                {"in_context", of.curves.in_context},
                {"type", name_of(measured.type_of(of.curves))}};
  if (of.question.decoder) {
    const DecoderQuestion& question = *of.question.decoder;
    const ModelShape& model = question.model;
    out.update({{"model", model.name},
                {"layers", model.layers},
                {"hidden", model.hidden},
                {"heads", model.heads},
                {"kv_heads", model.kv_heads},
                {"head_size", model.head_size},
                {"ffn", model.ffn},
                {"vocabulary", model.vocabulary},
                {"batch", question.batch},
                {"context", question.context},
                {"prompt", question.prompt},
                {"chunk", question.chunk},
                {"tokens_per_second", json::nullable(question.tokens_per_second)},
                {"prompt_tokens_per_second", json::nullable(question.prompt_tokens_per_second)}});
  }
  if (of.question.training) {
    const TrainingQuestion& question = *of.question.training;
    out.update({{"parameters", question.parameters},
                {"element_bytes", bytes_exchanged(question)},
                {"strategy", name_of(question.strategy)},
                {"step_s", question.step.value}});
  }
  return out;
}

std::optional<double> less_time_of(const std::optional<double>& ratio) {
  return ratio ? std::optional(less_time(*ratio)) : std::nullopt;
}

std::optional<double> share_of(Seconds part, const std::optional<Seconds>& whole) {
  return whole ? std::optional(part.value / whole->value) : std::nullopt;
}

json::Out phase_json(const Prediction& of, const PhasePrediction& phase) {
  const bool on_link = of.on == Side::link;
  const auto speed = [&](const std::optional<Seconds>& time) {
    return json::nullable(time && phase.tokens > 0.0 ? std::optional(phase.tokens / time->value)
                                                     : std::nullopt);
  };
  const auto& now = on_link ? phase.link : phase.other;
  const auto& other = on_link ? phase.other : phase.link;
  const Seconds now_communication = on_link ? phase.communication_link : phase.communication_other;
  const Seconds other_communication =
      on_link ? phase.communication_other : phase.communication_link;
  const std::optional<Interval> interval = phase.ratio ? phase.ratio->interval : std::nullopt;
  std::optional<double> ratio;
  if (phase.ratio) ratio = phase.ratio->value;
  const auto& range = phase.hidden_to_exposed;
  return {{"now_s", json::nullable(seconds_of(now))},
          {"other_s", json::nullable(seconds_of(other))},
          {"tokens_per_second_now", speed(now)},
          {"tokens_per_second_other", speed(other)},
          {"speed_up", json::nullable(ratio)},
          {"speed_up_low", json::nullable(low_of(interval))},
          {"speed_up_high", json::nullable(high_of(interval))},
          {"less_time", json::nullable(less_time_of(ratio))},
          {"less_time_low", json::nullable(less_time_of(low_of(interval)))},
          {"less_time_high", json::nullable(less_time_of(high_of(interval)))},
          {"less_time_all_hidden", json::nullable(less_time_of(low_of(range)))},
          {"less_time_all_exposed", json::nullable(less_time_of(high_of(range)))},
          {"communication_s", now_communication.value},
          {"communication_other_s", other_communication.value},
          {"communication_share", json::nullable(share_of(now_communication, now))},
          {"communication_share_other", json::nullable(share_of(other_communication, other))},
          {"calls", json::array_of(phase.calls,
                                   [](const Calls& each) {
                                     return json::Out{{"count", each.count}, {"bytes", each.bytes}};
                                   })},
          {"rests_on", phase.is_given ? json::Out("given")
                       : phase.link   ? json::Out("products")
                                      : json::Out(nullptr)},
          {"by_products_s", json::nullable(seconds_of(phase.by_products))},
          {"at_most", of.measured.is_at_most()},
          {"beyond_measured", phase.is_beyond},
          {"one_gpu_s", json::nullable(seconds_of(phase.one_gpu))},
          {"split_slower_with_link", phase.is_split_slower(Side::link)},
          {"split_slower_without_link", phase.is_split_slower(Side::other)}};
}

}  // namespace

std::string label_of(const Prediction& of, const PhasePrediction& phase) {
  switch (phase.phase) {
    case Phase::decode:
      return fmt::format("decode, batch {}", of.question.decoder->batch);
    case Phase::prefill:
      return fmt::format("prefill, {} tokens", of.question.decoder->prompt);
    case Phase::training:
      return fmt::format("training, {}", name_of(of.question.training->strategy));
  }
  return {};
}

Document prediction_report(const Prediction& prediction) {
  Document document;
  document.paragraph(strong(sentence_of(prediction)));
  document.table(table_of(prediction));
  document.add(notes_of(prediction));
  return document;
}

std::string to_json(const Prediction& prediction) {
  json::Out out{{"schema", "linkgain.prediction/1"},
                {"sentence", sentence_of(prediction)},
                {"question", question_json(prediction)}};
  for (const PhasePrediction& phase : prediction.phases) {
    out[std::string(name_of(phase.phase))] = phase_json(prediction, phase);
  }
  return json::document_text(out);
}

}  // namespace linkgain
