#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/regular_file.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/plan/site.hpp"
#include "linkgain/telemetry/host.hpp"

namespace linkgain {
namespace {

constexpr std::size_t kMostHostfileBytes = std::size_t{16} << 20;
constexpr std::string_view kBlanks = " \t\v\f";

constexpr std::array<std::string_view, 3> kSlots{"slots", "cpu", "count"};
constexpr std::array<std::string_view, 12> kMostSlots{
    "max_slots", "max-slots", "slots_max", "slots-max", "max_cpu",   "max-cpu",
    "cpu_max",   "cpu-max",   "max_count", "max-count", "count_max", "count-max"};
constexpr std::array<std::string_view, 4> kOthers{"username", "user-name", "user_name", "port"};

UsageError no_hostfile(const std::string& why) {
  return UsageError("--hostfile: " + why, "it names a host a line, as in: node1 slots=4");
}

struct Line {
  int number = 1;
  std::string text;
};

UsageError bad(const Line& line, const std::string& why) {
  return no_hostfile(fmt::format("line {} {}", line.number, why));
}

/// Returns the lines without their comments. One of several lines, or within a line, ends that
/// line.
std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines(1);
  const auto begin_line = [&](int number) { lines.push_back({number, {}}); };
  while (!text.empty()) {
    const int number = lines.back().number;
    if (text.starts_with("/*")) {
      const std::size_t end = std::min(text.find("*/", 2), text.size());
      const auto ends =
          std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '\n');
      begin_line(number + static_cast<int>(ends));
      text.remove_prefix(std::min(end + 2, text.size()));
    } else if (text.starts_with("//") || text.front() == '#') {
      const std::size_t end = text.find('\n');
      if (end == std::string_view::npos) {
        throw bad(lines.back(), "is a comment without a line end, which mpirun refuses");
      }
      text.remove_prefix(end);
    } else {
      if (text.front() == '\n') {
        begin_line(number + 1);
      } else {
        lines.back().text += text.front();
      }
      text.remove_prefix(1);
    }
  }
  return lines;
}

/// Refuses other characters, as mpirun does; of a carriage return it says what nobody can see.
void require_printable(const Line& line) {
  for (const char& c : line.text) {
    const bool is_control = std::iscntrl(static_cast<unsigned char>(c)) != 0;
    if (!is_control || kBlanks.find(c) != std::string_view::npos) continue;
    throw bad(line, c == '\r' ? "has a carriage return, as files of Windows do"
                              : "has the control character " + visible({&c, 1}));
  }
}

/// Returns the line's words, and each "=" as one.
std::vector<std::string> words_of(const Line& line) {
  std::vector<std::string> words;
  bool goes_on = false;
  for (const char c : line.text) {
    const bool is_blank = kBlanks.find(c) != std::string_view::npos;
    if (c == '=' || (!is_blank && !goes_on)) words.emplace_back();
    if (!is_blank) words.back() += c;
    goes_on = !is_blank && c != '=';
  }
  return words;
}

template <std::size_t count>
bool is_one_of(const std::array<std::string_view, count>& names, std::string_view word) {
  return std::ranges::find(names, word) != names.end();
}

bool is_key(std::string_view word) {
  return is_one_of(kSlots, word) || is_one_of(kMostSlots, word) || is_one_of(kOthers, word);
}

/// Reads the host in a word: "node1", "10.0.0.7", "fe80::7"; without the user of "ann@node1".
std::string host_in(const Line& line, const std::string& word) {
  const std::string name = word.substr(word.find('@') + 1);
  const auto only = [&](std::string_view others) {
    return std::ranges::all_of(name, [&](unsigned char c) {
      return std::isalnum(c) != 0 || others.find(static_cast<char>(c)) != std::string_view::npos;
    });
  };
  const bool is_address = std::ranges::count(name, ':') > 1 && only(":");
  if (name.empty() || is_key(word) || word == "rank" || !(is_address || only("_-."))) {
    throw bad(line, fmt::format("starts with '{}', no host", word));
  }
  const std::string own = host_name();
  const bool is_here = name == "localhost" || name == "127.0.0.1" || name == "::1" || name == own ||
                       name == own.substr(0, own.find('.'));
  return is_here ? "localhost" : name;
}

