#include "linkgain/process/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <limits>
#include <random>
#include <set>

#include "linkgain/base/environment.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/regular_file.hpp"
#include "linkgain/base/text.hpp"

namespace linkgain {
namespace {

/// Reads the environment that the process started with; a zero before and behind each "NAME=value"
/// of it.
std::string first_environment(pid_t id) {
  return '\0' + read_process_file(fmt::format("/proc/{}/environ", id)) + '\0';
}

constexpr int kFirstFree = STDERR_FILENO + 1;

/// Throws if a call of posix_spawn's failed: these return the error instead of setting errno.
void check(int error, const std::string& what) {
  if (error != 0) throw MachineError(fmt::format("cannot {}: {}", what, std::strerror(error)));
}

/// Moves the file to a descriptor that putting 0, 1 and 2 in place does not overwrite.
Descriptor moved_up(Descriptor descriptor) {
  if (descriptor.get() >= kFirstFree) return descriptor;
  Descriptor moved(fcntl(descriptor.get(), F_DUPFD_CLOEXEC, kFirstFree));
  if (!moved) check(errno, "make a pipe");
  return moved;
}

class FileActions {
 public:
  explicit FileActions(const StandardDescriptors& descriptors) {
    check(posix_spawn_file_actions_init(&actions_), "prepare a process");
    try {
      put(descriptors.input, STDIN_FILENO);
      put(descriptors.output, STDOUT_FILENO);
      put(descriptors.error, STDERR_FILENO);
      check(posix_spawn_file_actions_addclosefrom_np(&actions_, kFirstFree), "prepare a process");
    } catch (...) {
      posix_spawn_file_actions_destroy(&actions_);
      throw;
    }
  }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  void put(int from, int to) {
    check(posix_spawn_file_actions_adddup2(&actions_, from, to), "prepare a process");
  }

