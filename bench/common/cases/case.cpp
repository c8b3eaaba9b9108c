#include "linkgain/cases/case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"

namespace linkgain {
namespace {

constexpr int kFewestRanks = 2;

/// Returns the multiple of `granule` next to a size above zero.
Bytes nearest_multiple(Bytes size, std::int64_t granule) {
  const std::int64_t rest = size.value % granule;
  const std::int64_t below = size.value - rest;
  if (below == 0) return Bytes{granule};
  return Bytes{rest > granule / 2 ? below + granule : below};
}

/// Refuses a training with another operation's parameters, and one without its own.
void validate_training(const Case& c) {
  if (!c.training) {
    throw UsageError("gpt2_step needs precision and model: gpt2_step/fp32/gpt2/np2");
  }
  validate(*c.training);
  Case plain;
  plain.operation = c.operation;
  plain.ranks = c.ranks;
  plain.training = c.training;
  plain.size = gradient_bytes(*c.training);
  if (c != plain) {
    throw UsageError("gpt2_step has no type, launch mode, buffers, root, pair or place of its own");
  }
}

/// Refuses everything but a name: it says all there is.
void validate_program(const Case& c) {
  if (!c.metric) throw UsageError("exec needs a metric: exec/time");
  validate(*c.metric);
  if (c != program_case(*c.metric)) throw UsageError("exec has no parameters but its metric");
}

void validate_size(const Case& c) {
  const std::int64_t element = size_of(c.type);
  if (c.size.value <= 0) {
    throw UsageError(fmt::format("size {}: at least one element of {} bytes is needed",
                                 exact_bytes(c.size), element));
  }
  const std::int64_t granule = size_granule(c);
  if (c.size.value % granule == 0) return;
  std::string of(has_type(c.operation) ? name_of(c.type) : name_of(c.operation));
  if (c.hidden != 0) {
    of = fmt::format("a row of {} elements", c.hidden);
  } else if (is_split_over_ranks(c.operation)) {
    of = fmt::format("one {} for each of {}'s {} ranks", name_of(c.type), name_of(c.operation),
                     c.ranks);
  }
  throw UsageError(fmt::format("size {}: no multiple of the {} bytes of {}, the nearest is {}",
                               exact_bytes(c.size), granule, of,
                               exact_bytes(nearest_multiple(c.size, granule))));
}

void validate_pair(const Pair& pair, int ranks) {
  const auto outside = [ranks](int rank) { return rank < 0 || rank >= ranks; };
  if (outside(pair.from) || outside(pair.to)) {
    throw UsageError(fmt::format("pair={}-{}: the ranks of np{} are 0 to {}", pair.from, pair.to,
                                 ranks, ranks - 1));
  }
  if (pair.from == pair.to) {
    throw UsageError(fmt::format("pair={}-{}: the two ranks must differ", pair.from, pair.to));
  }
}

/// Checks the form (in place), reduction and kernel, which not every operation has.
void validate_form(const Case& c) {
  if (c.in_place && !has_in_place_form(c.operation)) {
    throw UsageError(fmt::format("field 'inplace': {} cannot work in place", name_of(c.operation)));
  }
  if (!has_reduction(c.operation) && c.reduction != Reduction::sum) {
    throw UsageError(fmt::format("reduction '{}': {} has no reduction, leave it out",
                                 name_of(c.reduction), name_of(c.operation)));
  }
  if (c.kernel && !has_kernel(c)) {
    throw UsageError(
        "field 'kernel': our own kernels are for copies, and for all_reduce, the sum of float32, "
        "float16 or bfloat16 in plain buffers over at most 8 ranks");
  }
}

/// Refuses what only calls of a library have.
void validate_memory_work(const Case& c) {
  if (!works_on_memory(c.operation)) return;
  const auto refuse = [&](std::string_view field, std::string_view why) {
    throw UsageError(fmt::format("field '{}': {} {}", field, name_of(c.operation), why));
  };
  if (c.type != DataType::float32) refuse(name_of(c.type), "moves bytes, whatever their type");
  if (c.launch != LaunchMode::stream) refuse(name_of(c.launch), "is not captured into graphs");
  if (c.buffers != Buffers::plain) refuse(name_of(c.buffers), "has memory of its own kind");
  if (c.ranks > kMostRanksOfKernels) {
    throw UsageError(fmt::format("number of ranks np{}: {} works across {} GPUs at most", c.ranks,
                                 name_of(c.operation), kMostRanksOfKernels));
  }
}

/// Refuses what does not stand between a product and a norm as a decoder's operations do.
void validate_hidden(const Case& c) {
  const auto refuse = [&](std::string_view why) {
    throw UsageError(fmt::format("field 'hidden': {} {}", name_of(c.operation), why));
  };
  if (c.hidden == 0) {
    if (c.operation == OperationKind::product_norm) refuse("needs hidden=H, a row's elements");
    return;
  }
  if (!has_hidden(c.operation)) refuse("does not stand between a product and a norm");
  if (c.hidden < kLeastHidden || c.hidden > kMostHidden || c.hidden % kLeastHidden != 0) {
    throw UsageError(
        fmt::format("hidden={}: a multiple of {} up to {}", c.hidden, kLeastHidden, kMostHidden));
  }
  if (c.type != DataType::bfloat16) refuse("stands between a product and a norm in bfloat16 alone");
  if (c.reduction != Reduction::sum) refuse("is a sum there");
  if (c.launch != LaunchMode::graph) refuse("is replayed from a graph there");
  if (c.in_place) refuse("is not in place there");
}

void validate_root(const Case& c) {
  if (c.root == 0) return;
  if (!has_root(c.operation)) {
    throw UsageError(
        fmt::format("field 'root': {} has no root; broadcast, reduce, gather, scatter, "
                    "all_to_one and one_to_all have one",
                    name_of(c.operation)));
  }
  if (c.root < 0 || c.root >= c.ranks) {
    throw UsageError(
        fmt::format("root={}: the ranks of np{} are 0 to {}", c.root, c.ranks, c.ranks - 1));
  }
}

void validate_peers(const Case& c) {
  if (c.pair && !has_pair(c.operation)) {
    throw UsageError(
        fmt::format("field 'pair': {} works on all ranks, only send_recv, ping_pong, copies and "
                    "latencies have pairs",
                    name_of(c.operation)));
  }
  if (c.pair) validate_pair(*c.pair, c.ranks);
  if (!needs_pair(c.operation)) return;
  const std::string_view name = name_of(c.operation);
  if (!c.pair) {
    throw UsageError(
        fmt::format("field 'pair': {} goes between two ranks, name them as pair=0-1", name));
  }
  if (c.pair->both) {
    throw UsageError(
        fmt::format("field 'both': {} has no form with both directions at once", name));
  }
}

/// In the order in which a name has them.
constexpr std::array<std::string_view, 10> kOptions{
    "inplace",   "graph",  "hidden=H", "allocated", "registered",
    "symmetric", "root=R", "kernel",   "pair=A-B",  "both"};

constexpr std::string_view kHigherIsBetter = "higher";

constexpr std::array<std::string_view, 8> kTrainingOptions{
    "none",        "zero2",   "zero3",      "buckets=legacy",
    "bucket-mb=M", "batch=B", "sequence=T", "dropout=P"};

/// Returns a whole number without sign; absent where `text` is anything else.
std::optional<int> parse_number(std::string_view text) {
  return text.starts_with('-') ? std::nullopt : whole_number<int>(text);
}

/// Takes a name's fields one after the other. Lenient about spellings of numbers and the order of
/// options: parse_case_name() compares the outcome with the one valid spelling.
class CaseNameReader {
 public:
  explicit CaseNameReader(std::string_view name) : parts_(split(name, '/')) {}