/// Returns the number that the words from `place` on state: "=", "4".
int number_after(const Line& line, const std::vector<std::string>& words, std::size_t place) {
  const std::string& key = words[place];
  if (place + 2 >= words.size() || words[place + 1] != "=") {
    throw bad(line, fmt::format("has '{}' without a number", key));
  }
  const std::string& text = words[place + 2];
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::result_out_of_range) {
    throw bad(line, "has more slots than linkgain can count");
  }
  if (error != std::errc{} || end != text.data() + text.size() || text.front() == '-') {
    throw bad(line, fmt::format("has '{}={}'", key, text));
  }
  return number;
}

/// A host as mpirun counts it.
struct Host {
  int lines = 0;
  std::int64_t slots = 0;
  int most_slots = 0;
  bool stated = false;  ///< the slots are, and may not be again
};

void state_slots(const Line& line, Host& host, const std::string& key, int slots) {
  if (host.stated) throw bad(line, fmt::format("has a second count for its host, '{}'", key));
  host.slots = slots;
  host.stated = true;
}

/// Reads what follows the name of the host.
void read_words(const Line& line, const std::vector<std::string>& words, Host& host) {
  bool has_most = false;
  for (std::size_t i = 1; i < words.size(); i += 3) {
    const std::string& key = words[i];
    if (is_one_of(kSlots, key)) {
      state_slots(line, host, key, number_after(line, words, i));
    } else if (is_one_of(kMostSlots, key)) {
      host.most_slots = number_after(line, words, i);
      has_most = true;
      if (host.most_slots < host.slots) {
        throw bad(line,
                  fmt::format("has '{}={}', below its {} slots", key, host.most_slots, host.slots));
      }
    } else if (key == "port") {
      number_after(line, words, i);
    } else if (!is_one_of(kOthers, key) || i + 2 >= words.size() || words[i + 1] != "=") {
      throw bad(line, fmt::format("has '{}', which says nothing to mpirun", key));
    }
  }
  if (has_most && !host.stated) state_slots(line, host, "max_slots", host.most_slots);
}

}  // namespace

Hosts parse_hostfile(std::string_view text) {
  std::map<std::string, Host> hosts;
  for (const Line& line : lines_of(text)) {
    require_printable(line);
    const std::vector<std::string> words = words_of(line);
    if (words.empty()) continue;
    Host& host = hosts[host_in(line, words.front())];
    ++host.slots;
    host.stated = ++host.lines > 1;  // its lines are its slots, as mpirun takes it
    read_words(line, words, host);
  }
  if (hosts.empty()) throw no_hostfile("there is no host in it");
  std::erase_if(hosts, [](const auto& host) { return host.second.slots == 0; });
  if (hosts.empty()) throw no_hostfile("no host in it has a slot");
  const auto of = [](const auto& host) { return host.second; };
  const bool known = std::ranges::all_of(hosts, &Host::stated, of) ||
                     std::ranges::any_of(
                         hosts, [](const Host& host) { return host.lines > 1; }, of);
  if (!known) return {static_cast<int>(hosts.size()), std::nullopt};
  std::int64_t slots = 0;
  for (const auto& [name, host] : hosts) slots += host.slots;
  if (slots > std::numeric_limits<int>::max()) {
    throw no_hostfile("it has more slots than linkgain can count");
  }
  return {static_cast<int>(hosts.size()), static_cast<int>(slots)};
}

Hosts read_hostfile(const std::filesystem::path& path) {
  const Reading<std::string> text = read_regular_file(path, kMostHostfileBytes);
  if (text.measured()) return parse_hostfile(text.value());
  throw no_hostfile(fmt::format("cannot read {}: {}", path.string(), text.reason()));
}

}  // namespace linkgain
