#include "linkgain/jobs/job.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "linkgain/base/regular_file.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/hardware/mpi_version.hpp"
#include "linkgain/telemetry/error_counters.hpp"
#include "linkgain/telemetry/host.hpp"

namespace linkgain {
namespace {

constexpr std::string_view kMismatchAdvice =
    "linkgain and linkgain-bench must come from the same build";

/// Reads a status; those that are no error, or unknown here, count as a problem.
ExitCode exit_code_from(int status) {
  const bool is_known = status > static_cast<int>(ExitCode::success) &&
                        status <= static_cast<int>(ExitCode::unhealthy);
  return is_known ? static_cast<ExitCode>(status) : ExitCode::problem_found;
}

/// Decodes a line of the job `name`, which has `ranks`.
protocol::Reply decoded(const std::string& name, std::optional<int> ranks,
                        const protocol::Command& command, const std::string& line) {
  try {
    protocol::Reply reply = protocol::decode_reply(line);
    protocol::require_possible(reply, ranks);
    return reply;
  } catch (const Error& error) {
    throw JobLost(fmt::format("{}: rank 0's reply to '{}' is not understood: {}", name,
                              protocol::name_of(command), error.what()),
                  std::string(kMismatchAdvice));
  }
}

/// mpirun ends its ranks within this when it is asked to.
constexpr Seconds kGrace{3.0};
/// For a launcher that has closed its output to come to its end and give its exit status.
constexpr Seconds kStatusWait{2.0};
constexpr std::size_t kLastWords = 5;
/// What a rank says begins with.
constexpr std::string_view kRanksWords = "linkgain-bench: ";
constexpr std::uintmax_t kLongestTail = 16384;
constexpr std::string_view kFirstCommand = "hello";

std::uintmax_t size_or_zero(const std::filesystem::path& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

std::string command_name(const std::string& line) {
  try {
    return std::string(protocol::name_of(protocol::decode_command(line)));
  } catch (const Error&) {
    return line;
  }
}

std::string description_of(Transfer outcome, const std::string& variant, const std::string& command,
                           Seconds waited) {
  const std::string_view when = command == kFirstCommand ? ", before its first case" : "";
  switch (outcome) {
    case Transfer::timed_out:
      return fmt::format("{} of variant '{}' gave no answer to '{}' for {:.1f} s{}",
                         when.empty() ? "rank 0 of the job" : "the job", variant, command,
                         waited.value, when);
    case Transfer::too_long:
      return fmt::format("the job of variant '{}' answered '{}' with a line without end{}", variant,
                         command, when);
    case Transfer::done:
    case Transfer::ended:
      break;
  }
  return fmt::format("the job of variant '{}' ended instead of answering '{}'{}", variant, command,
                     when);
}

/// Quotes the first of so many lines that were no replies; empty if there are none.
std::string quoted_first(std::int64_t lines, const std::string& first) {
  if (lines == 0) return {};
  return fmt::format("; its standard output has {}, the first: '{}'",
                     counted(lines, "line that is no reply", "lines that are no replies"),
                     visible(first));
}

/// Quotes the last words of a job that did not end as it should; empty if it said nothing.
std::string quoted_words(const std::vector<std::string>& words) {
  return words.empty() ? "" : fmt::format("; its last words:\n  {}", fmt::join(words, "\n  "));
}

bool is_frame(const std::string& line) {
  return line.size() >= 20 && line.find_first_not_of('-') == std::string::npos;
}

/// Recognises what Slurm says of the ranks that it ended because of another one.
bool tells_of_ended_ranks(const std::string& line) {
  const bool slurms = line.starts_with("srun: ") || line.starts_with("slurmstepd-");
  return slurms && (line.find("Terminat") != std::string::npos ||
                    line.find("CANCELLED AT") != std::string::npos);
}

/// Recognises "[host:4711] [ 7] mpirun(+0x13b9)" and the lines around it, which the launcher prints
/// if it crashes itself.
bool is_trace(const std::string& line) {
  const std::size_t end = line.find("] ");
  if (!line.starts_with('[') || end == std::string::npos) return false;
  const std::string_view rest = std::string_view(line).substr(end + 2);
  return rest.starts_with("[ ") || rest.starts_with("[1") || rest.starts_with("*** ") ||
         rest.starts_with("Signal");
}

/// Returns these processes of a job by the rank that their launcher gave them.
std::multimap<int, ProcessEntry> by_rank(const std::vector<ProcessEntry>& processes,
                                         pid_t launcher) {
  std::multimap<int, ProcessEntry> ranks;
  for (const ProcessEntry& process : processes) {
    if (process.id == launcher) continue;  // may itself be a rank of something else
    for (const char* variable : {protocol::kRankVariable, "PMIX_RANK"}) {
      const std::string rank = variable_of(process.id, variable);
      if (rank.empty()) continue;
      ranks.emplace(std::atoi(rank.c_str()), process);
      break;
    }
  }
  return ranks;
}

/// Says whom the end of a job waited for, of these processes of it.
std::string who_was_left(const std::vector<ProcessEntry>& processes, pid_t launcher) {
  std::set<int> ranks;
  for (const auto& [rank, process] : by_rank(processes, launcher)) ranks.insert(rank);
  if (ranks.empty()) return "on this host only its launcher was left";
  if (ranks.size() == 1) return fmt::format("rank {} was left", *ranks.begin());
  return fmt::format("ranks {} were left", fmt::join(ranks, ", "));
}

/// Returns whether the rank has begun; true if it cannot be seen.
bool has_begun(pid_t rank) {
  const std::string begin = fmt::format("/memfd:{}", protocol::kRankMemory);
  const auto files = open_files_of(rank);
  return !files || std::ranges::any_of(
                       *files, [&](const std::string& file) { return file.starts_with(begin); });
}

/// Says whom the start of a job waited for, of these processes of it. A rank may have several, as
/// where a script starts it.
std::string who_has_not_come(const std::vector<ProcessEntry>& processes, pid_t launcher) {
  struct Rank {
    bool has_begun = false;
    bool is_stopped = false;
  };
  std::map<int, Rank> ranks;
  for (const auto& [number, process] : by_rank(processes, launcher)) {
    Rank& rank = ranks[number];
    const bool stopped = is_stopped(process);
    rank.is_stopped = rank.is_stopped || stopped;
    rank.has_begun = rank.has_begun || (!stopped && has_begun(process.id));
  }
  if (ranks.empty()) return "no rank is seen on this host";
  std::vector<std::string> missing;
  for (const auto& [number, rank] : ranks) {
    if (rank.has_begun) continue;
    missing.push_back(
        fmt::format("rank {} has not come: {}", number,
                    rank.is_stopped ? "a signal has stopped it" : "it has not begun"));
  }
  if (missing.empty()) return "all ranks that are seen on this host have begun";
  return fmt::format("{}", fmt::join(missing, "; "));
}

std::string read_tail(const std::filesystem::path& log, std::uintmax_t offset) {
  const std::uintmax_t size = size_or_zero(log);
  const std::uintmax_t start = std::max(offset, size - std::min(size, kLongestTail));
  std::ifstream file(log, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(start));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

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

template <typename ReplyType>
ReplyType Job::exchange(const protocol::Command& command, Seconds deadline) {
  protocol::Reply reply =
      decoded(do_name(), ranks_, command, do_exchange(protocol::encode(command), deadline));
  if (auto* expected = std::get_if<ReplyType>(&reply)) return std::move(*expected);
  if (const auto* error = std::get_if<protocol::ErrorReply>(&reply)) {
    const std::string_view known = advice_for_cuda_error(error->text);
    throw JobRefused(error->text, known.empty() ? error->advice : std::string(known),
                     exit_code_from(error->exit_code));
  }
  throw JobLost(fmt::format("{}: its reply to '{}' belongs to another command", do_name(),
                            protocol::name_of(command)),
                std::string(kMismatchAdvice));
}

protocol::HelloReply Job::hello(Seconds deadline) {
  auto reply = exchange<protocol::HelloReply>(protocol::Hello{}, deadline);
  if (reply.version != protocol::kVersion) {
    throw JobLost(fmt::format("{}: linkgain-bench has version {} of the protocol, linkgain {}",
                              do_name(), reply.version, protocol::kVersion),
                  std::string(kMismatchAdvice));
  }
  return reply;
}

protocol::OpenReply Job::open(const protocol::Open& command, Seconds deadline) {
  return exchange<protocol::OpenReply>(command, deadline);
}

protocol::RunReply Job::run(const protocol::Run& command, Seconds deadline) {
  return exchange<protocol::RunReply>(command, deadline);
}

Verification Job::verify(int handle, Seconds deadline) {
  return exchange<protocol::VerifyReply>(protocol::Verify{handle}, deadline).verification;
}

protocol::CountersReply Job::counters(Seconds deadline) {
  return exchange<protocol::CountersReply>(protocol::Counters{}, deadline);
}

std::vector<std::optional<HostCopyRates>> Job::host_copy(Seconds deadline) {
  return exchange<protocol::HostCopyReply>(protocol::HostCopy{}, deadline).ranks;
}

void Job::close(int handle, Seconds deadline) {
  exchange<protocol::DoneReply>(protocol::Close{handle}, deadline);
}

void Job::shut_down(Seconds deadline) {
  const Deadline end(deadline);
  ask_to_end(deadline);
  wait_for_end(end.remaining());
}

void Job::ask_to_end(Seconds deadline) {
  exchange<protocol::DoneReply>(protocol::Shutdown{}, deadline);
}

ProcessRequest process_request(const LaunchRequest& request, const std::filesystem::path& log) {
  require_launcher(request.launcher);
  return {.arguments = command(request),
          .environment = base_environment(current_environment(), request),
          .error_file = log};
}

std::vector<std::string> last_words(const std::filesystem::path& log, std::uintmax_t offset,
                                    std::size_t lines) {
  std::vector<std::string> own;
  std::vector<std::string> launchers;
  bool in_frame = false;
  for (std::string& line : split(read_tail(log, offset), '\n')) {
    if (is_frame(line)) {
      in_frame = !in_frame;
    } else if (line.find_first_not_of(" \t\r") != std::string::npos) {
      const bool launchers_own = in_frame || tells_of_ended_ranks(line) || is_trace(line);
      (launchers_own ? launchers : own).push_back(visible(line));
    }
  }
  std::vector<std::string>& words = own.empty() ? launchers : own;
  std::size_t surplus = words.size() - std::min(words.size(), lines);
  std::erase_if(words, [&](const std::string& line) {
    return surplus > 0 && !line.starts_with(kRanksWords) && surplus-- > 0;
  });
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(surplus));
  return words;
}

std::string LaunchedJob::do_name() const {
  return fmt::format("the job of variant '{}'", variant_);
}

LaunchedJob::LaunchedJob(std::string variant, const ProcessRequest& request,
                         const SignalWatch* watch, std::unique_ptr<TemporaryFolder> segments,
                         std::function<void()> tick, std::optional<int> ranks)
    : Job(ranks),
      variant_(std::move(variant)),
      launcher_(request.arguments.front()),
      log_(request.error_file),
      log_start_(size_or_zero(log_)),
      watch_(watch),
      segments_(std::move(segments)),
      tick_(std::move(tick)),
      process_(request) {
  secrets_.add(request.environment);
}

void LaunchedJob::give_up() noexcept {
  try {
    process_.ask_to_end();
  } catch (...) {
    // No memory or descriptor is left: its destructor does what can be done.
  }
}

std::string LaunchedJob::do_exchange(const std::string& line, Seconds deadline) {
  const Deadline end(deadline);
  const Transfer written = process_.write_line(line, end.remaining(), watch_);
  if (written != Transfer::done) lose(line, written, deadline);
  ReadResult reply = read_reply(end);
  if (reply.outcome != Transfer::done) lose(line, reply.outcome, deadline);
  if (!answered_) process_.remember_tree();
  answered_ = true;
  since_answer_.lap();
  return std::move(reply.line);
}

ReadResult LaunchedJob::read_reply(const Deadline& deadline) {
  constexpr Seconds kTick{1.0};
  constexpr std::size_t kMostQuotedBytes = 200;
  // Lines that wait are read after it too, but may come as fast as they are read.
  const Deadline last(Seconds{deadline.remaining().value + 0.5});
  Deadline tick(kTick);
  while (true) {
    ReadResult reply = process_.read_line(std::min(tick.remaining(), deadline.remaining()), watch_);
    if (reply.outcome == Transfer::done) {
      // Words of a launcher that ended without a newline stand before it.
      const std::size_t begin = reply.line.rfind(protocol::kReplyBegin);
      if (begin != std::string::npos) return {Transfer::done, reply.line.substr(begin)};
      if (foreign_lines_++ == 0) first_foreign_ = reply.line.substr(0, kMostQuotedBytes);
    } else if (reply.outcome != Transfer::timed_out || deadline.passed()) {
      return reply;
    }
    if (last.passed()) return {Transfer::timed_out, {}};
    if (watch_ != nullptr) watch_->throw_if_caught();
    if (tick.passed()) {
      tick_();
      tick = Deadline(kTick);
    }
  }
}

void LaunchedJob::lose(const std::string& line, Transfer outcome, Seconds deadline) {
  const std::string command = command_name(line);
  // Jobs start together: the first one's wait is part of the others'.
  const Seconds waited =
      command == kFirstCommand ? std::max(deadline, since_start_.lap()) : deadline;
  std::string text = description_of(outcome, variant_, command, waited);
  if (outcome == Transfer::ended) {
    const std::optional<ProcessEnd> end = process_.wait(kStatusWait);
    text += end ? fmt::format(" ({})", how_it_ended(*end)) : " (it closed its output)";
  } else if (outcome == Transfer::timed_out && command == kFirstCommand) {
    text += ": " + who_has_not_come(process_.remember_tree(), process_.id());
  }
  text += quoted_first(foreign_lines_, first_foreign_);
  const std::vector<pid_t> survivors = process_.end_tree(kGrace);
  if (outcome == Transfer::ended && command == kFirstCommand) text += what_is_wrong_with_launcher();
  text += quoted_words(last_words(log_, log_start_, kLastWords));
  if (!survivors.empty()) {
    text += fmt::format("\nprocesses that could not be ended: {}", fmt::join(survivors, ", "));
  }
  throw JobLost(secrets_.masked(std::move(text)),
                fmt::format("see {}", path_of_held(log_).string()));
}

std::string LaunchedJob::what_is_wrong_with_launcher() const {
  const auto program = find_program(launcher_, current_environment());
  if (!program || program->filename() != "mpirun" || watch_ == nullptr) return {};
  ProgramInquiry inquiry(program->string(), {"--version"}, current_environment());
  const Reading<MpiVersion> version = mpi_version_in(inquiry.output(Seconds{2.0}, *watch_));
  if (!version.measured()) return {};
  const std::string unfit = why_mpirun_is_unfit(version.value(), host_name());
  return unfit.empty() ? "" : fmt::format("; '{}' {}", program->string(), unfit);
}

void LaunchedJob::do_finish(Seconds deadline) {
  process_.close_input();
  const std::optional<ProcessEnd> end = process_.wait(deadline, watch_);
  std::string problem;
  if (!end) {
    problem =
        fmt::format("had not ended {:.1f} s later and was ended: {}", since_answer_.lap().value,
                    who_was_left(process_.remember_tree(), process_.id()));
  } else if (end->signal_number || end->status.value_or(0) != 0) {
    problem = fmt::format("its launcher ended with {}", how_it_ended(*end));
  }
  const std::vector<pid_t> survivors = process_.end_tree(kGrace);
  if (!survivors.empty()) {
    throw JobLost(fmt::format("processes of variant '{}' could not be ended: {}", variant_,
                              fmt::join(survivors, ", ")),
                  "they are blocked in a driver; the machine may need a restart");
  }
  if (problem.empty()) return;
  const std::string words = quoted_words(last_words(log_, log_start_, kLastWords));
  throw JobLost(secrets_.masked(fmt::format("{} answered its last command, but {}{}", do_name(),
                                            problem, words)),
                fmt::format("what it measured is complete; see {}", path_of_held(log_).string()));
}

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
  if (!process_) return Missing{reason_};
  ReadResult result = process_->read_line(deadline, &watch);
  if (result.outcome == Transfer::done) return std::move(result.line);
  if (result.outcome == Transfer::timed_out) {
    return Missing{silent_for(deadline)};
  }
  process_->wait(Seconds{1.0}, &watch);
  return Missing{last_words()};
}

Reading<std::string> ProgramInquiry::output(Seconds deadline, const SignalWatch& watch) {
  if (!process_) return Missing{reason_};
  const Deadline end(deadline);
  // Lines that wait are read after it too, but may come as fast as they are read.
  const Deadline last(Seconds{deadline.value + 0.5});
  std::string text;
  while (true) {
    const ReadResult result = process_->read_line(end.remaining(), &watch);
    if (result.outcome == Transfer::timed_out || last.passed()) {
      return Missing{silent_for(deadline)};
    }
    text += result.line;
    if (result.outcome == Transfer::ended) break;
    text += '\n';
  }
  if (!text.empty()) return text;
  process_->wait(Seconds{1.0}, &watch);
  return Missing{last_words()};
}

Reading<bool> ProgramInquiry::ended_well(Seconds deadline, const SignalWatch& watch) {
  if (!process_) return Missing{reason_};
  const auto end = process_->wait(deadline, &watch);
  if (!end) return Missing{};
  if (end->status == 0) return true;
  return Missing{last_words()};
}

std::string ProgramInquiry::last_words() {
  const auto end = process_->wait(Seconds{0.0});
  const std::string how = end ? how_it_ended(*end) : "no output";
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
    return Missing{error.what()};
  }
}

Reading<Software> software_in(const Reading<std::string>& line) {
  if (!line.measured()) return Missing{line.reason()};
  try {
    const protocol::Reply reply = protocol::decode_reply(line.value());
    if (const auto* hello = std::get_if<protocol::HelloReply>(&reply)) {
      return hello->machine.software;
    }
  } catch (const Error& error) {
    return Missing{fmt::format("linkgain-bench is of another version: {}", error.what())};
  }
  return Missing{"linkgain-bench answered something else"};
}

}  // namespace linkgain
