#include "linkgain/cases/option_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <set>
#include <sstream>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/regular_file.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/cases/option_parsers.hpp"

namespace linkgain {
namespace {

constexpr const char* kAdvice = "see linkgain run --help: its options without -- are the file's";

/// CLI11 takes a list that does not end for one without its last character, and an option without
/// a value for 0. Lines are those that it sees.
void require_values(const std::string& text, const std::filesystem::path& file) {
  std::istringstream stream(text);
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    const int first = ++number;
    CLI::detail::trim(line);
    const std::size_t equals = line.find('=');
    const bool is_section = line.starts_with('[') && line.ends_with(']');
    const bool is_comment = line.starts_with('#') || line.starts_with(';');
    if (is_section || is_comment || equals == std::string::npos) continue;
    const auto refuse = [&](const char* what) {
      const std::string name = CLI::detail::trim_copy(line.substr(0, equals));
      throw UsageError(fmt::format("{}, line {}: {} has {}", file.string(), first, name, what),
                       kAdvice);
    };
    std::string value = line.substr(equals + 1);
    value = CLI::detail::trim_copy(value.substr(0, value.find('#')));
    if (value.empty()) refuse("no value");
    if (value.front() != '[') continue;
    for (std::string more; value.back() != ']'; value += CLI::detail::trim(more), ++number) {
      if (!std::getline(stream, more)) refuse("a list without ]");
    }
  }
}

std::vector<CLI::ConfigItem> items_of(const std::filesystem::path& file) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 20;
  const Reading<std::string> text = read_regular_file(file, kMostBytes);
  if (!text.measured()) {
    throw UsageError(fmt::format("profile '{}' cannot be read: {}", file.string(), text.reason()),
                     "give a file of options, or one of the profiles that run --list names");
  }
  require_values(text.value(), file);
  std::istringstream stream(text.value());
  return CLI::ConfigTOML().from_config(stream);
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

/// What the option is given, as by words of a command line.
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

}  // namespace

bool is_option_file(std::string_view value) {
  return value.find('/') != std::string_view::npos || value.ends_with(".toml");
}

std::string read_option_file(CLI::App& app, const std::filesystem::path& file,
                             std::string_view own) {
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
    if (item.name == own) {
      own_value = fmt::format("{}", fmt::join(item.inputs, ","));
      continue;
    }
    if (option->count() > 0) continue;  // by the command line
    try {
      set_option(*option, item);
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("{}: {}", file.string(), error.what()), kAdvice);
    } catch (const CLI::ParseError& error) {
      throw UsageError(
          fmt::format("{}: {}", file.string(), describe_conversion_error(error.what())), kAdvice);
    }
  }
  return own_value;
}

}  // namespace linkgain
