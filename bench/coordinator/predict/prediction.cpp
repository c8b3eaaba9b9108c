#include "linkgain/predict/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "linkgain/base/errors.hpp"
#include "linkgain/cases/operation.hpp"

namespace linkgain {
namespace {

using Values = std::span<const double>;

/// Gives times of the same calls on both sides, those of the link first.
std::vector<LaunchMean> communication(const Prediction& of, const std::vector<Calls>& calls) {
  std::vector<LaunchMean> times;
  for (const LinkSide* side : {&of.measured.link, &of.measured.other}) {
    for (const Calls& each : calls) {
      times.push_back(of.measured.all_reduce(*side, of.curves, each.bytes));
    }
  }
  return times;
}

double sum_of(const std::vector<Calls>& calls, Values times) {
  double sum = 0.0;
  for (std::size_t i = 0; i < calls.size(); ++i) sum += calls[i].count * times[i];
  return sum;
}

/// Two times of a step, or of its communication.
struct Both {
  double link = 0.0;
  double other = 0.0;
  double at(Side side) const { return side == Side::link ? link : other; }
  double ratio() const { return other / link; }
};

/// Sums up the first of `times`, as communication() gives them.
Both communication_of(const std::vector<Calls>& calls, Values times) {
  return {sum_of(calls, times), sum_of(calls, times.subspan(calls.size()))};
}

std::vector<double> values_of(const std::vector<LaunchMean>& means) {
  std::vector<double> values;
  for (const LaunchMean& mean : means) values.push_back(mean.time.value);
  return values;
}

PhasePrediction begin_phase(const Prediction& of, Phase phase, std::vector<Calls> calls) {
  PhasePrediction result{.phase = phase, .calls = std::move(calls)};
  const Both sums = communication_of(result.calls, values_of(communication(of, result.calls)));
  result.communication_link = Seconds{sums.link};
  result.communication_other = Seconds{sums.other};
  const double largest = of.measured.largest(of.curves);
  result.is_beyond =
      std::ranges::any_of(result.calls, [&](const Calls& each) { return each.bytes > largest; });
  return result;
}

void require_time_beside(const Prediction& of, double communication, double step,
                         std::string_view given) {
  if (communication < step) return;
  throw UsageError(
      fmt::format("{} means {} a step, of which communication with {} alone would take {}", given,
                  readable_time(Seconds{step}),
                  of.on == Side::link ? of.measured.link.name : of.measured.other.name,
                  readable_time(Seconds{communication})),
      "check --on, --batch and --by; tokens per second are those of all sequences together");
}

/// Gives seconds of a product and a norm for each of a rank's weights, for so many tokens at once:
/// between the record's hidden sizes by their logarithms, beyond them as at the nearest.
LaunchMean time_of_weight(const MeasuredLink& measured, double hidden, double tokens) {
  std::vector<TimeCurve::Point> points;
  for (const auto& [each, curve] : measured.products) {
    points.push_back({static_cast<double>(each), curve.at(std::max(tokens, curve.smallest()))});
  }
  const TimeCurve by_hidden(std::move(points));
  return by_hidden.at(std::clamp(hidden, by_hidden.smallest(), by_hidden.largest()));
}

/// What a step computes: so many weights by products, and bytes read besides.
struct Computation {
  LaunchMean of_weight{};
  LaunchMean of_byte{};
  double weights = 0.0;
  double bytes = 0.0;
  double seconds(double weight, double byte) const { return weights * weight + bytes * byte; }
};

/// What one of so many GPUs computes. Of `ranks` 1 the weights are those of all.
struct Share {
  int ranks = 2;
  double tokens = 1.0;  ///< at once
  double passes = 1.0;
};

Computation computation(const MeasuredLink& measured, const ModelShape& model, const Share& share) {
  const double wider = std::sqrt(static_cast<double>(measured.ranks) / share.ranks);
  Computation result;
  result.of_weight = time_of_weight(measured, model.hidden * wider, share.tokens);
  result.of_byte = time_of_weight(measured, measured.products.rbegin()->first, 1.0);
  result.of_byte.time.value /= kServedBytes;
  result.weights = share.passes * model.layers * layer_weights(model, share.ranks);
  return result;
}

/// Counts the bytes that each of so many GPUs caches of all sequences.
double cache_bytes(const DecoderQuestion& question, int ranks) {
  return kServedBytes * question.batch * question.context * cached_numbers(question.model, ranks) *
         question.model.layers;
}

Computation decode_computation(const MeasuredLink& measured, const DecoderQuestion& question,
                               int ranks) {
  const ModelShape& model = question.model;
  Computation result =
      computation(measured, model, {.ranks = ranks, .tokens = static_cast<double>(question.batch)});
  result.weights += head_weights(model) / ranks;
  result.bytes = cache_bytes(question, ranks);
  return result;
}

double chunk_of(const DecoderQuestion& question) {
  return question.chunk == 0 ? question.prompt : std::min(question.chunk, question.prompt);
}

/// Counts the products of scores, half of which are masked, as weights: they run at the same rate.
Computation prefill_computation(const MeasuredLink& measured, const DecoderQuestion& question,
                                int ranks) {
  const ModelShape& model = question.model;
  const double tokens = chunk_of(question);
  Computation result = computation(
      measured, model, {.ranks = ranks, .tokens = tokens, .passes = question.prompt / tokens});
  const double prompt = question.prompt;
  result.weights += prompt * prompt / tokens * model.heads * model.head_size * model.layers / ranks;
  result.bytes = kServedBytes * head_weights(model) / ranks;
  return result;
}

/// Tells whether the weights fit into the nine tenths of so many GPUs' memory that engines take, or
/// that is not known.
bool fit(const MeasuredLink& measured, const ModelShape& model, int gpus) {
  const double weights = model.layers * layer_weights(model, gpus) + head_weights(model) / gpus;
  return measured.memory_bytes == 0 || !has_weights(model) ||
         kServedBytes * weights < 0.9 * static_cast<double>(measured.memory_bytes);
}

using Compute = Computation (*)(const MeasuredLink&, const DecoderQuestion&, int);

/// Adds the rest of a step to its communication: of the given speed what is left beside it, else
/// what the record's products say; nothing where neither is known.
void add_rest(const Prediction& of, PhasePrediction& result, std::optional<double> given_speed,
              Compute compute) {
  const MeasuredLink& measured = of.measured;
  const DecoderQuestion& question = *of.question.decoder;
  const std::vector<Calls>& calls = result.calls;
  const bool has_products = !measured.products.empty() && has_weights(question.model);
  if (!given_speed && !has_products) return;
  std::vector<LaunchMean> times = communication(of, calls);
  const std::size_t sizes = times.size();
  const double now = communication_of(calls, values_of(times)).at(of.on);
  Computation rest;
  if (has_products) {
    rest = compute(measured, question, measured.ranks);
    result.by_products =
        Seconds{now + rest.seconds(rest.of_weight.time.value, rest.of_byte.time.value)};
  }
  if (given_speed) {
    require_time_beside(of, now, result.tokens / *given_speed,
                        fmt::format("{:g} tokens/s", *given_speed));
  } else {
    times.push_back(rest.of_weight);
    times.push_back(rest.of_byte);
  }
  const auto rest_of = [&](Values values) {
    if (!given_speed) return rest.seconds(values[sizes], values[sizes + 1]);
    return result.tokens / *given_speed - communication_of(calls, values).at(of.on);
  };
  const auto steps_of = [&](Values values) {
    const Both sums = communication_of(calls, values);
    return Both{sums.link + rest_of(values), sums.other + rest_of(values)};
  };
  const std::vector<double> values = values_of(times);
  const Both steps = steps_of(values);
  result.is_given = given_speed.has_value();
  result.link = Seconds{steps.link};
  result.other = Seconds{steps.other};
  result.ratio = propagated(times, [&](Values each) { return steps_of(each).ratio(); });
  if (!fit(measured, question.model, 1)) return;
  const Computation alone = given_speed ? Computation{} : compute(measured, question, 1);
  result.one_gpu =
      Seconds{given_speed ? measured.ranks * rest_of(values)
                          : alone.seconds(alone.of_weight.time.value, alone.of_byte.time.value)};
}

void require_memory_for_cache(const MeasuredLink& measured, const DecoderQuestion& question) {
  const double bytes = cache_bytes(question, measured.ranks);
  const auto memory = static_cast<double>(measured.memory_bytes);
  if (measured.memory_bytes == 0 || bytes <= memory) return;
  throw UsageError(fmt::format("--batch {} and --context {} need {:.3g} GB of cache on each GPU, "
                               "which has {:.3g} GB",
                               question.batch, question.context, bytes / 1e9, memory / 1e9),
                   "give fewer sequences or tokens");
}

PhasePrediction predict_decode(const Prediction& of) {
  const DecoderQuestion& question = *of.question.decoder;
  require_memory_for_cache(of.measured, question);
  PhasePrediction result =
      begin_phase(of, Phase::decode, decode_calls(question, of.measured.ranks));
  result.tokens = question.batch;
  add_rest(of, result, question.tokens_per_second, decode_computation);
  return result;
}

PhasePrediction predict_prefill(const Prediction& of) {
  const DecoderQuestion& question = *of.question.decoder;
  PhasePrediction result =
      begin_phase(of, Phase::prefill, prefill_calls(question, of.measured.ranks));
  result.tokens = question.prompt;
  add_rest(of, result, question.prompt_tokens_per_second, prefill_computation);
  return result;
}

/// Steps where the share `exposed` of the communication's difference shows. No step is shorter than
/// its communication.
Both training_steps(double given, Side on, const Both& sums, double exposed) {
  const double difference = exposed * (sums.other - sums.link);
  return on == Side::link ? Both{given, std::max(given + difference, sums.other)}
                          : Both{std::max(given - difference, sums.link), given};
}

/// Returns the strategy that sends the same: PyTorch's FSDP gathers parameters as ZeRO 3 does.
TrainingStrategy strategy_of(Sharding sharding) {
  switch (sharding) {
    case Sharding::ddp:
      return TrainingStrategy::ddp;
    case Sharding::zero2:
      return TrainingStrategy::zero2;
    case Sharding::fsdp:
    case Sharding::zero3:
      return TrainingStrategy::zero3;
  }
  return {};
}

/// How much of communication hides: what computing offers, as a share of a step without
/// communication, but no more than a share of communication.
struct Hidden {
  double of_computing = 0.0;
  double of_communication = 0.0;
  double step(double computing, double communication) const {
    return std::max(communication,
                    computing + communication -
                        std::min(of_computing * computing, of_communication * communication));
  }
  /// Returns what a step computes that takes so long.
  double computing(double step, double communication) const {
    const double by_communication = step - (1.0 - of_communication) * communication;
    if (of_computing >= 1.0) return by_communication;
    return std::min((step - communication) / (1.0 - of_computing), by_communication);
  }
};

/// A measured training's communication, and how much of it was exposed.
class TrainingExposure {
 public:
  TrainingExposure(const Prediction& of, const TrainingRow& row)
      : row_(row),
        calls_(training_calls(static_cast<double>(gradient_bytes(*row.definition.training).value),
                              row.definition.training->strategy, of.measured.largest(of.curves))),
        times_(communication(of, calls_)) {
    times_.push_back(row.link);
    times_.push_back(row.other);
    times_.push_back(row.alone.value_or(row.link));
  }

