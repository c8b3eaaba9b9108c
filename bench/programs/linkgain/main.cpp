#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <system_error>
#include <variant>

#include "baseline_command.hpp"
#include "check_command.hpp"
#include "cli.hpp"
#include "compare_command.hpp"
#include "doctor_command.hpp"
#include "fleet_command.hpp"
#include "linkgain/base/errors.hpp"
#include "report_command.hpp"
#include "run_command.hpp"
#include "topo_command.hpp"

namespace {

int carry_out(const linkgain::Request& request) {
  if (const auto* run = std::get_if<linkgain::RunOptions>(&request)) {
    return linkgain::run_command(*run);
  }
  if (const auto* topo = std::get_if<linkgain::TopoOptions>(&request)) {
    return linkgain::topo_command(*topo);
  }
  if (const auto* doctor = std::get_if<linkgain::DoctorOptions>(&request)) {
    return linkgain::doctor_command(*doctor);
  }
  if (const auto* report = std::get_if<linkgain::ReportOptions>(&request)) {
    return linkgain::report_command(*report);
  }
  if (const auto* baseline = std::get_if<linkgain::BaselineOptions>(&request)) {
    return linkgain::baseline_command(*baseline);
  }
  if (const auto* check = std::get_if<linkgain::CheckOptions>(&request)) {
    return linkgain::check_command(*check);
  }
  if (const auto* compare = std::get_if<linkgain::CompareCommandOptions>(&request)) {
    return linkgain::compare_command(*compare);
  }
  if (const auto* fleet = std::get_if<linkgain::FleetCommandOptions>(&request)) {
    return linkgain::fleet_command(*fleet);
  }
  fmt::print("{}", std::get<linkgain::TextRequest>(request).text);
  return 0;
}

/// Throws UsageError where not all of the output could be written: who reads it must not take a
/// part for the whole, whatever the request itself came to.
int carry_out_in_full(const linkgain::Request& request) {
  try {
    const int status = carry_out(request);
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
