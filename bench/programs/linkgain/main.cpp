#include <fmt/format.h>

#include <exception>
#include <string>
#include <string_view>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/process_entry.hpp"
#include "linkgain/base/regular_file.hpp"
#include "linkgain/base/standard_streams.hpp"
#include "linkgain/base/text.hpp"
#include "subcommand.hpp"
#include "terminal.hpp"

namespace {

/// Tells of an error. Names of files and words of others are in it: on one line where they are what
/// is refused.
void tell(std::string_view begin, std::string_view text, linkgain::ExitCode code) {
  const std::string shown =
      code == linkgain::ExitCode::usage ? linkgain::visible(text) : linkgain::visible_lines(text);
  constexpr linkgain::Seconds kPatience{1.0};
  linkgain::print_message(stderr, linkgain::in_locale(fmt::format("{}{}\n", begin, shown)),
                          kPatience);
}

}  // namespace

int main(int argc, char** argv) {
  linkgain::open_closed_standard_descriptors();
  linkgain::make_file_size_limit_an_error();
  try {
    linkgain::require_stack();
    return linkgain::with_output_in_full(linkgain::parse_command_line(argc, argv).carry_out);
  } catch (const linkgain::Error& error) {
    tell("linkgain: ", error.what(), error.exit_code());
    if (!error.advice().empty()) tell("          ", error.advice(), error.exit_code());
    return static_cast<int>(error.exit_code());
  } catch (const std::exception& error) {
    // A folder that went away, or too little memory for what was to be read: no verdict.
    tell("linkgain: ", error.what(), linkgain::ExitCode::usage);
    return static_cast<int>(linkgain::ExitCode::usage);
  }
}
