#include "linkgain/jobs/program_inquiry.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/temporary_folder.hpp"
#include "linkgain/jobs/launcher.hpp"
#include "linkgain/protocol/protocol.hpp"

namespace linkgain {
namespace {

/// Makes an empty file of its own in the folder for temporary files.
std::filesystem::path make_error_file() {
  std::string name = (folder_for_temporary_files() / "linkgain-XXXXXX").string();
  const int file = ::mkstemp(name.data());
  if (file < 0) throw UsageError("cannot write into " + std::string(name), "set TMPDIR");
  ::close(file);
  return name;
}

/// Returns the program's own error, as the worker words it with its advice on the line below; else
/// the last line that says something, such as the dynamic linker's.
std::string error_in(const std::filesystem::path& path, const std::string& program) {
  const std::string own_start = program + ": ";
  std::ifstream file(path);
  std::string last;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(own_start)) return line.substr(own_start.size());
    if (!line.empty()) last = line;
  }
  return last;
}

}  // namespace

ProgramInquiry::ProgramInquiry(const Reading<std::string>& program,
                               std::vector<std::string> arguments, const Environment& environment)
    : name_(std::filesystem::path(program.value_or("")).filename()), reason_(program.reason()) {
  if (!program.measured()) return;
  try {
    error_file_ = make_error_file();
    arguments.insert(arguments.begin(), program.value());
    process_ =
        std::make_unique<Process>(ProcessRequest{std::move(arguments), environment, error_file_});
  } catch (const std::exception& error) {
    reason_ = error.what();
  }
}

ProgramInquiry::~ProgramInquiry() {
  process_.reset();
  std::error_code error;
  std::filesystem::remove(error_file_, error);
}

Reading<std::string> ProgramInquiry::line(Seconds deadline, const SignalWatch& watch) {
  if (!process_) return Reading<std::string>::missing(reason_);
  ReadResult result = process_->read_line(deadline, &watch);
  if (result.outcome == Transfer::done) return std::move(result.line);
  if (result.outcome == Transfer::timed_out) {
    return Reading<std::string>::missing(silent_for(deadline));
  }
  process_->wait(Seconds{1.0}, &watch);
  return Reading<std::string>::missing(last_words());
}

Reading<std::string> ProgramInquiry::output(Seconds deadline, const SignalWatch& watch) {
  if (!process_) return Reading<std::string>::missing(reason_);
  const Deadline end(deadline);
  // Lines that wait are read after it too, but may come as fast as they are read.
  const Deadline last(Seconds{deadline.value + 0.5});
  std::string text;
  while (true) {
    const ReadResult result = process_->read_line(end.remaining(), &watch);
    if (result.outcome == Transfer::timed_out || last.passed()) {
      return Reading<std::string>::missing(silent_for(deadline));
    }
    text += result.line;
    if (result.outcome == Transfer::ended) break;
    text += '\n';
  }
  if (!text.empty()) return text;
  process_->wait(Seconds{1.0}, &watch);
  return Reading<std::string>::missing(last_words());
}

Reading<bool> ProgramInquiry::ended_well(Seconds deadline, const SignalWatch& watch) {
  if (!process_) return Reading<bool>::missing(reason_);
  const auto end = process_->wait(deadline, &watch);
  if (!end) return Reading<bool>::missing({});
  if (end->status == 0) return true;
  return Reading<bool>::missing(last_words());
}

std::string ProgramInquiry::last_words() {
  const auto end = process_->wait(Seconds{0.0});
  const std::string how = end ? describe(*end) : "no output";
  const std::string words = error_in(error_file_, name_);
  if (words.empty()) return fmt::format("{}: {}", name_, how);
  return fmt::format("{} ({})", words, how);
}

std::string ProgramInquiry::silent_for(Seconds deadline) const {
  constexpr double kShown = 0.05;
  if (deadline.value < kShown) return name_ + " did not answer in time";  // others took it all
  return fmt::format("{} did not answer within {:.1f} s", name_, deadline.value);
}

Reading<std::string> worker_program() {
  try {
    return worker_path().string();
  } catch (const Error& error) {
    return Reading<std::string>::missing(error.what());
  }
}

Reading<Software> software_in(const Reading<std::string>& line) {
  if (!line.measured()) return Reading<Software>::missing(line.reason());
  try {
    const protocol::Reply reply = protocol::decode_reply(line.value());
    if (const auto* hello = std::get_if<protocol::HelloReply>(&reply)) {
      return hello->machine.software;
    }
  } catch (const Error& error) {
    return Reading<Software>::missing(
        fmt::format("linkgain-bench is of another version: {}", error.what()));
  }
  return Reading<Software>::missing("linkgain-bench answered something else");
}

}  // namespace linkgain
