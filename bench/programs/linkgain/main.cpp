#include <fmt/format.h>

#include <exception>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/standard_streams.hpp"
#include "subcommand.hpp"

int main(int argc, char** argv) {
  linkgain::open_closed_standard_descriptors();
  try {
    return linkgain::with_output_in_full(linkgain::parse_command_line(argc, argv).carry_out);
  } catch (const linkgain::Error& error) {
    linkgain::print_message(stderr, fmt::format("linkgain: {}\n", error.what()));
    if (!error.advice().empty()) {
      linkgain::print_message(stderr, fmt::format("          {}\n", error.advice()));
    }
    return static_cast<int>(error.exit_code());
  } catch (const std::exception& error) {
    // A folder that went away, or too little memory for what was to be read: no verdict.
    linkgain::print_message(stderr, fmt::format("linkgain: {}\n", error.what()));
    return static_cast<int>(linkgain::ExitCode::usage);
  }
}
