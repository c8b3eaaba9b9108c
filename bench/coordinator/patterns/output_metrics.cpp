#include "linkgain/patterns/output_metrics.hpp"

#include <fmt/format.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <new>
#include <numeric>
#include <set>
#include <utility>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/statistics/statistics.hpp"
#include "linkgain/tables/escaping.hpp"
#include "linkgain/tables/text_lines.hpp"

namespace linkgain {
namespace {

constexpr std::size_t kColumnsKept = 400;
/// Bounds numbers of which ratios are finite, and so are their reciprocals.
constexpr double kLeastNumber = 1e-100;
constexpr double kGreatestNumber = 1e100;

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// Takes out commas between groups of three digits; absent where some stand elsewhere.
std::optional<std::string> without_separators(std::string_view text) {
  const std::size_t end = std::min(text.find('.'), text.size());
  const std::size_t first = text.find(',');
  if (first == std::string_view::npos) return std::string(text);
  // "0,312" is a decimal comma's.
  if (text.substr(text.starts_with('-') ? 1 : 0).starts_with('0')) return std::nullopt;
  std::string plain;
  int digits = -1;  // since the last comma
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != ',') {
      plain += text[i];
      if (digits >= 0 && i < end) digits += is_digit(text[i]) ? 1 : 4;
      continue;
    }
    const std::size_t leading = i - (text.starts_with('-') ? 1 : 0);
    const bool begins = i > 0 && is_digit(text[i - 1]) && (digits >= 0 || leading <= 3);
    if (i > end || !begins || (digits >= 0 && digits != 3)) return std::nullopt;
    digits = 0;
  }
  return digits == 3 ? std::optional(plain) : std::nullopt;
}

/// Takes the letters, digits and underscores that it begins with, a separator at the end left out.
std::string literal_prefix(std::string_view pattern) {
  const auto* const end = std::ranges::find_if_not(
      pattern, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
  std::string prefix(pattern.begin(), end);
  // What a quantifier repeats is not sure to be there.
  if (end != pattern.end() && (*end == '?' || *end == '*' || *end == '{') && !prefix.empty()) {
    prefix.pop_back();
  }
  while (prefix.ends_with('_')) prefix.pop_back();
  return prefix;
}

constexpr std::string_view kSigns = "(){}[]*+?.|^$\\";  ///< of a pattern, which are no words

/// Joins all words that stand before the first of its signs that is none of a word, blanks and "="
/// as "-": "decode-b-64" of "decode b=64 .*ms=([0-9.]+)".
std::string spelt_out(std::string_view pattern) {
  const std::size_t end = std::min(pattern.find_first_of(kSigns), pattern.size());
  std::string spelt;
  for (const char c : pattern.substr(0, end)) {
    const bool is_of_word = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    if (is_of_word || (!spelt.empty() && spelt.back() != '-')) spelt += is_of_word ? c : '-';
  }
  while (spelt.ends_with('-') || spelt.ends_with('_')) spelt.pop_back();
  return spelt;
}

/// Joins the words right before the first group: "loss" of "step.*?loss ([0-9.]+)".
std::string words_before_group(std::string_view pattern) {
  const std::string_view before = pattern.substr(0, pattern.find('('));
  const std::size_t sign = before.find_last_of(kSigns);
  if (sign == std::string_view::npos) return spelt_out(before);
  // The letter of an escape is no word's.
  return spelt_out(before.substr(std::min(sign + (before[sign] == '\\' ? 2 : 1), before.size())));
}

/// Finds where "NAME=" ends; 0 where the text does not begin so.
std::size_t name_length(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) return 0;
  const bool plain = std::ranges::all_of(text.substr(0, equals), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("._+-").find(c) != std::string_view::npos;
  });
  return plain ? equals : 0;
}

bool is_letter(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return std::isalpha(byte) != 0 || byte >= 0x80;
}

