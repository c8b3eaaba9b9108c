// The other values that options take: a text of any of these forms is read.
#include <limits>
#include <string>
#include <vector>

#include "fuzz_target.hpp"
#include "linkgain/base/secrets.hpp"
#include "linkgain/cases/option_parsers.hpp"
#include "linkgain/exec/command_words.hpp"
#include "linkgain/fleet/run_list.hpp"

namespace linkgain {
namespace {

constexpr double kLargest = std::numeric_limits<double>::max();

void require_round_trip_of_case(std::string_view text) {
  const auto parse = [](std::string_view name) { return parse_case_name(name); };
  fuzz::require_round_trip(parse(text), parse, [](const Case& c) { return case_name(c); });
}

/// Expects the same words from those in quotes again.
void require_round_trip_of_words(std::string_view text) {
  const auto parse = [](std::string_view words) { return split_words(words, "--server"); };
  fuzz::require_round_trip(parse(text), parse, [](const std::vector<std::string>& words) {
    return filled_in("{args}", Placeholders{"p2p", 1, words});
  });
}

void read_secrets(std::string_view text) {
  const std::string masked = without_secrets(text);
  fuzz::require_same(masked, without_secrets(masked));
  filled_in(masked, Placeholders{"p2p", 3, {"--steps", "it's"}});
}

void read(std::string_view text) {
  read_secrets(text);
  int forms = 0;
  const auto read_as = [&forms](auto form) { forms += fuzz::reads(form) ? 1 : 0; };
  read_as([&] { require_round_trip_of_case(text); });
  read_as([&] { parse_gpus(text); });
  read_as([&] { parse_pair(text); });
  read_as([&] { parse_root(text); });
  read_as([&] { parse_share(text, "--share", 0.0, kLargest); });
  read_as([&] { parse_duration(text, "--time", Seconds{0.0}, Seconds{kLargest}); });
  read_as([&] { parse_tolerance(text, "--tolerance"); });
  read_as([&] { parse_label(std::string(text)); });
  read_as([&] { require_round_trip_of_words(text); });
  describe_conversion_error(std::string(text));
  if (forms == 0) throw UsageError("no value of any option");
}

}  // namespace
}  // namespace linkgain