  posix_spawn_file_actions_t actions_{};
};

class Attributes {
 public:
  Attributes() {
    check(posix_spawnattr_init(&attributes_), "prepare a process");
    sigset_t all;
    sigset_t none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setflags(&attributes_,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  }
  ~Attributes() { posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;

  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

/// How often a silent program is checked to be still there.
constexpr int kLookMilliseconds = 200;
/// How often a program that is expected to end is checked to have done so.
constexpr int kReapMilliseconds = 2;
/// More than any program's line should have.
constexpr std::size_t kLongestLine = std::size_t{64} << 20;
constexpr Seconds kGraceOfDestructor{2.0};
constexpr Seconds kKillLimit{5.0};

/// The jobs whose trees have not ended, of this whole program: orphans come to it, not to a job.
struct LiveJobs {
  std::atomic<int> count = 0;
  std::atomic<std::uint64_t> since = 0;      ///< start of the first of them, as ProcessEntry::start
  std::mutex mutex;                          ///< of what follows
  std::map<pid_t, std::uint64_t> survivors;  ///< of ended jobs, which told of them: start by id
};
LiveJobs live_jobs;

bool outlived_its_job(const ProcessEntry& process) {
  const std::lock_guard lock(live_jobs.mutex);
  const auto survivor = live_jobs.survivors.find(process.id);
  return survivor != live_jobs.survivors.end() && survivor->second == process.start;
}

void count_job(pid_t leader) {
  if (live_jobs.count++ > 0) return;
  const std::optional<ProcessEntry> process = read_process(leader);
  live_jobs.since = process ? process->start : std::numeric_limits<std::uint64_t>::max();
}

std::string unique_marker() {
  std::random_device random;
  return fmt::format("{}={}-{:08x}{:08x}", kJobMarker, marker_of_program(), random(), random());
}

std::vector<std::string> assignments(const Environment& environment, const std::string& marker) {
  std::vector<std::string> result{marker};
  for (const auto& [name, value] : environment) {
    if (name != kJobMarker) result.push_back(fmt::format("{}={}", name, value));
  }
  return result;
}

Descriptor open_to_append(const std::filesystem::path& path) {
  return Descriptor(must_open_to_write(path, WriteMode::append));
}

Descriptor open_nothing() {
  Descriptor file(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!file) check(errno, "open /dev/null");
  return moved_up(std::move(file));
}

void make_nonblocking(const Descriptor& descriptor) {
  fcntl(descriptor.get(), F_SETFL, fcntl(descriptor.get(), F_GETFL) | O_NONBLOCK);
}

/// Sleeps for a moment, or until a signal was caught, which it throws.
void pause(int milliseconds, const SignalWatch* watch) {
  pollfd entry{watch != nullptr ? watch->descriptor() : -1, POLLIN, 0};
  poll(&entry, 1, milliseconds);
  if (watch != nullptr) watch->throw_if_caught();
}

ProcessEnd end_from(int wait_status) {
  if (WIFSIGNALED(wait_status)) return {.status = {}, .signal_number = WTERMSIG(wait_status)};
  return {.status = WEXITSTATUS(wait_status), .signal_number = {}};
}

}  // namespace

const std::string& marker_of_program() {
  static const std::string marker = fmt::format("{}-{:08x}", getpid(), std::random_device{}());
  return marker;
}

std::string read_process_file(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> chunk;
  while (file) {
    const ssize_t count = read(file.get(), chunk.data(), chunk.size());
    if (count <= 0) break;
    text.append(chunk.data(), static_cast<std::size_t>(count));
  }
  return text;
}

std::vector<ProcessEntry> list_processes() {
  std::vector<ProcessEntry> processes;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    const auto id = whole_number<pid_t>(entry->path().filename().native());
    if (!id) continue;
    if (const auto process = read_process(*id)) processes.push_back(*process);
  }
  return processes;
}

std::string variable_of(pid_t id, std::string_view name) {
  const std::string environment = first_environment(id);
  const std::string wanted = '\0' + std::string(name) + '=';
  const std::size_t at = environment.find(wanted);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + wanted.size();
  return environment.substr(begin, environment.find('\0', begin) - begin);
}

std::optional<std::vector<std::string>> open_files_of(pid_t id) {
  std::vector<std::string> files;
  std::error_code unseen;
  std::filesystem::directory_iterator each(fmt::format("/proc/{}/fd", id), unseen);
  for (const std::filesystem::directory_iterator end; !unseen && each != end;
       each.increment(unseen)) {
    std::error_code closed;
    files.push_back(std::filesystem::read_symlink(each->path(), closed).string());
  }
  if (unseen) return std::nullopt;
  return files;
}

bool ProcessTree::is_member(const ProcessEntry& process, std::optional<pid_t> leader,
                            std::optional<std::uint64_t> strays_since) const {
  if (process.id == leader) return true;
  if (process.parent == getpid()) {
    if (process.session == session_ && process.id != session_) return true;
    const bool is_stray =
        strays_since && process.start >= *strays_since && process.session != getsid(0);
    if (is_stray && !outlived_its_job(process)) return true;
  }
  const auto known = known_.find(process.id);
  if (known != known_.end() && known->second == process.start) return true;
  return first_environment(process.id).find('\0' + marker_) != std::string::npos;
}

std::vector<ProcessEntry> ProcessTree::find(std::optional<pid_t> leader,
                                            std::optional<std::uint64_t> strays_since) {
  const pid_t self = getpid();
  std::multimap<pid_t, ProcessEntry> children;
  std::vector<ProcessEntry> members;
  std::set<pid_t> taken{self};
  for (const ProcessEntry& process : list_processes()) {
    children.emplace(process.parent, process);
    if (process.id != self && is_member(process, leader, strays_since)) {
      members.push_back(process);
      taken.insert(process.id);
    }
  }
  for (std::size_t next = 0; next < members.size(); ++next) {
    const auto [first, last] = children.equal_range(members[next].id);
    for (auto child = first; child != last; ++child) {
      if (taken.insert(child->second.id).second) members.push_back(child->second);
    }
  }
  known_.clear();
  for (const ProcessEntry& process : members) known_[process.id] = process.start;
  std::erase_if(members, [self](const ProcessEntry& process) {
    return process.state == 'Z' && process.parent != self;
  });
  return members;
}

void ProcessTree::note_descendants(pid_t ancestor, std::uint64_t since) {
  std::erase_if(known_, [](const auto& each) {
    const auto process = read_process(each.first);
    return !process || process->start != each.second;
  });
  const pid_t session = getsid(ancestor);
  std::vector<pid_t> parents{ancestor};
  for (std::size_t next = 0; next < parents.size(); ++next) {
    for (const pid_t child : children_of(parents[next]).value_or(std::vector<pid_t>{})) {
      const auto process = read_process(child);
      if (!process) continue;
      if (next == 0 && (process->start < since || process->session == session)) continue;
      known_[child] = process->start;
      parents.push_back(child);
    }
  }
}

Pipe make_pipe() {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) check(errno, "make a pipe");
  Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  return {moved_up(std::move(reading)), moved_up(std::move(writing))};
}

pid_t spawn(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
            const StandardDescriptors& descriptors) {
  if (arguments.empty()) throw MachineError("cannot start a program without a name");
  const FileActions actions(descriptors);
  const Attributes attributes;
  pid_t id = -1;
  check(posix_spawnp(&id, arguments.front().c_str(), actions.get(), attributes.get(),
                     exec_array(arguments).data(), exec_array(environment).data()),
        fmt::format("start '{}'", arguments.front()));
  return id;
}

std::string how_it_ended(const ProcessEnd& end) {
  if (end.signal_number) return signal_name(*end.signal_number);
  if (end.status) return fmt::format("exit status {}", *end.status);
  return "exit status unknown";
}

Process::Process(const ProcessRequest& request) : marker_(unique_marker()), tree_(marker_) {
  Pipe error =
      request.error_file.empty() ? make_pipe() : Pipe{{}, open_to_append(request.error_file)};
  Pipe input = request.has_input ? make_pipe() : Pipe{open_nothing(), {}};
  Pipe output =
      request.output_file.empty() ? make_pipe() : Pipe{{}, open_to_append(request.output_file)};
  for (const Descriptor* own : {&input.writing, &output.reading, &error.reading}) {
    if (*own) make_nonblocking(*own);
  }
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  id_ = spawn(request.arguments, assignments(request.environment, marker_),
              {input.reading.get(), output.writing.get(), error.writing.get()});
  exited_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, id_, 0)));
  tree_.set_session(id_);
  input_ = std::move(input.writing);
  output_ = std::move(output.reading);
  error_ = std::move(error.reading);
  count_job(id_);
}