/// Tells whether it finds its number by words: a letter stands outside of classes, escapes and the
/// group of the number, and a letter or "." before that group. Else a "NAME=" in front is the key
/// of a value: of "loss=([0-9.]+)ms" the rest alone would find other keys' values, too.
bool finds_by_words(std::string_view regex) {
  bool has_letter = false;
  bool has_beginning = false;
  bool is_before_number = true;
  bool in_class = false;
  int depth = 0;  // of groups that capture
  for (std::size_t i = 0; i < regex.size(); ++i) {
    const char c = regex[i];
    if (c == '\\') {
      ++i;
    } else if (in_class || c == '[') {
      in_class = c != ']';
    } else if (c == '(') {
      // "(?:", "(?i)", "(?<=" and the like do not capture, "(?<name>" does.
      const bool is_special = depth == 0 && regex.substr(i).starts_with("(?");
      if (is_special) i = std::min(regex.find_first_of(":=!>)", i), regex.size() - 1);
      if (is_special && regex[i] != '>') continue;
      ++depth;
      is_before_number = false;
    } else if (c == ')') {
      depth = std::max(0, depth - 1);
    } else if (depth == 0) {
      has_letter = has_letter || is_letter(c);
      has_beginning = has_beginning || (is_before_number && (is_letter(c) || c == '.'));
    }
  }
  return has_letter && has_beginning;
}

/// Lists what a metric that nobody named may be called by its pattern, the shorter name first. A
/// number says nothing of what is measured, and some names are linkgain's own.
std::vector<std::string> names_by_pattern(const MetricRequest& request) {
  constexpr std::size_t kLongest = 40;
  std::vector<std::string> names;
  if (request.is_named) return names;
  const std::string& pattern = request.pattern.text();
  for (const std::string& name :
       {request.metric.name, spelt_out(pattern), words_before_group(pattern)}) {
    const bool is_word = !name.empty() && is_letter(name.front()) && name.size() <= kLongest;
    const bool is_new = std::ranges::find(names, name) == names.end();
    if (is_word && is_new && !is_timed({.name = name})) names.push_back(name);
  }
  return names;
}

/// Says why a metric has a number for a name, and how it gets another.
std::string numbered_note(const MetricRequest& request) {
  const std::string& pattern = request.pattern.text();
  std::string note = fmt::format(
      "{}: its pattern '{}' has no name of its own in front (time, step and start-up are "
      "linkgain's)",
      request.metric.name, pattern);
  for (const std::string& named : {pattern, ".*?" + pattern}) {
    if (!finds_by_words(named)) continue;
    return fmt::format("{}; --metric {} names it", note, shell_quoted("NAME=" + named));
  }
  return note;
}

/// Where the lines of a text end, one after the other. Passes each byte once for each kind of end.
class LineEnds {
 public:
  explicit LineEnds(std::string_view text)
      : text_(text), line_feed_(place_of('\n', 0)), carriage_return_(place_of('\r', 0)) {}

  /// Finds the next one from `start` on; the text's size where there is none.
  std::size_t next(std::size_t start) {
    if (line_feed_ < start) line_feed_ = place_of('\n', start);
    if (carriage_return_ < start) carriage_return_ = place_of('\r', start);
    return std::min(line_feed_, carriage_return_);
  }

 private:
  std::size_t place_of(char end, std::size_t start) const {
    return std::min(text_.find(end, start), text_.size());
  }

  std::string_view text_;
  std::size_t line_feed_;
  std::size_t carriage_return_;
};

/// Cuts a line, or a part of it, to what is shown.
std::string shown(std::string_view text) { return first_columns(plain_text(text), kColumnsKept); }

/// Counts the characters of "e-05" in front; 0 where there is no exponent.
std::size_t exponent_length(std::string_view text) {
  if (!text.starts_with('e') && !text.starts_with('E')) return 0;
  const std::size_t sign = text.substr(1, 1) == "+" || text.substr(1, 1) == "-" ? 1 : 0;
  const std::string_view digits = text.substr(1 + sign);
  const auto count =
      static_cast<std::size_t>(std::ranges::find_if_not(digits, is_digit) - digits.begin());
  return count == 0 ? 0 : 1 + sign + count;
}

