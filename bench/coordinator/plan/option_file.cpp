#include "linkgain/plan/option_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/environment.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/regular_file.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/cases/option_parsers.hpp"

namespace linkgain {
namespace {

constexpr const char* kAdvice = "see linkgain run --help: its options without -- are the file's";

/// Returns where a character first stands outside quotes, as CLI11 has them; npos if it does not.
std::size_t find_unquoted(std::string_view text, char wanted) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == wanted) return i;
    if (text[i] != '"' && text[i] != '\'') continue;
    std::size_t end = text.find(text[i], i + 1);
    while (end != std::string_view::npos && text[end - 1] == '\\') {
      end = text.find(text[i], end + 1);
    }
    if (end != std::string_view::npos) i = end;
  }
  return std::string_view::npos;
}

/// Reads the next line without its comment.
bool next_line(std::istream& stream, std::string& line) {
  if (!std::getline(stream, line)) return false;
  line = CLI::detail::trim_copy(line.substr(0, find_unquoted(line, '#')));
  if (line.starts_with(';')) line.clear();
  return true;
}

/// Returns the file's text without comments and with a line for each list. CLI11 finds comments in
/// quotes and none in lists, takes a list that does not end for one without its last character, and
/// an option without a value for 0.
std::string plain_text(const std::string& text, const std::filesystem::path& file) {
  std::istringstream stream(text);
  std::string plain;
  int number = 0;
  for (std::string line; next_line(stream, line); plain += line + "\n") {
    const int first = ++number;
    const std::size_t equals = line.find('=');
    const bool is_section = line.starts_with('[') && line.ends_with(']');
    if (is_section || equals == std::string::npos) continue;
    const std::string name = CLI::detail::trim_copy(line.substr(0, equals));
    const auto refuse = [&](const char* what) {
      throw UsageError(fmt::format("{}, line {}: {} has {}", file.string(), first, name, what),
                       kAdvice);
    };
    std::string value = CLI::detail::trim_copy(line.substr(equals + 1));
    if (value.empty()) refuse("no value");
    if (value.front() != '[') continue;
    std::size_t end = find_unquoted(value, ']');
    for (; end == std::string::npos; value += line, ++number) {
      if (!next_line(stream, line)) refuse("a list without ]");
      end = find_unquoted(line, ']');
      if (end != std::string::npos) end += value.size();
    }
    if (end + 1 != value.size()) refuse("more than its list");
    line = name + " = " + value;
  }
  return plain;
}

std::vector<CLI::ConfigItem> items_of(const std::filesystem::path& file) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 20;
  const Reading<std::string> text = read_regular_file(file, kMostBytes);
  if (!text.measured()) {
    throw UsageError(fmt::format("profile '{}' cannot be read: {}", file.string(), text.reason()),
                     "give a file of options, or one of the profiles that run --list names");
  }
  // CLI11 takes lines that begin with one for comments.
  if (text.value().find('\0') != std::string::npos) {
    throw UsageError(fmt::format("{}: it has a NUL byte, so it is no text", file.string()),
                     kAdvice);
  }
  std::istringstream stream(plain_text(text.value(), file));
  CLI::ConfigTOML toml;
  toml.comment('\0');
  return toml.from_config(stream);
}

UsageError unknown_key(const CLI::App& app, const CLI::ConfigItem& item,
                       const std::filesystem::path& file) {
  if (!item.parents.empty()) {
    return UsageError(fmt::format("{}: [{}] is no option, a profile has no sections", file.string(),
                                  fmt::join(item.parents, ".")),
                      kAdvice);
  }
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (option == app.get_help_ptr()) continue;
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  }
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  return UsageError(fmt::format("{}: unknown option '{}'{}", file.string(), item.name,
                                did_you_mean(item.name, candidates)),
                    kAdvice);
}

/// Gives the option its value, as words of a command line would.
void set_option(CLI::Option& option, const CLI::ConfigItem& item) {
  if (option.get_expected_max() == 0) {
    const std::string value = fmt::format("{}", fmt::join(item.inputs, ","));
    if (value == "false") return;
    if (value != "true") {
      throw UsageError(fmt::format("{} is true or false, not '{}'", item.name, value));
    }
    option.add_result(value);
  } else if (option.get_items_expected_max() > 1) {
    for (const std::string& input : item.inputs) option.add_result(input);
  } else {
    option.add_result(fmt::format("{}", fmt::join(item.inputs, ",")));
  }
  option.run_callback();
}

