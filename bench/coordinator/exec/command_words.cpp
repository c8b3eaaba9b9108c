#include "linkgain/exec/command_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <span>
#include <utility>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/tables/escaping.hpp"

namespace linkgain {
namespace {

/// Takes one text apart.
class WordReader {
 public:
  WordReader(std::string_view text, const std::string& option) : text_(text), option_(option) {}

  std::vector<std::string> read() {
    while (next_ < text_.size()) read_character();
    if (begun_) words_.push_back(word_);
    return words_;
  }

 private:
  void read_character() {
    if (skip_line_end()) return;
    const char c = text_[next_++];
    if (c == ' ' || c == '\t' || c == '\n') {
      if (begun_) words_.push_back(std::exchange(word_, {}));
      begun_ = false;
      return;
    }
    begun_ = true;
    if (c == '\'' || c == '"') {
      read_quoted(c);
    } else if (c == '\\') {
      require_more();
      word_ += text_[next_++];
    } else {
      word_ += c;
    }
  }

  void read_quoted(char quote) {
    for (require_more(); text_[next_] != quote; require_more()) {
      if (quote == '"' && skip_line_end()) continue;
      const bool escape = quote == '"' && text_[next_] == '\\' && next_ + 1 < text_.size() &&
                          std::string_view("\"\\$`").find(text_[next_ + 1]) != std::string::npos;
      if (escape) ++next_;
      word_ += text_[next_++];
    }
    ++next_;
  }

  /// Takes a backslash at the end of a line, which goes on behind it.
  bool skip_line_end() {
    const bool is_there = text_.substr(next_).starts_with("\\\n");
    if (is_there) next_ += 2;
    return is_there;
  }

  void require_more() const {
    if (next_ < text_.size()) return;
    throw UsageError(
        fmt::format("{} '{}': a quote or backslash at the end stands for nothing", option_, text_));
  }