  Case read() {
    Case c;
    if (!parts_.empty() && parts_.front() == name_of(OperationKind::program)) {
      return read_program();
    }
    c.operation = parse_operation(take("operation"));
    if (is_training(c.operation)) return read_training(c);
    if (has_type(c.operation)) c.type = from_name<DataType>(take("data type"));
    if (has_reduction(c.operation)) {
      c.reduction = from_name<Reduction>(take("reduction"));
    } else {
      refuse_reduction(c.operation);
    }
    c.size = parse_bytes(take("size"));
    c.ranks = read_ranks(take("number of ranks"));
    while (next_ < parts_.size()) read_option(c, parts_[next_++]);
    if (both_ && !c.pair) throw UsageError("field 'both' needs a field pair=A-B before it");
    if (both_) c.pair->both = true;
    return c;
  }

 private:
  Case read_program() {
    take("operation");
    ProgramMetric metric{.name = take("metric")};
    for (; next_ < parts_.size(); ++next_) {
      if (parts_[next_] == kHigherIsBetter) metric.higher_is_better = true;
      if (parts_[next_].find('=') != std::string::npos) metric.at = parts_[next_];
    }
    return program_case(metric);
  }

  Case read_training(Case c) {
    TrainingParameters& training = c.training.emplace();
    training.precision = from_name<TrainingPrecision>(take("precision"));
    training.model = from_name<ModelSize>(take("model"));
    training.length = longest_sequence(training.model);
    c.ranks = read_ranks(take("number of ranks"));
    for (; next_ < parts_.size(); ++next_) {
      if (!read_field(training, parts_[next_])) {
        throw UsageError(unknown_name("field", parts_[next_], kTrainingOptions));
      }
    }
    c.size = gradient_bytes(training);
    return c;
  }