Process::~Process() {
  if (tree_ended_) return;
  try {
    end_tree(kGraceOfDestructor);
  } catch (...) {
    // Only memory or descriptors can have run out; the program itself must not stay in any case.
    if (unreaped()) kill(id_, SIGKILL);
    --live_jobs.count;
  }
}

bool Process::wait_ready(const Descriptor& descriptor, short events, const Deadline& deadline,
                         const SignalWatch* watch) const {
  std::array<pollfd, 2> entries{
      {{descriptor.get(), events, 0}, {watch != nullptr ? watch->descriptor() : -1, POLLIN, 0}}};
  poll(entries.data(), entries.size(), deadline.remaining_milliseconds(kLookMilliseconds));
  if (watch != nullptr) watch->throw_if_caught();
  return entries[0].revents != 0;
}

Transfer Process::write_line(std::string_view line, Seconds deadline, const SignalWatch* watch) {
  const Deadline end(deadline);
  const std::string text = std::string(line) + '\n';
  std::size_t written = 0;
  while (input_ && written < text.size()) {
    const ssize_t count = write(input_.get(), text.data() + written, text.size() - written);
    if (count >= 0) {
      written += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN) {
      if (end.passed()) return Transfer::timed_out;
      wait_ready(input_, POLLOUT, end, watch);
    } else if (errno != EINTR) {
      input_.reset();
    }
  }
  return input_ ? Transfer::done : Transfer::ended;
}

std::optional<std::string> Process::take_line() {
  const std::size_t newline = unread_.find('\n', searched_);
  if (newline == std::string::npos) {
    searched_ = unread_.size();
    return std::nullopt;
  }
  std::string line = unread_.substr(0, newline);
  unread_.erase(0, newline + 1);
  searched_ = 0;
  return line;
}

/// Reads what is there: `timed_out` when that is nothing, `ended` at the end of the stream.
Transfer Process::read_more() {
  std::array<char, 65536> chunk;
  const ssize_t count = output_ ? read(output_.get(), chunk.data(), chunk.size()) : 0;
  if (count > 0) {
    unread_.append(chunk.data(), static_cast<std::size_t>(count));
    return Transfer::done;
  }
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return Transfer::timed_out;
  output_.reset();
  return Transfer::ended;
}