  std::string_view text_;
  const std::string& option_;
  std::size_t next_ = 0;
  std::string word_;
  bool begun_ = false;
  std::vector<std::string> words_;
};

/// Quotes words for the POSIX shell that runs them.
std::string quoted_words(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(shell_quoted(word));
  return fmt::format("{}", fmt::join(quoted, " "));
}

using Words = std::span<const std::string>;

/// Says whether the word is one of those with | between them.
bool is_among(std::string_view word, std::string_view words) {
  return std::ranges::count(split(words, '|'), word) > 0;
}

/// Says whether one of these words is there, or one with a value behind "=".
bool has_option(Words words, std::string_view options) {
  return std::ranges::any_of(words, [&](const std::string& word) {
    return is_among(std::string_view(word).substr(0, word.find('=')), options);
  });
}

/// Finds "-d", "-itd", "--detach" among the options of docker itself: behind the image stands
/// another program. What follows an option may be its value.
bool is_container_in_background(Words words) {
  static constexpr std::array<std::string_view, 5> kSubcommands{"run", "up", "exec", "container",
                                                                "compose"};
  bool is_behind_option = false;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool is_option = word.starts_with('-');
    // Letters that take no value may stand before it: -itd, and others behind it: -dp 80:80.
    const bool is_short = is_option && !word.starts_with("--");
    const std::size_t first = is_short ? word.find_first_not_of("-itPqT") : std::string::npos;
    const bool is_d = first != std::string::npos && word[first] == 'd';
    if (word == "--detach" || word == "--detach=true" || is_d) return true;
    const bool is_subcommand = std::ranges::find(kSubcommands, word) != kSubcommands.end();
    if (!is_option && !is_subcommand && !is_behind_option) return false;
    is_behind_option = is_option;
  }
  return false;
}

/// A program that waits for its work with one of these options only.
struct Submitter {
  std::string_view name;
  std::string_view waits;  ///< options, with | between them
  std::string_view advice;
};

constexpr std::array kSubmitters{
    Submitter{.name = "sbatch", .waits = "--wait|-W", .advice = "sbatch --wait, or srun"},
    Submitter{.name = "qsub", .waits = "-sync|block", .advice = "qsub -sync y, or -W block=true"},
    Submitter{.name = "bsub", .waits = "-K|-I|-Ip|-Is|-IS|-ISp|-ISs|-IX", .advice = "bsub -K"},
    Submitter{.name = "systemd-run",
              .waits = "--wait|--scope|--pty|--pipe|-P",
              .advice = "systemd-run --wait, or --scope"}};

/// A program that becomes another one or waits for it: its options, then the other's words.
struct Wrapper {
  std::string_view name;
  std::string_view letters;        ///< of short options whose value may be the next word
  std::string_view options;        ///< long ones of that kind, with | between them
  std::ptrdiff_t operands = 0;     ///< words before the program's
  bool takes_assignments = false;  ///< A=1 before the program
};

constexpr std::array kWrappers{
    Wrapper{"env", "uCSa", "--unset|--chdir|--split-string|--argv0", 0, true},
    Wrapper{"nice", "n", "--adjustment"},
    Wrapper{"ionice", "cn", "--class|--classdata"},
    Wrapper{"nohup", "", ""},
    Wrapper{"setsid", "", ""},
    Wrapper{"stdbuf", "ioe", "--input|--output|--error"},
    Wrapper{"sudo", "CDRTUghprtu", "--user|--group|--host|--prompt|--chdir|--role|--type", 0, true},
    Wrapper{"taskset", "", "", 1},
    Wrapper{"time", "fo", "--format|--output"},
    Wrapper{"timeout", "ks", "--kill-after|--signal", 1}};

/// Says whether the word is an option whose value is the next word: "-n", "-in", "--signal".
bool takes_next(const Wrapper& wrapper, std::string_view word) {
  if (word.starts_with("--")) return is_among(word, wrapper.options);
  return word.find_first_of(wrapper.letters, 1) == word.size() - 1;
}

/// Says whether the letter is among short options: -i and -iu are such of i.
bool has_letter(std::string_view word, char letter) {
  return word.starts_with('-') && !word.starts_with("--") && word.find(letter) != word.npos;
}

/// Keeps those variables that a list names, "A,B=2", with the values that it gives.
Environment listed(std::string_view list, const Environment& environment) {
  Environment kept;
  for (const std::string& each : split(list, ',')) {
    const std::size_t equals = each.find('=');
    const std::string name = each.substr(0, equals);
    if (equals != each.npos) {
      kept[name] = each.substr(equals + 1);
    } else if (environment.contains(name)) {
      kept[name] = environment.at(name);
    }
  }
  return kept;
}

/// Takes away what an option of env takes away; `next` may be its value.
void unset_by_env(const std::string& word, const std::string& next, Environment& environment) {
  constexpr std::string_view kUnset = "--unset=";
  if (word == "-" || word == "--ignore-environment" || has_letter(word, 'i')) environment.clear();
  if (word == "--unset" || (has_letter(word, 'u') && word.ends_with('u'))) environment.erase(next);
  if (word.starts_with(kUnset)) environment.erase(word.substr(kUnset.size()));
  if (word.starts_with("-u")) environment.erase(word.substr(2));
}

/// Keeps what sudo passes on: what --preserve-env lists, all of it with -E, and nothing without.
Environment kept_by_sudo(Words options, const Environment& environment) {
  constexpr std::string_view kListed = "--preserve-env=";
  for (const std::string& word : options) {
    if (word == "--preserve-env" || has_letter(word, 'E')) return environment;
    if (word.starts_with(kListed)) return listed(word.substr(kListed.size()), environment);
  }
  return {};
}

/// Leaves the words of the program that the wrapper runs, and keeps what it sets for it.
Words wrapped_words(const Wrapper& wrapper, Words words, Environment& environment) {
  words = words.subspan(1);
  const Words all = words;
  const auto drop = [&](std::ptrdiff_t count) {
    words = words.last(words.size() - std::min(words.size(), static_cast<std::size_t>(count)));
  };
  while (!words.empty() && words.front().starts_with('-')) {
    const bool is_last = words.front() == "--";
    if (wrapper.name == "env") {
      unset_by_env(words.front(), words.size() > 1 ? words[1] : "", environment);
    }
    drop(takes_next(wrapper, words.front()) ? 2 : 1);
    if (is_last) break;
  }
  if (wrapper.name == "sudo") {
    environment = kept_by_sudo(all.first(all.size() - words.size()), environment);
  }
  drop(wrapper.operands);
  while (wrapper.takes_assignments && !words.empty()) {
    const std::size_t equals = words.front().find('=');
    if (equals == std::string::npos) break;
    environment[words.front().substr(0, equals)] = words.front().substr(equals + 1);
    drop(1);
  }
  return words;
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// Leaves the words of the program that env, nice and the like run, and keeps what they set for it.
Words without_wrappers(Words words, Environment& environment) {
  while (!words.empty()) {
    const auto* const wrapper = std::ranges::find_if(
        kWrappers, [&](const auto& each) { return each.name == file_name(words.front()); });
    if (wrapper == kWrappers.end()) break;
    words = wrapped_words(*wrapper, words, environment);
  }
  return words;
}

bool is_of_containers(std::string_view program) {
  return is_among(file_name(program), "docker|podman|nerdctl");
}

/// Says whether "run", "exec" or "start" is what docker is to do; compose has its variables in a
/// file.
bool starts_in_container(const Words& words) {
  const auto found = std::ranges::find_if(
      words, [](const std::string& word) { return is_among(word, "run|exec|start|compose"); });
  return found != words.end() && *found != "compose";
}

/// Finds what the word and the next one name behind -e, -ite or --env: "NAME" or "NAME=value".
std::string_view passed_variable(std::string_view word, std::string_view next) {
  constexpr std::string_view kLong = "--env=";
  if (word == "--env") return next;
  if (word.starts_with(kLong)) return word.substr(kLong.size());
  if (!word.starts_with('-') || word.starts_with("--")) return {};
  const std::size_t letter = word.find_first_not_of("-itPqT");
  if (letter == word.npos || word[letter] != 'e') return {};
  return letter + 1 == word.size() ? next : word.substr(letter + 1);
}

/// Lists what -e and --env name: "NAME", "NAME=value".
std::vector<std::string> passed_variables(Words words) {
  std::vector<std::string> passed;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view next = i + 1 < words.size() ? std::string_view(words[i + 1]) : "";
    const std::string_view each = passed_variable(words[i], next);
    if (!each.empty()) passed.emplace_back(each);
  }
  return passed;
}

/// Finds what a word mounts, on the host and in the container: "-v/a:/b:ro", "/a:/b",
/// "type=bind,src=/a,dst=/b". Both are empty where it mounts nothing.
std::pair<std::string, std::string> mounted_folders(std::string_view word) {
  if (const std::size_t path = word.find('/'); word.starts_with("-v")) {
    word.remove_prefix(std::min(path, word.size()));
  } else if (word.starts_with("--")) {
    word.remove_prefix(std::min(word.find('=') + 1, word.size()));
  }
  std::pair<std::string, std::string> folders;
  for (const std::string& each : split(word, ',')) {
    const std::size_t equals = each.find('=');
    if (equals == each.npos) continue;
    const std::string_view name = std::string_view(each).substr(0, equals);
    if (is_among(name, "src|source")) folders.first = each.substr(equals + 1);
    if (is_among(name, "dst|destination|target")) folders.second = each.substr(equals + 1);
  }
  if (!folders.second.empty()) return folders;
  const std::vector<std::string> parts = split(word, ':');
  if (parts.size() < 2 || parts[0].find('=') != parts[0].npos || !parts[1].starts_with('/')) {
    return {};
  }
  return {parts[0], parts[1]};
}

/// Lists what a container of docker gets.
Environment passed_by_docker(Words words, const Environment& environment) {
  Environment inside;
  if (has_option(words, "--env-file|--env-host")) inside = environment;
  for (const std::string& passed : passed_variables(words)) {
    for (const auto& [name, value] : listed(passed, environment)) inside[name] = value;
  }
  return inside;
}

/// Lists what srun passes on: all but for --export=NONE or --export=A,B.
Environment passed_by_srun(Words words, const Environment& environment) {
  constexpr std::string_view kExport = "--export=";
  for (const std::string& word : words) {
    if (!word.starts_with(kExport)) continue;
    const std::string list = word.substr(kExport.size());
    Environment inside = listed(list, environment);
    if (is_among("ALL", fmt::format("{}", fmt::join(split(list, ','), "|")))) {
      inside.insert(environment.begin(), environment.end());
    }
    return inside;
  }
  return environment;
}

/// Lists what the words for the other host's shell set: ssh passes nothing on.
Environment assigned_behind_ssh(Words words) {
  Environment inside;
  for (const std::string& word : words) {
    for (const std::string& each : split(word, ' ')) {
      if (is_assignment(each))
        inside[each.substr(0, each.find('='))] = each.substr(each.find('=') + 1);
    }
  }
  return inside;
}

/// Says whether apptainer is to start without the variables, by an option before the image.
bool is_cleaned(Words words) {
  bool is_behind_option = false;
  for (const std::string& word : words.subspan(1)) {
    const bool is_option = word.starts_with('-');
    if (is_among(word, "-e|-C|--cleanenv|--containall")) return true;
    if (!is_option && !is_behind_option && !is_among(word, "exec|run|shell")) return false;
    is_behind_option = is_option;
  }
  return false;
}

/// Lists what the program gets that stands behind those of another host or container; nothing
/// where the words begin with none of these.
std::optional<Environment> passed_on(Words words, const Environment& environment) {
  const std::string_view program = file_name(words.front());
  if (is_of_containers(program) && starts_in_container(words)) {
    return passed_by_docker(words, environment);
  }
  if (program == "srun") return passed_by_srun(words, environment);
  const auto sends = [](const std::string& word) {
    return word.find("SendEnv") != word.npos || word.find("SetEnv") != word.npos;
  };
  if (program == "ssh" && std::ranges::none_of(words, sends)) {
    return assigned_behind_ssh(words);
  }
  if (is_among(program, "kubectl|oc") && has_option(words, "exec")) return Environment{};
  if (is_among(program, "apptainer|singularity") && is_cleaned(words)) return Environment{};
  return std::nullopt;
}

}  // namespace