  const std::string& take(std::string_view field) {
    if (next_ == parts_.size()) {
      throw UsageError(fmt::format(
          "the {} is missing: operation/type/reduction/size/npN, then inplace, graph, hidden=H, "
          "allocated, registered, symmetric, root=R, kernel, pair=A-B, both as needed "
          "(all_reduce/float32/sum/1GiB/np2, send_recv/float32/1GiB/np2/pair=0-1, "
          "copy_push/256MiB/np2/pair=0-1, gpt2_step/fp32/gpt2/np2)",
          field));
    }
    return parts_[next_++];
  }

  void refuse_reduction(OperationKind operation) const {
    if (next_ == parts_.size()) return;
    for (const Reduction reduction : kValues<Reduction>) {
      if (parts_[next_] != name_of(reduction)) continue;
      throw UsageError(fmt::format("field '{}': {} has no reduction, leave it out", parts_[next_],
                                   name_of(operation)));
    }
  }

  static int read_ranks(std::string_view text) {
    const std::optional<int> ranks =
        text.starts_with("np") ? parse_number(text.substr(2)) : std::nullopt;
    if (!ranks) {
      throw UsageError(fmt::format("number of ranks '{}': write np2 to np{}", text, kMostRanks));
    }
    return *ranks;
  }

  void read_option(Case& c, std::string_view text) {
    if (text == "inplace") {
      set_once(c.in_place, text);
    } else if (text == "graph") {
      bool graph = c.launch == LaunchMode::graph;
      set_once(graph, text);
      c.launch = LaunchMode::graph;
    } else if (text == "allocated" || text == "registered" || text == "symmetric") {
      read_buffers(c, text);
    } else if (text == "kernel") {
      set_once(c.kernel, text);
    } else if (text == "both") {
      set_once(both_, text);
    } else if (text.starts_with("hidden=")) {
      bool placed = c.hidden != 0;
      set_once(placed, text);
      c.hidden = read_hidden(text);
    } else if (text.starts_with("root=")) {
      bool rooted = c.root != 0;
      set_once(rooted, text);
      c.root = read_root(text);
    } else if (text.starts_with("pair=")) {
      bool paired = c.pair.has_value();
      set_once(paired, text);
      c.pair = read_pair(text);
    } else {
      throw UsageError(unknown_name("field", text, kOptions));
    }
  }

  static void read_buffers(Case& c, std::string_view text) {
    if (c.buffers != Buffers::plain && c.buffers != from_name<Buffers>(text)) {
      throw UsageError(
          fmt::format("field '{}': the buffers are {} already", text, name_of(c.buffers)));
    }
    bool given = c.buffers != Buffers::plain;
    set_once(given, text);
    c.buffers = from_name<Buffers>(text);
  }

  static int read_hidden(std::string_view text) {
    const std::optional<int> hidden = parse_number(text.substr(text.find('=') + 1));
    if (!hidden || *hidden == 0) {
      throw UsageError(fmt::format("field '{}': write a row's elements as hidden=4096", text));
    }
    return *hidden;
  }

  static int read_root(std::string_view text) {
    const std::optional<int> root = parse_number(text.substr(text.find('=') + 1));
    if (!root) throw UsageError(fmt::format("field '{}': write a rank as root=1", text));
    // Other spellings of the default would have no field to be compared with.
    if (*root == 0) throw UsageError(fmt::format("field '{}': rank 0 is meant without it", text));
    return *root;
  }

  static void set_once(bool& flag, std::string_view text) {
    if (flag) {
      throw UsageError(
          fmt::format("field '{}': {} was given before", text, text.substr(0, text.find('='))));
    }
    flag = true;
  }

  static Pair read_pair(std::string_view text) {
    const std::vector<std::string> ranks = split(text.substr(text.find('=') + 1), '-');
    if (ranks.size() == 2) {
      const std::optional<int> from = parse_number(ranks[0]);
      const std::optional<int> to = parse_number(ranks[1]);
      if (from && to) return {*from, *to, false};
    }
    throw UsageError(fmt::format("field '{}': write two ranks as pair=0-1", text));
  }

