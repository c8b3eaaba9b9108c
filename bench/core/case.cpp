#include "linkgain/core/case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "linkgain/core/errors.hpp"
#include "linkgain/core/names.hpp"

namespace linkgain {
namespace {

constexpr int kFewestRanks = 2;
constexpr int kMostRanks = 1024;
constexpr std::array kLaunchModes{LaunchMode::stream, LaunchMode::graph};

/// In the order in which a name has them.
constexpr std::array<std::string_view, 4> kOptions{"inplace", "graph", "pair=A-B", "both"};

/// A whole number without sign; absent where `text` is anything else.
std::optional<int> parse_number(std::string_view text) {
  if (text.empty() || text.front() == '-') return std::nullopt;
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data(), end, number);
  if (status != std::errc{} || rest != end) return std::nullopt;
  return number;
}

/// Takes a name's fields one after the other. Lenient about spellings of numbers and the order of
/// options: parse_case_name() compares the outcome with the one valid spelling.
class CaseNameReader {
 public:
  explicit CaseNameReader(std::string_view name) : parts_(split(name, '/')) {}

  Case read() {
    Case c;
    c.operation = parse_operation(take("operation"));
    c.type = parse_data_type(take("data type"));
    if (has_reduction(c.operation)) {
      c.reduction = parse_reduction(take("reduction"));
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
  const std::string& take(std::string_view field) {
    if (next_ == parts_.size()) {
      throw UsageError(fmt::format(
          "the {} is missing: operation/type/reduction/size/npN, then inplace, graph, pair=A-B, "
          "both as needed (all_reduce/float32/sum/1GiB/np2, send_recv/float32/1GiB/np2/pair=0-1)",
          field));
    }
    return parts_[next_++];
  }

  void refuse_reduction(OperationKind operation) const {
    if (next_ == parts_.size()) return;
    for (const Reduction reduction : kReductions) {
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
    } else if (text == "both") {
      set_once(both_, text);
    } else if (text.starts_with("pair=")) {
      bool paired = c.pair.has_value();
      set_once(paired, text);
      c.pair = read_pair(text);
    } else {
      throw UsageError(unknown_name("field", text, kOptions));
    }
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

/// The first field of `name` that `valid`, which has the same number of fields, spells otherwise.
std::string first_difference(std::string_view name, std::string_view valid) {
  const std::vector<std::string> given = split(name, '/');
  const std::vector<std::string> right = split(valid, '/');
  return *std::mismatch(given.begin(), given.end(), right.begin(), right.end()).first;
}

/// Everything before the size and everything after it, without the slashes between.
std::string leading_fields(const Case& c) {
  std::string text = fmt::format("{}/{}", name_of(c.operation), name_of(c.type));
  if (has_reduction(c.operation)) text += fmt::format("/{}", name_of(c.reduction));
  return text;
}

std::string trailing_fields(const Case& c) {
  std::string text = fmt::format("np{}", c.ranks);
  if (c.in_place) text += "/inplace";
  if (c.launch == LaunchMode::graph) text += "/graph";
  if (c.pair) {
    text += fmt::format("/pair={}-{}", c.pair->from, c.pair->to);
    if (c.pair->both) text += "/both";
  }
  return text;
}

void validate_size(const Case& c) {
  const std::int64_t element = size_of(c.type);
  if (c.size.value <= 0) {
    throw UsageError(fmt::format("size {}: at least one element of {} bytes is needed",
                                 exact_bytes(c.size), element));
  }
  if (c.size.value % element == 0) return;
  const Bytes below{c.size.value / element * element};
  const Bytes nearest = below.value > 0 ? below : Bytes{element};
  throw UsageError(fmt::format("size {}: no multiple of the {} bytes of {}, the nearest is {}",
                               exact_bytes(c.size), element, name_of(c.type),
                               exact_bytes(nearest)));
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

/// In place, reduction and pair, which not every operation has.
void validate_fields(const Case& c) {
  switch (c.operation) {
    case OperationKind::all_reduce:
      if (c.pair) {
        throw UsageError("field 'pair': all_reduce works on all ranks, only send_recv has pairs");
      }
      return;
    case OperationKind::send_recv:
      if (c.in_place) throw UsageError("field 'inplace': send_recv cannot work in place");
      if (c.reduction != Reduction::sum) {
        throw UsageError(fmt::format("reduction '{}': send_recv has no reduction, leave it out",
                                     name_of(c.reduction)));
      }
      return;
  }
}

}  // namespace

std::string_view name_of(LaunchMode launch) {
  switch (launch) {
    case LaunchMode::stream:
      return "stream";
    case LaunchMode::graph:
      return "graph";
  }
  throw std::invalid_argument("no such launch mode");
}

LaunchMode parse_launch_mode(std::string_view name) {
  std::array<std::string_view, kLaunchModes.size()> names;
  for (std::size_t i = 0; i < kLaunchModes.size(); ++i) {
    names[i] = name_of(kLaunchModes[i]);
    if (names[i] == name) return kLaunchModes[i];
  }
  throw UsageError(unknown_name("launch mode", name, names));
}

std::string case_name(const Case& c) {
  return fmt::format("{}/{}/{}", leading_fields(c), exact_bytes(c.size), trailing_fields(c));
}

std::string curve_name(const Case& c) {
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

void validate(const Case& c) {
  if (c.ranks < kFewestRanks || c.ranks > kMostRanks) {
    throw UsageError(
        fmt::format("number of ranks np{}: from np{} to np{}", c.ranks, kFewestRanks, kMostRanks));
  }
  validate_size(c);
  validate_fields(c);
  if (c.pair) validate_pair(*c.pair, c.ranks);
}

double algorithm_bandwidth(const Case& c, Seconds time) {
  return gigabytes_per_second(c.size, time);
}

double bus_bandwidth(const Case& c, Seconds time) {
  return algorithm_bandwidth(c, time) * bus_bandwidth_factor(c.operation, c.ranks);
}

}  // namespace linkgain
