#pragma once

#include <cstdio>
#include <functional>
#include <string_view>

#include "linkgain/base/units.hpp"

namespace linkgain {

/// Opens /dev/null on those of descriptors 0 to 2 that are closed: else the next files to be opened
/// would get their numbers, and be written to as standard output or error. For reading only, so
/// that printing to a closed standard output stays an error. To be called first in main().
void open_closed_standard_descriptors();

/// Prints what a run does not depend on (progress, messages), at once. What cannot be written is
/// dropped, also where nobody reads it any more; and the rest of what cannot be written within
/// `patience`, as into a pipe that is full since its reader stopped. False where any of it was.
bool print_message(std::FILE* stream, std::string_view text, Seconds patience = {}) noexcept;

/// Prints results to standard output and flushes, however long its reader takes; what cannot be
/// written is for with_output_in_full() to tell.
void print_output(std::string_view text) noexcept;

/// Returns what `work` returns. Throws UsageError where not all that was printed to standard output
/// could be written: who reads it must not take a part for the whole, whatever `work` came to.
int with_output_in_full(const std::function<int()>& work);

}  // namespace linkgain