/// Says that a group holds a part of a number alone, and what would hold all of it: a greedy ".*"
/// leaves "3" of "57.33", and "([0-9.]+)" takes "1" of "1,234.5" and of "1e-05". Empty of others.
std::string cut_number(std::string_view line, std::string_view group) {
  constexpr std::size_t kLongest = 64;  // of what is looked at on either side
  const auto is_of_number = [](char c) { return is_digit(c) || c == '.' || c == ','; };
  const auto begin = static_cast<std::size_t>(group.data() - line.data());
  const std::size_t end = begin + group.size();
  const std::size_t limit = std::min(line.size(), end + kLongest);
  std::size_t first = begin;
  std::size_t last = end;
  while (first > 0 && begin - first < kLongest && is_of_number(line[first - 1])) --first;
  while (last < limit && is_of_number(line[last])) ++last;
  last += exponent_length(line.substr(last, limit - last));
  while (first < begin && !is_digit(line[first])) ++first;
  while (last > end && !is_digit(line[last - 1])) --last;
  const std::string_view whole = line.substr(first, last - first);
  const std::optional<double> number = parse_number(whole);
  if (!number || number == parse_number(group)) return {};
  return fmt::format(
      "'{}' is only a part of {}: {}", group, whole,
      first < begin ? "write .*? for a .* before the group" : "write the group as ([^ ]+)");
}

/// Finds the words behind a number, up to a sign that parts them. Those with another number behind
/// them name that one.
std::string_view words_behind(std::string_view line, std::string_view number) {
  constexpr std::size_t kLongest = 40;
  const std::string_view behind =
      line.substr(static_cast<std::size_t>(number.data() + number.size() - line.data()), kLongest);
  const std::size_t end = behind.find_first_of("0123456789:=,;|()[]{}");
  const bool is_of_next =
      end != std::string_view::npos && behind.find_first_of("0123456789:=", end) == end;
  return is_of_next ? std::string_view{} : behind.substr(0, end);
}

/// Says that no line matched, and how a name is written that was taken for a part of the pattern.
std::string no_match(const MetricRequest& request) {
  const std::string& pattern = request.pattern.text();
  const std::size_t name = request.is_named ? 0 : name_length(pattern);
  if (name == 0) return "no line matched";
  const std::string key = pattern.substr(0, name + 1);
  return fmt::format("no line matched: {} is part of the pattern; for a name alone write {}.*?{}",
                     key, key, pattern.substr(name + 1));
}

double seconds_from_to(OutputReader::Clock::time_point from, OutputReader::Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

using Code = std::unique_ptr<pcre2_code, decltype(&pcre2_code_free)>;
using MatchData = std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)>;
using MatchContext = std::unique_ptr<pcre2_match_context, decltype(&pcre2_match_context_free)>;
using JitStack = std::unique_ptr<pcre2_jit_stack, decltype(&pcre2_jit_stack_free)>;

/// Steps of one search: some ten milliseconds.
constexpr std::uint32_t kMostSteps = 1'000'000;
/// Enough for that many steps. It is reserved; only what a search needs takes memory.
constexpr std::size_t kFirstStack = std::size_t{32} << 10;
constexpr std::size_t kMostStack = std::size_t{32} << 20;

constexpr char kEscape = '\033';

std::string message_of(int error) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(error, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

Code compile(const std::string& text, const std::string& option) {
  int error = 0;
  PCRE2_SIZE place = 0;
  Code code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0, &error, &place,
                          nullptr),
            pcre2_code_free);
  if (code) return code;
  throw UsageError(fmt::format("{} '{}' is no regular expression: {}, at character {}", option,
                               text, message_of(error), place + 1));
}

}  // namespace

MetricRequest parse_metric(const std::string& text) {
  const std::string option = "--metric";
  const std::size_t length = name_length(text);
  const std::string behind = text.substr(length > 0 ? length + 1 : 0);
  const bool is_named = length > 0 && finds_by_words(behind);
  const ProgramMetric metric{.name = length > 0 ? text.substr(0, length) : literal_prefix(text)};
  const std::string advice = "write it as --metric 'loss=loss: ([0-9.]+)'";
  if (is_named) validate(metric);
  if (is_named && is_timed(metric)) {
    throw UsageError(
        fmt::format("--metric '{}': linkgain's own measure is called {}", text, metric.name),
        "give the metric another name: " + advice);
  }
  MetricRequest request{metric, LinePattern(is_named ? behind : text, option), is_named};
  if (request.pattern.groups() != 1) {
    throw UsageError(fmt::format("--metric '{}' has {}: one is needed, round the number", text,
                                 counted(request.pattern.groups(), "group", "groups")),
                     advice +
                         "; a parenthesis of the output as \\(, a group that captures nothing "
                         "as (?:…)");
  }
  return request;
}

