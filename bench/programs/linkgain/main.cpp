#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <system_error>

#include "linkgain/base/errors.hpp"
#include "subcommand.hpp"

namespace {

/// Throws UsageError where not all of the output could be written: who reads it must not take a
/// part for the whole, whatever the request itself came to.
int carry_out_in_full(const linkgain::Request& request) {
  try {
    const int status = request.carry_out();
    errno = EIO;  // for an earlier error that fflush() no longer knows
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      throw std::system_error(errno, std::generic_category());
    }
    return status;
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) == 0) throw;
    throw linkgain::UsageError("cannot write the output: " + error.code().message());
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return carry_out_in_full(linkgain::parse_command_line(argc, argv));
  } catch (const linkgain::Error& error) {
    fmt::print(stderr, "linkgain: {}\n", error.what());
    if (!error.advice().empty()) fmt::print(stderr, "          {}\n", error.advice());
    return static_cast<int>(error.exit_code());
  } catch (const std::exception& error) {
    fmt::print(stderr, "linkgain: {}\n", error.what());
    return static_cast<int>(linkgain::ExitCode::problem_found);
  }
}