Environment received(const std::vector<std::string>& command, Environment environment) {
  const Words words = without_wrappers(command, environment);
  const std::optional<Environment> inside =
      words.empty() ? std::nullopt : passed_on(words, environment);
  if (!inside) return environment;
  // The program may stand behind another env, in the container or on the other host.
  const auto env =
      std::ranges::find(words, "env", [](const auto& word) { return file_name(word); });
  return received(std::vector<std::string>(env, words.end()), *inside);
}

bool starts_container(const std::vector<std::string>& command) {
  Environment unused;
  const Words words = without_wrappers(command, unused);
  return !words.empty() && is_of_containers(words.front());
}

bool may_see(const std::vector<std::string>& command, const std::filesystem::path& file) {
  Environment unused;
  const Words words = without_wrappers(command, unused);
  if (std::ranges::find(words, "run") == words.end()) return true;
  return std::ranges::any_of(words, [&](const std::string& word) {
    const auto [source, target] = mounted_folders(word);
    if (target.empty()) return false;
    const std::filesystem::path inside = file.lexically_relative(target);
    if (inside.empty() || *inside.begin() == "..") return false;
    return !source.starts_with('/') ||
           std::filesystem::exists(std::filesystem::path(source) / inside);
  });
}

bool runs_in_container(const std::vector<std::string>& command) {
  Environment unused;
  const Words words = without_wrappers(command, unused);
  return !words.empty() && (is_of_containers(words.front()) ||
                            is_among(file_name(words.front()), "enroot|apptainer|singularity"));
}