[[noreturn]] void refuse(std::string_view what) {
  throw UsageError(fmt::format("{} is for the command line alone", what),
                   "a profile's file says what is measured; give what names programs, libraries "
                   "and files as options");
}

/// Returns whether a variable chooses transports, algorithms or precisions, by what its name begins
/// with.
bool chooses_how(std::string_view variable) {
  static constexpr std::array<std::string_view, 10> kBegins{
      "NCCL_",         "CUDA_",        "CUBLAS_",      "NVIDIA_TF32_OVERRIDE", "OMPI_MCA_btl",
      "OMPI_MCA_coll", "OMPI_MCA_mtl", "OMPI_MCA_pml", "UCX_NET_DEVICES",      "UCX_TLS"};
  return std::ranges::any_of(kBegins,
                             [&](std::string_view begin) { return variable.starts_with(begin); });
}

/// Returns whether such a variable names a file to be read, opened as a library or written.
bool names_file(std::string_view variable) {
  static constexpr std::array<std::string_view, 7> kParts{"PATH",      "FILE", "PLUGIN",   "LIB",
                                                          "DIRECTORY", "DUMP", "INJECTION"};
  const std::string capitals = upper(variable);
  return capitals.ends_with("DIR") || std::ranges::any_of(kParts, [&](std::string_view part) {
           return capitals.find(part) != std::string::npos;
         });
}

void require_harmless_variant(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return;
  const std::string_view name = text.substr(0, colon);
  std::string key;
  for (const std::string& part : split(text.substr(colon + 1), ',')) {
    // A part without "=" goes on with the value before it.
    if (is_assignment(part)) key = part.substr(0, part.find('='));
    const bool is_path = part.find('/') != std::string::npos;
    const bool harmless = key.empty() || (chooses_how(key) && !names_file(key));
    if (is_path || !harmless) refuse(fmt::format("{}= of variant '{}'", key, name));
  }
}

}  // namespace

bool is_option_file(std::string_view value) {
  return value.find('/') != std::string_view::npos || value.ends_with(".toml");
}

std::string read_option_file(
    CLI::App& app, const std::filesystem::path& file, std::string_view own,
    const std::function<void(std::string_view name, std::string_view value)>& require) {
  std::string own_value;
  std::set<std::string> seen;
  for (const CLI::ConfigItem& item : items_of(file)) {
    CLI::Option* const option = app.get_option_no_throw("--" + item.name);
    if (!item.parents.empty() || option == nullptr || option == app.get_help_ptr()) {
      throw unknown_key(app, item, file);
    }
    if (!seen.insert(item.name).second) {
      throw UsageError(fmt::format("{}: {} is given twice", file.string(), item.name), kAdvice);
    }
    if (item.inputs.empty() || std::ranges::find(item.inputs, "") != item.inputs.end()) {
      throw UsageError(fmt::format("{}: {} has an empty value", file.string(), item.name), kAdvice);
    }
    if (item.name == own) {
      own_value = fmt::format("{}", fmt::join(item.inputs, ","));
      continue;
    }
    try {
      for (const std::string& value : item.inputs) require(item.name, value);
      if (option->count() > 0) continue;  // by the command line
      set_option(*option, item);
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("{}: {}", file.string(), error.what()),
                       error.advice().empty() ? kAdvice : error.advice());
    } catch (const CLI::ParseError& error) {
      throw UsageError(
          fmt::format("{}: {}", file.string(), describe_conversion_error(error.what())), kAdvice);
    }
  }
  return own_value;
}

void require_harmless(std::string_view name, std::string_view value) {
  const bool is_program = name == "launcher" && value.find('/') != std::string_view::npos;
  if (name == "out" || name == "resume" || is_program) refuse(name);
  if (name == "variant") require_harmless_variant(value);
}

}  // namespace linkgain
