#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

/// Files of `--prometheus`, for node_exporter's textfile collector.
namespace linkgain {

/// Throws UsageError where node_exporter would not read the file, for its name, or would refuse its
/// series because another file of that folder has them: those of a command begin with `metrics`,
/// as in "linkgain_doctor_". Nothing where there is no file.
void require_textfile(const std::optional<std::filesystem::path>& file, std::string_view metrics);

/// Writes it by way of a temporary file, so that all may read it whatever the umask is:
/// node_exporter is another user. Throws UsageError where it cannot.
void write_textfile(const std::filesystem::path& file, std::string_view text);

}  // namespace linkgain
