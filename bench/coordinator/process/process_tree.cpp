#include "linkgain/process/process_tree.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <filesystem>
#include <set>
#include <sstream>

#include "linkgain/process/descriptor.hpp"

namespace linkgain {
namespace {

std::optional<pid_t> parse_id(const std::string& name) {
  pid_t id = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return id;
}

}  // namespace

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

std::optional<ProcessEntry> parse_process(std::string_view stat) {
  // The second field is the program's name in parentheses and may itself hold any character.
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  ProcessEntry process;
  std::istringstream before{std::string(stat.substr(0, name_end))};
  std::istringstream after{std::string(stat.substr(name_end + 1))};
  before >> process.id;
  std::string skipped;
  after >> process.state >> process.parent >> skipped >> process.session;
  constexpr int kFieldsFromSessionToStart = 15;
  for (int field = 0; field < kFieldsFromSessionToStart; ++field) after >> skipped;
  after >> process.start;
  if (!before || !after) return std::nullopt;
  return process;
}

std::vector<ProcessEntry> list_processes() {
  std::vector<ProcessEntry> processes;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::optional<pid_t> id = parse_id(entry->path().filename());
    if (!id) continue;
    const auto process = parse_process(read_process_file(fmt::format("/proc/{}/stat", *id)));
    if (process) processes.push_back(*process);
  }
  return processes;
}

bool has_variable(pid_t id, std::string_view assignment) {
  const std::string environment =
      '\0' + read_process_file(fmt::format("/proc/{}/environ", id)) + '\0';
  return environment.find('\0' + std::string(assignment) + '\0') != std::string::npos;
}

bool ProcessTree::is_member(const ProcessEntry& process, std::optional<pid_t> leader) const {
  if (process.id == leader) return true;
  const bool is_orphan = process.parent == getpid() && process.id != process.session;
  if (is_orphan && process.session == session_) return true;
  const auto known = known_.find(process.id);
  if (known != known_.end() && known->second == process.start) return true;
  return has_variable(process.id, marker_);
}

std::vector<ProcessEntry> ProcessTree::find(std::optional<pid_t> leader) {
  const pid_t self = getpid();
  std::multimap<pid_t, ProcessEntry> children;
  std::vector<ProcessEntry> members;
  std::set<pid_t> taken{self};
  for (const ProcessEntry& process : list_processes()) {
    children.emplace(process.parent, process);
    if (process.id != self && is_member(process, leader)) {
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

}  // namespace linkgain
