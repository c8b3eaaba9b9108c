#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace linkgain {

/// A process as /proc shows it at one moment.
struct ProcessEntry {
  pid_t id = 0;
  pid_t parent = 0;
  pid_t session = 0;
  char state = '?';         ///< proc(5)'s letter: 'R', 'S', 'T' stopped, 'Z' zombie, …
  std::uint64_t start = 0;  ///< clock ticks since boot; tells a process from a later one of its id
};

/// What a file of /proc holds; empty where it cannot be read, cut short where its process goes
/// meanwhile. (A stream throws in that case, even one that was not asked to.)
std::string read_process_file(const std::string& path);

/// Reads the text of /proc/<id>/stat; nothing where it is no such text.
std::optional<ProcessEntry> parse_process(std::string_view stat);

/// All processes this one can see.
std::vector<ProcessEntry> list_processes();

/// Whether the environment that the process started with holds exactly this "NAME=value". False for
/// zombies and for processes of other users.
bool has_variable(pid_t id, std::string_view assignment);

/// The processes of one job, wherever they moved to: the leader's descendants, orphans of its
/// session, whoever has the job's own variable in its environment, and whoever was once found to be
/// one of them. A process that left its group, session and parent is still found. A zombie has no
/// environment any more: it is found if it stayed in the session or was found while it lived.
class ProcessTree {
 public:
  /// `marker` is the "NAME=value" that only this job's environment holds.
  explicit ProcessTree(std::string marker) : marker_(std::move(marker)) {}

  /// The leader's session, once it is started; orphans are told apart by it.
  void set_session(pid_t session) { session_ = session; }

  /// Looks for the members and remembers them. `leader` is absent once it has been reaped (its id
  /// may then belong to somebody else). Zombies count only while they are this process's to reap.
  std::vector<ProcessEntry> find(std::optional<pid_t> leader);

 private:
  bool is_member(const ProcessEntry& process, std::optional<pid_t> leader) const;

  std::string marker_;
  pid_t session_ = -1;
  std::map<pid_t, std::uint64_t> known_;  ///< start by id
};

}  // namespace linkgain
