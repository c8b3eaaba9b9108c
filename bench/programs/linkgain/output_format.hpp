#pragma once

#include <string_view>

namespace linkgain {

/// How `compare`, `check` and `fleet` print.
enum class OutputFormat { table, markdown, csv, json };

/// Of "table", "md", "csv" or "json". Throws UsageError.
OutputFormat parse_output_format(std::string_view name);

}  // namespace linkgain