  const std::vector<LaunchMean>& times() const { return times_; }
  /// Takes times as times() has them.
  double exposed(Values times) const {
    const Both sums = communication_of(calls_, times);
    const double longer = times[2 * calls_.size() + 1] - times[2 * calls_.size()];
    return std::clamp(longer / (sums.other - sums.link), 0.0, 1.0);
  }
  /// Says how much of communication without the link hid behind computing.
  Hidden hidden(Values times) const {
    const double communication = communication_of(calls_, times).other;
    const Values steps = times.subspan(2 * calls_.size());
    const double hidden = std::clamp(communication + steps[2] - steps[1], 0.0, communication);
    return {hidden / steps[2], hidden / communication};
  }
  /// Says what communication would take of the step if all of it were exposed.
  double share(Side on) const {
    const Both sums = communication_of(calls_, values_of(times_));
    return sums.at(on) / (on == Side::link ? row_.link : row_.other).time.value;
  }

 private:
  const TrainingRow& row_;
  std::vector<Calls> calls_;
  std::vector<LaunchMean> times_;
};

/// Takes the step by what hides in measured trainings of this strategy: as much of computing and as
/// much of communication as any of them shows. Two or more are needed to tell the two apart.
void take_hidden(const Prediction& of, const TrainingQuestion& question, PhasePrediction& result) {
  std::vector<LaunchMean> times = communication(of, result.calls);
  const std::size_t own = times.size();
  std::vector<TrainingExposure> rows;
  for (const TrainingRow& row : of.measured.trainings) {
    if (!row.alone || row.definition.training->strategy != strategy_of(question.strategy)) continue;
    const std::vector<LaunchMean>& more = rows.emplace_back(of, row).times();
    times.insert(times.end(), more.begin(), more.end());
  }
  if (rows.size() < 2 || of.measured.is_at_most()) return;
  const auto steps_of = [&](Values values) {
    Hidden most;
    Values rest = values.subspan(own);
    for (const TrainingExposure& row : rows) {
      const Hidden each = row.hidden(rest);
      most.of_computing = std::max(most.of_computing, each.of_computing);
      most.of_communication = std::max(most.of_communication, each.of_communication);
      rest = rest.subspan(row.times().size());
    }
    const Both sums = communication_of(result.calls, values);
    const double computing = most.computing(question.step.value, sums.at(of.on));
    Both steps{most.step(computing, sums.link), most.step(computing, sums.other)};
    (of.on == Side::link ? steps.link : steps.other) = question.step.value;
    return steps;
  };
  const Both steps = steps_of(values_of(times));
  result.link = Seconds{steps.link};
  result.other = Seconds{steps.other};
  result.ratio = propagated(times, [&](Values each) { return steps_of(each).ratio(); });
}

/// Narrows the prediction by the trainings that were measured: by that whose communication takes
/// most nearly as much of its step, or by take_hidden(), in an interval that holds those of all.
void narrow(const Prediction& of, const TrainingQuestion& question, PhasePrediction& result) {
  const std::vector<LaunchMean> own = communication(of, result.calls);
  const double given = question.step.value;
  const double share =
      (of.on == Side::link ? result.communication_link : result.communication_other).value / given;
  std::optional<double> nearest;
  std::optional<Interval> all;
  for (const TrainingRow& row : of.measured.trainings) {
    const TrainingExposure exposure(of, row);
    std::vector<LaunchMean> times = own;
    times.insert(times.end(), exposure.times().begin(), exposure.times().end());
    const auto steps_of = [&](Values values) {
      return training_steps(given, of.on, communication_of(result.calls, values),
                            exposure.exposed(values.subspan(own.size())));
    };
    const Estimate ratio = propagated(times, [&](Values each) { return steps_of(each).ratio(); });
    const Interval own_interval = ratio.interval.value_or(Interval{ratio.value, ratio.value});
    all =
        all ? Interval{std::min(all->low, own_interval.low), std::max(all->high, own_interval.high)}
            : own_interval;
    const double distance = std::abs(std::log(exposure.share(of.on) / share));
    if (nearest && *nearest <= distance) continue;
    nearest = distance;
    const Both steps = steps_of(values_of(times));
    result.link = Seconds{steps.link};
    result.other = Seconds{steps.other};
    result.ratio = ratio;
  }
  if (!result.ratio) return;
  take_hidden(of, question, result);
  const Interval last =
      result.ratio->interval.value_or(Interval{result.ratio->value, result.ratio->value});
  all = Interval{std::min(all->low, last.low), std::max(all->high, last.high)};
  if (all->low < all->high) result.ratio->interval = all;
}

PhasePrediction predict_training(const Prediction& of) {
  const TrainingQuestion& question = *of.question.training;
  const double largest = of.measured.largest(of.curves);
  PhasePrediction result =
      begin_phase(of, Phase::training,
                  training_calls(question.parameters * bytes_exchanged(question),
                                 strategy_of(question.strategy), largest));
  const double given = question.step.value;
  const Both sums{result.communication_link.value, result.communication_other.value};
  require_time_beside(of, sums.at(of.on), given,
                      fmt::format("--step-time {}", readable_time(question.step)));
  result.is_given = true;
  (of.on == Side::link ? result.link : result.other) = question.step;
  const auto ratio = [&](double share) {
    return training_steps(given, of.on, sums, share).ratio();
  };
  result.hidden_to_exposed = Interval{ratio(0.0), ratio(1.0)};
  narrow(of, question, result);
  return result;
}

Side side_named(const MeasuredLink& measured, const std::string& on) {
  if (measured.is_at_most() || on == measured.other.variant) return Side::other;
  if (on.empty() || on == measured.link.variant) return Side::link;
  throw UsageError(fmt::format("--on {}: the record tells of {} and {}", on, measured.link.variant,
                               measured.other.variant));
}

}  // namespace

double bytes_exchanged(const TrainingQuestion& question) {
  return question.element_bytes.value_or(question.strategy == Sharding::ddp ? 4.0 : 2.0);
}

bool PhasePrediction::is_split_slower(Side side) const {
  const std::optional<Seconds>& split = side == Side::link ? link : other;
  return one_gpu && split && *one_gpu < *split;
}

std::vector<Calls> decode_calls(const DecoderQuestion& question, int ranks) {
  const ModelShape& model = question.model;
  const bool is_split = model.vocabulary > 0;  // embedding and head
  std::vector<Calls> calls{
      {2.0 * model.layers + (is_split ? 1.0 : 0.0), kServedBytes * model.hidden * question.batch}};
  if (!is_split) return calls;
  const double gathered = bus_bandwidth_factor(OperationKind::all_gather, ranks) /
                          bus_bandwidth_factor(OperationKind::all_reduce, ranks);
  calls.push_back({1.0, gathered * kServedBytes * model.vocabulary * question.batch});
  return calls;
}

std::vector<Calls> prefill_calls(const DecoderQuestion& question, int ranks) {
  DecoderQuestion chunk = question;
  chunk.batch = 1;
  std::vector<Calls> calls = decode_calls(chunk, ranks);
  const double tokens = chunk_of(question);
  calls.front() = {calls.front().count * question.prompt / tokens, calls.front().bytes * tokens};
  return calls;
}

std::vector<Calls> training_calls(double bytes, TrainingStrategy strategy, double largest) {
  constexpr double kBucket = 25.0 * 1024 * 1024;  // of PyTorch's DDP
  const double wanted = strategy == TrainingStrategy::ddp ? kBucket : largest;
  const double size = std::min({wanted, largest, bytes});
  // An all-reduce goes over the parameters twice.
  return {{passes_over_parameters(strategy) / 2.0 * bytes / size, size}};
}

Prediction predict(const Record& record, const PredictionQuestion& question) {
  Prediction of{.question = question,
                .measured = measured_link(record, question.ranks, question.on)};
  const double smallest =
      question.decoder ? decode_calls(*question.decoder, of.measured.ranks).front().bytes : 0.0;
  of.curves = of.measured.choose(question.reducer, question.decoder.has_value(), smallest);
  of.on = side_named(of.measured, question.on);
  if (question.decoder) {
    of.phases = {predict_decode(of), predict_prefill(of)};
    of.weights_fit = fit(of.measured, question.decoder->model, of.measured.ranks);
  }
  if (question.training) of.phases.push_back(predict_training(of));
  return of;
}

}  // namespace linkgain