  std::vector<std::string> parts_;
  std::size_t next_ = 0;
  bool both_ = false;
};

/// Returns the first field of `name` that `valid` spells otherwise or does not have.
std::string first_difference(std::string_view name, std::string_view valid) {
  const std::vector<std::string> given = split(name, '/');
  const std::vector<std::string> right = split(valid, '/');
  return *std::mismatch(given.begin(), given.end(), right.begin(), right.end()).first;
}

/// Returns everything before the size and everything after it, without the slashes between.
std::string leading_fields(const Case& c) {
  std::string text(name_of(c.operation));
  if (has_type(c.operation)) text += fmt::format("/{}", name_of(c.type));
  if (has_reduction(c.operation)) text += fmt::format("/{}", name_of(c.reduction));
  return text;
}

std::string trailing_fields(const Case& c) {
  std::string text = fmt::format("np{}", c.ranks);
  if (c.in_place) text += "/inplace";
  if (c.launch == LaunchMode::graph) text += "/graph";
  if (c.hidden != 0) text += fmt::format("/hidden={}", c.hidden);
  if (c.buffers != Buffers::plain) text += fmt::format("/{}", name_of(c.buffers));
  if (c.root != 0) text += fmt::format("/root={}", c.root);
  if (c.kernel) text += "/kernel";
  if (c.pair) {
    text += fmt::format("/pair={}-{}", c.pair->from, c.pair->to);
    if (c.pair->both) text += "/both";
  }
  return text;
}

}  // namespace

bool has_kernel(const Case& c) {
  if (is_copy(c.operation)) return true;
  const bool type =
      c.type == DataType::float32 || c.type == DataType::float16 || c.type == DataType::bfloat16;
  return c.operation == OperationKind::all_reduce && type && c.reduction == Reduction::sum &&
         c.buffers == Buffers::plain && c.ranks <= kMostRanksOfKernels;
}

bool is_own_work(const Case& c) { return c.kernel || works_on_memory(c.operation); }

Case program_case(ProgramMetric metric) {
  Case c;
  c.operation = OperationKind::program;
  c.ranks = 1;
  c.metric = std::move(metric);
  return c;
}

std::int64_t product_inner(const Case& c) {
  constexpr std::int64_t kLineElements = 8;
  return round_up(divide_up(std::int64_t{7} * c.hidden, 2 * c.ranks), kLineElements);
}

bool uses_link(const Case& c) {
  if (c.training) return c.training->strategy != TrainingStrategy::none;
  return !is_local(c.operation);
}

std::int64_t size_granule(const Case& c) {
  if (is_copy(c.operation)) return 16;
  if (c.operation == OperationKind::latency) return 8;
  if (c.operation == OperationKind::load_latency) return kLoadLatencyLine;
  const std::int64_t element = size_of(c.type);
  if (c.hidden != 0) return element * c.hidden;
  return is_split_over_ranks(c.operation) ? element * c.ranks : element;
}

void validate(const Case& c) {
  if (is_program(c.operation)) return validate_program(c);
  if (c.metric) throw UsageError(fmt::format("{} is no program", name_of(c.operation)));
  if (c.ranks < kFewestRanks || c.ranks > kMostRanks) {
    throw UsageError(
        fmt::format("number of ranks np{}: from np{} to np{}", c.ranks, kFewestRanks, kMostRanks));
  }
  if (is_training(c.operation)) return validate_training(c);
  if (c.training) {
    throw UsageError(fmt::format("{} is no training", name_of(c.operation)));
  }
  validate_hidden(c);
  validate_size(c);
  validate_form(c);
  validate_memory_work(c);
  validate_root(c);
  validate_peers(c);
}

double algorithm_bandwidth(const Case& c, Seconds time) {
  return gigabytes_per_second(c.size, time);
}

double bus_bandwidth(const Case& c, Seconds time) {
  return algorithm_bandwidth(c, time) * bus_bandwidth_factor(c.operation, c.ranks);
}

std::string case_name(const Case& c) {
  if (c.metric) {
    std::string name = fmt::format("{}/{}", name_of(c.operation), c.metric->name);
    if (c.metric->higher_is_better) name += fmt::format("/{}", kHigherIsBetter);
    if (!c.metric->at.empty()) name += "/" + c.metric->at;
    return name;
  }
  if (c.training) {
    return fmt::format("{}/{}/np{}{}", name_of(c.operation), leading_text(*c.training), c.ranks,
                       trailing_text(*c.training));
  }
  return fmt::format("{}/{}/{}", leading_fields(c), exact_bytes(c.size), trailing_fields(c));
}

std::string curve_name(const Case& c) {
  if (c.training || c.metric) return case_name(c);
  return fmt::format("{}/{}", leading_fields(c), trailing_fields(c));
}

Case parse_case_name(std::string_view name) {
  const auto refusal = [name](std::string_view reason) {
    return fmt::format("case '{}': {}", name, reason);
  };
  Case c;
  try {
    c = CaseNameReader(name).read();
    validate(c);
  } catch (const UsageError& error) {
    throw UsageError(refusal(error.what()), error.advice());
  }
  const std::string valid = case_name(c);
  if (valid == name) return c;
  throw UsageError(
      refusal(fmt::format("field '{}' is not in its one valid place and form: did you "
                          "mean {}?",
                          first_difference(name, valid), valid)));
}

}  // namespace linkgain
