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

/// Text in the language of man(7), for a program or one of its subcommands: name, synopsis,
/// options, what the help ends with, and the pages of its subcommands or its program.
std::string manual_page(const CLI::App& command);

/// What the shell reads to complete the program's command lines: subcommands, options and files.
std::string bash_completion(const CLI::App& program, const WordsOf& words_of);
std::string zsh_completion(const CLI::App& program, const WordsOf& words_of);
std::string fish_completion(const CLI::App& program, const WordsOf& words_of);

/// Writes a page for the program and each subcommand, and the completions, where `share`'s
/// man/man1, bash-completion, zsh and fish look for them. Throws std::filesystem::filesystem_error
/// and std::system_error.
void write_manual(const CLI::App& program, const WordsOf& words_of,
                  const std::filesystem::path& share);

}  // namespace linkgain
