#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace linkgain {

/// Reads from a line of an engine's log which all-reduce the engine chose: "vLLM: all-reduce by
/// CUSTOM, PYNCCL"; empty of every other line.
std::string engine_choice_in(std::string_view line);

/// Reads what engines say of it at both ends of logs, each once, in order. Files that cannot be
/// read say nothing.
std::vector<std::string> engine_choices_in(const std::vector<std::filesystem::path>& logs);

}  // namespace linkgain