bool looks_like_rate(const MetricRequest& request, const std::string& words) {
  static const LinePattern kRate(
      "(?i)/s(ec(ond)?)?(?![a-z])|per[ _.-]+s(?![a-z])|per[ _.-]*sec|"
      "throughput|^rate$|(?<![a-z])(pp|tg)[0-9]+",  // the last are llama-bench's tests
      "");
  const std::array texts{request.metric.name, request.metric.unit, request.pattern.text(), words};
  return std::ranges::any_of(texts, [](const std::string& text) { return kRate.matches(text); });
}

std::vector<std::string> name_metrics(std::vector<MetricRequest>& metrics) {
  std::set<std::string> taken;
  for (const MetricRequest& each : metrics) {
    if (!each.is_named || taken.insert(each.metric.name).second) continue;
    throw UsageError(fmt::format("two metrics are called {}", each.metric.name),
                     "name them: --metric 'NAME=REGEX'");
  }
  std::map<std::string, int> users;  // of a beginning, and of all words
  for (const MetricRequest& each : metrics) {
    for (const std::string& name : names_by_pattern(each)) ++users[name];
  }
  std::vector<std::string> notes;
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    if (metrics[i].is_named) continue;
    std::string chosen;
    for (const std::string& name : names_by_pattern(metrics[i])) {
      if (chosen.empty() && users[name] == 1 && !taken.contains(name)) chosen = name;
    }
    const bool is_numbered = chosen.empty();
    for (std::size_t number = i + 1; chosen.empty(); ++number) {
      const std::string numbered = fmt::format("metric-{}", number);
      if (!taken.contains(numbered)) chosen = numbered;
    }
    taken.insert(chosen);
    metrics[i].metric.name = chosen;
    if (is_numbered) notes.push_back(numbered_note(metrics[i]));
  }
  return notes;
}

std::optional<double> parse_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const std::optional<std::string> plain = without_separators(text);
  if (!plain) return std::nullopt;
  const auto number = whole_number<double>(*plain);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

double unit_of_last_digit(std::string_view text) {
  const std::size_t end = std::min(text.find_first_of("eE"), text.size());
  const std::size_t point = std::min(text.find('.'), end);
  int exponent = 0;
  std::string_view behind = text.substr(std::min(end + 1, text.size()));
  if (behind.starts_with('+')) behind.remove_prefix(1);
  std::from_chars(behind.data(), behind.data() + behind.size(), exponent);
  const auto decimals = point < end ? static_cast<int>(end - point) - 1 : 0;
  return std::pow(10.0, exponent - decimals);
}

OutputReader::OutputReader(const OutputRequest& request, Clock::time_point start)
    : request_(request), start_(start), found_(request.metrics.size()) {}

void OutputReader::read(bool is_error, std::string_view bytes, Clock::time_point arrived) {
  Stream& stream = streams_[is_error ? 1 : 0];
  stream.arrived = arrived;
  LineEnds ends(bytes);
  std::size_t begin = 0;
  for (std::size_t end = ends.next(begin); end < bytes.size(); end = ends.next(begin)) {
    const std::string_view line = bytes.substr(begin, end - begin);
    if (stream.line.empty()) {
      take(line.substr(0, kLongestLine), arrived);
    } else {
      stream.line.append(line.substr(0, kLongestLine - stream.line.size()));
      take(stream.line, arrived);
      stream.line.clear();
    }
    begin = end + 1;
  }
  stream.line.append(bytes.substr(begin, kLongestLine - stream.line.size()));
}

void OutputReader::finish() {
  for (Stream& stream : streams_) take(std::exchange(stream.line, {}), stream.arrived);
}