bool starts_with_compose(const std::vector<std::string>& command) {
  Environment unused;
  const Words words = without_wrappers(command, unused);
  if (words.empty() || !passed_variables(words).empty()) return false;
  const std::string_view program = file_name(words.front());
  return program.ends_with("-compose") ||
         (is_of_containers(program) && words.size() > 1 && !starts_in_container(words) &&
          has_option(words, "compose"));
}

std::string program_behind(const std::vector<std::string>& command, Environment& environment) {
  constexpr std::string_view kExec = "exec ";
  const Words words = without_wrappers(command, environment);
  const bool is_elsewhere = std::ranges::any_of(
      Words(command).first(command.size() - words.size()), [](const std::string& word) {
        return file_name(word) == "sudo" || word.starts_with("--split-string") ||
               word.starts_with("--chdir") || has_letter(word, 'S') || has_letter(word, 'C');
      });
  if (words.empty() || is_elsewhere) return "";
  const bool is_shell = is_among(file_name(words.front()), "sh|bash|dash");
  if (!is_shell || words.size() < 3 || words[1] != "-c" || !words[2].starts_with(kExec)) {
    return words.front();
  }
  const std::string text = words[2].substr(kExec.size());
  const std::string name = text.substr(0, text.find(' '));
  const bool is_plain = std::ranges::all_of(name, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("-_./+").find(c) != std::string_view::npos;
  });
  return is_plain ? name : "";
}

