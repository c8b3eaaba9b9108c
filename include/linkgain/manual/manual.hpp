#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

/// Pages of the manual and completions for shells, made of what a program declares to CLI11.
namespace linkgain {

/// The words that an option's value can be, if they are few enough to be named; else empty.
using WordsOf = std::function<std::vector<std::string>(const CLI::Option& option)>;

/// Writes a page for the program and each subcommand, and what shells read to complete its command
/// lines (subcommands, options, files and words), where `share`'s man/man1, bash-completion, zsh
/// and fish look for them. A page, in the language of man(7), has name, synopsis, options, what the
/// help ends with, and the names of its subcommands' pages or its program's. Throws UsageError
/// before the first is written if a file is there that is no such page or completion, and
/// std::filesystem::filesystem_error.
void write_manual(const CLI::App& program, const WordsOf& words_of,
                  const std::filesystem::path& share);

}  // namespace linkgain