void OutputReader::note_match(int matches, Clock::time_point arrived) {
  if (!first_match_) first_match_ = arrived;
  repeats_ = repeats_ || matches > 1;
}

void OutputReader::take_numbers(const MetricRequest& request, Found& found, std::string_view line,
                                Clock::time_point arrived) try {
  if (!found.given_up.empty()) return;
  const auto use = [&](std::string_view shown_line, std::string_view text) {
    note_match(++found.matches, arrived);
    if (found.matches <= request_.skip) return;
    const std::optional<double> number = parse_number(text);
    if (!number) {
      found.not_a_number = fmt::format("'{}' is no number", shown(text));
    } else if (const std::string part = cut_number(shown_line, text); !part.empty()) {
      found.not_a_number = part;
    } else {
      found.numbers.push_back(*number);
      found.units.push_back(unit_of_last_digit(text));
      found.words = words_behind(shown_line, text);
    }
  };
  request.pattern.for_each(line, std::cref(use));  // a copy would take memory for each line
} catch (const SearchGivenUp& error) {
  found.given_up = error.what();
}

void OutputReader::take_step(std::string_view line, Clock::time_point arrived) try {
  if (!steps_given_up_.empty() || !request_.step->matches(line)) return;
  note_match(++steps_, arrived);
  if (steps_ <= request_.skip) return;
  if (!first_step_) first_step_ = arrived;
  if (arrived == *first_step_) ++first_steps_;
  last_step_ = arrived;
} catch (const SearchGivenUp& error) {
  steps_given_up_ = error.what();
}

void OutputReader::take(std::string_view line, Clock::time_point arrived) {
  if (line.empty()) return;
  for (std::size_t i = 0; i < found_.size(); ++i) {
    take_numbers(request_.metrics[i], found_[i], line, arrived);
  }
  if (request_.step) take_step(line, arrived);
  last_lines_[lines_++ % kLinesKept] = line;
}

std::vector<std::string> OutputReader::last_lines() const {
  std::vector<std::string> lines;
  for (std::size_t i = lines_ - std::min(lines_, kLinesKept); i < lines_; ++i) {
    lines.push_back(shown(last_lines_[i % kLinesKept]));
  }
  return lines;
}

MetricValues OutputReader::values_of(const MetricRequest& request, const Found& found) const {
  const std::vector<double>& numbers = found.numbers;
  if (!found.given_up.empty()) return {.missing = found.given_up};
  if (!found.not_a_number.empty()) return {.missing = found.not_a_number};
  if (numbers.empty()) {
    return {.missing = found.matches == 0 ? no_match(request)
                                          : fmt::format("{} in all, which --skip {} leaves out",
                                                        counted(found.matches, "match", "matches"),
                                                        request_.skip)};
  }
  MetricValues values{.samples = {},
                      .count = static_cast<std::int64_t>(numbers.size()),
                      .missing = {},
                      .words = found.words};
  const auto sum_of = [](const std::vector<double>& all) {
    return std::accumulate(all.begin(), all.end(), 0.0);
  };
  switch (request_.use) {
    case MetricUse::last:
      values.samples = {numbers.back()};
      values.count = 1;
      values.resolution = found.units.back() / numbers.back();
      break;
    case MetricUse::median:
      values.samples = {median(numbers)};
      values.resolution = median(found.units) / median(numbers);
      break;
    case MetricUse::sum:
      values.samples = {sum_of(numbers)};
      values.resolution = sum_of(found.units) / sum_of(numbers);
      break;
    case MetricUse::all:
      values.samples = numbers;
      values.count = 1;
      values.resolution = median(found.units) / median(numbers);
      break;
  }
  const auto odd = std::ranges::find_if_not(
      values.samples, [](double each) { return each >= kLeastNumber && each <= kGreatestNumber; });
  if (odd != values.samples.end()) {
    const std::string which =
        *odd > 0.0 ? fmt::format("from {:g} to {:g}", kLeastNumber, kGreatestNumber) : "above 0";
    return {.missing = fmt::format("{} of {:g}: only numbers {} have a ratio", request.metric.name,
                                   *odd, which)};
  }
  return values;
}