std::string how_to_wait(const std::vector<std::string>& command) {
  Environment unused;
  const Words words = without_wrappers(command, unused);
  if (words.empty()) return "";
  if (is_of_containers(words.front()) && is_container_in_background(words)) {
    return fmt::format("{} without -d", file_name(words.front()));
  }
  const auto named_first = [&](const auto& each) { return each.name == file_name(words.front()); };
  const auto* const found = std::ranges::find_if(kSubmitters, named_first);
  const bool ends_at_once = found != kSubmitters.end() && !has_option(words, found->waits);
  return ends_at_once ? std::string(found->advice) : "";
}

std::vector<std::string> split_words(std::string_view text, const std::string& option) {
  return WordReader(text, option).read();
}

std::string filled_in(std::string_view text, const Placeholders& placeholders) {
  const std::string axis = placeholders.axis.empty() ? "" : "{" + placeholders.axis + "}";
  const std::array<std::pair<std::string_view, std::string>, 4> known{
      {{"{variant}", placeholders.variant},
       {"{round}", fmt::to_string(placeholders.round)},
       {kArguments, quoted_words(placeholders.arguments)},
       {axis, placeholders.value}}};
  std::string result;
  while (!text.empty()) {
    const bool is_variable = result.ends_with('$');
    const auto* const match = std::ranges::find_if(known, [&](const auto& each) {
      return !is_variable && !each.first.empty() && text.starts_with(each.first);
    });
    if (match == known.end()) {
      result += text.front();
      text.remove_prefix(1);
    } else {
      result += match->second;
      text.remove_prefix(match->first.size());
    }
  }
  return result;
}

std::vector<std::string> filled_in(const std::vector<std::string>& words,
                                   const Placeholders& placeholders) {
  std::vector<std::string> result;
  for (const std::string& word : words) {
    if (word == kArguments) {
      for (const std::string& each : placeholders.arguments) result.push_back(each);
    } else {
      result.push_back(filled_in(word, placeholders));
    }
  }
  return result;
}

bool has_placeholder(const std::vector<std::string>& words, std::string_view placeholder) {
  return std::ranges::any_of(words, [=](const std::string& word) {
    std::size_t place = word.find(placeholder);
    while (place != std::string::npos && place > 0 && word[place - 1] == '$') {
      place = word.find(placeholder, place + 1);
    }
    return place != std::string::npos;
  });
}

}  // namespace linkgain