ReadResult Process::read_line(Seconds deadline, const SignalWatch* watch) {
  const Deadline end(deadline);
  bool gone = false;  // then a look into the pipe decides, since the last words may still be there
  while (true) {
    if (auto line = take_line()) return {Transfer::done, std::move(*line)};
    if (unread_.size() > kLongestLine) return {Transfer::too_long, {}};
    const Transfer transfer = read_more();
    if (transfer == Transfer::done) continue;
    if (transfer == Transfer::ended || gone) {
      searched_ = 0;
      return {Transfer::ended, std::exchange(unread_, {})};
    }
    if (end.passed()) return {Transfer::timed_out, {}};
    const bool ready = wait_ready(output_, POLLIN, end, watch);
    gone = !ready && !running();
  }
}

PipeReader& Process::pipes() {
  if (!pipes_) pipes_.emplace(std::move(output_), std::move(error_));
  return *pipes_;
}

bool Process::read_rest(Output& output) {
  pipes().stop();
  std::optional<Output> rest = pipes().take();
  if (rest) output = *std::move(rest);
  return rest.has_value();
}

Activity Process::wait_for_activity(Output& output, Seconds deadline, const SignalWatch* watch) {
  const Deadline end(deadline);
  while (true) {
    // An old kernel does not wake this program at the end of that one, which is then looked for.
    const int longest = exited_ ? std::numeric_limits<int>::max() : kReapMilliseconds;
    std::array<pollfd, 3> entries{{{exited_.get(), POLLIN, 0},
                                   {pipes().descriptor(), POLLIN, 0},
                                   {watch != nullptr ? watch->descriptor() : -1, POLLIN, 0}}};
    poll(entries.data(), entries.size(), end.remaining_milliseconds(longest));
    if (watch != nullptr) watch->throw_if_caught();
    if (entries[0].revents != 0 || !exited_) {
      if (try_reap()) return Activity::exited;
    }
    if (std::optional<Output> next = pipes().take()) {
      output = *std::move(next);
      return Activity::wrote;
    }
    if (end.passed()) return Activity::timed_out;
  }
}

bool Process::try_reap() {
  if (end_) return true;
  int wait_status = 0;
  const pid_t reaped = waitpid(id_, &wait_status, WNOHANG);
  if (reaped == id_) end_ = end_from(wait_status);
  if (reaped < 0 && errno == ECHILD) end_ = ProcessEnd{};
  return end_.has_value();
}

std::optional<pid_t> Process::unreaped() const {
  return end_ ? std::nullopt : std::optional<pid_t>(id_);
}

std::optional<ProcessEnd> Process::wait(Seconds deadline, const SignalWatch* watch) {
  const Deadline end(deadline);
  while (!try_reap() && !end.passed()) {
    pause(end.remaining_milliseconds(kReapMilliseconds), watch);
  }
  return end_;
}

void Process::ask_to_end() {
  if (std::exchange(asked_to_end_, true)) return;
  input_.reset();
  remember_tree();
  if (!running()) return;
  kill(id_, SIGTERM);
  kill(id_, SIGCONT);
}

std::vector<pid_t> Process::end_tree(Seconds grace) {
  ask_to_end();
  wait(grace);
  std::vector<pid_t> survivors = kill_tree();
  if (!std::exchange(tree_ended_, true)) --live_jobs.count;
  return survivors;
}

/// Finds strays. They may be another job's while one lives, and that one then ends them.
std::vector<ProcessEntry> Process::find_tree() {
  const bool alone = !tree_ended_ && live_jobs.count == 1;
  return tree_.find(unreaped(), alone ? std::optional(live_jobs.since.load()) : std::nullopt);
}

std::vector<pid_t> Process::kill_tree() {
  const Deadline limit(kKillLimit);
  while (true) {
    try_reap();
    const std::vector<ProcessEntry> members = find_tree();
    if (members.empty()) return {};
    std::vector<pid_t> ids;
    for (const ProcessEntry& member : members) {
      ids.push_back(member.id);
      kill(member.id, SIGKILL);
      if (member.parent == getpid() && member.id != id_) waitpid(member.id, nullptr, WNOHANG);
    }
    if (limit.passed()) {
      const std::lock_guard lock(live_jobs.mutex);
      for (const ProcessEntry& member : members) live_jobs.survivors[member.id] = member.start;
      return ids;
    }
    pause(kReapMilliseconds, nullptr);
  }
}

}  // namespace linkgain
