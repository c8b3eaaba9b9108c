#pragma once

#include <sys/types.h>

#include <functional>
#include <set>

namespace linkgain {

/// A process beside this program, in a process group of its own: no signal but SIGKILL ends it, and
/// it goes on while this program is stopped or after something ended that. It ends with this
/// object. There is none where the system has no room for another process. Neither copied nor
/// moved.
class HelperProcess {
 public:
  /// Starts a process that is called `name`, has the descriptors `kept` alone, and does `work`,
  /// which is a copy of this program's memory: nothing may wait there for another thread. What
  /// `work` throws ends it.
  HelperProcess(const char* name, const std::set<int>& kept, const std::function<void()>& work);
  ~HelperProcess();
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;
  /// Waits until its work is done.
  void wait();

 private:
  pid_t id_ = -1;
};

}  // namespace linkgain