MetricValues OutputReader::step_values() const {
  if (!steps_given_up_.empty()) return {.missing = steps_given_up_};
  const int counted_steps = std::max(0, steps_ - request_.skip);
  if (counted_steps < 2) {
    return {.missing = fmt::format("{}, two are needed",
                                   counted(counted_steps, "line that counts", "lines that count"))};
  }
  const double total = seconds_from_to(*first_step_, last_step_);
  if (!(total > 0.0)) {
    return {.missing = "all lines came at once: the program buffers what it writes"};
  }
  // Among lines that came at once, from a buffer that was full, the last had just been written: the
  // time from there on is that of the lines behind it.
  const int steps = counted_steps - first_steps_;
  return {.samples = {total / steps}, .count = steps, .missing = {}};
}

std::map<std::string, MetricValues> OutputReader::values() const {
  std::map<std::string, MetricValues> values;
  for (std::size_t i = 0; i < found_.size(); ++i) {
    values[request_.metrics[i].metric.name] = values_of(request_.metrics[i], found_[i]);
  }
  if (request_.step) values[std::string(ProgramMetric::kStep)] = step_values();
  if (first_match_ && repeats_) {
    values[std::string(ProgramMetric::kStartUp)] = {
        .samples = {seconds_from_to(start_, *first_match_)}, .count = 1, .missing = {}};
  }
  return values;
}

struct LinePattern::Compiled {
  explicit Compiled(Code from)
      : code(std::move(from)),
        data(pcre2_match_data_create_from_pattern(code.get(), nullptr), pcre2_match_data_free),
        context(pcre2_match_context_create(nullptr), pcre2_match_context_free),
        stack(pcre2_jit_stack_create(kFirstStack, kMostStack, nullptr), pcre2_jit_stack_free) {
    if (!data || !context) throw std::bad_alloc();
    pcre2_set_match_limit(context.get(), kMostSteps);
    pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);  // faster where the processor allows it
    pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
    pcre2_pattern_info(code.get(), PCRE2_INFO_MINLENGTH, &shortest);
  }

  /// Finds where the first match from `start` on begins and ends, and its groups; null for none.
  /// Throws SearchGivenUp.
  const PCRE2_SIZE* find(std::string_view line, PCRE2_SIZE start) const {
    if (line.size() - start < shortest) return nullptr;
    const int found = pcre2_match(code.get(), reinterpret_cast<PCRE2_SPTR>(line.data()),
                                  line.size(), start, 0, data.get(), context.get());
    if (found < PCRE2_ERROR_NOMATCH) throw SearchGivenUp(message_of(found));
    return found > 0 ? pcre2_get_ovector_pointer(data.get()) : nullptr;
  }

  Code code;
  MatchData data;
  MatchContext context;
  JitStack stack;
  std::uint32_t shortest = 0;  ///< no match has less bytes
};

LinePattern::LinePattern(std::string text, const std::string& option)
    : text_(std::move(text)), compiled_(std::make_shared<Compiled>(compile(text_, option))) {}

int LinePattern::groups() const {
  std::uint32_t count = 0;
  pcre2_pattern_info(compiled_->code.get(), PCRE2_INFO_CAPTURECOUNT, &count);
  return static_cast<int>(count);
}

bool LinePattern::matches(std::string_view line) const {
  if (line.find(kEscape) != line.npos) return compiled_->find(without_escapes(line), 0) != nullptr;
  return compiled_->find(line, 0) != nullptr;
}

void LinePattern::for_each(std::string_view line, const Use& use) const {
  if (line.find(kEscape) != line.npos) return for_each(without_escapes(line), use);
  PCRE2_SIZE start = 0;
  while (start <= line.size()) {
    const PCRE2_SIZE* const found = compiled_->find(line, start);
    if (found == nullptr) return;
    const PCRE2_SIZE end = found[1];
    if (found[2] != PCRE2_UNSET) use(line, line.substr(found[2], found[3] - found[2]));
    start = end > start ? end : start + 1;
  }
}

}  // namespace linkgain
