#include "linkgain/base/helper_process.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace linkgain {
namespace {

/// Closes all other descriptors: nothing of the program's may stay open because of this process:
/// locks, or pipes that others read to their end.
void close_all_but(const std::set<int>& kept) {
  int next = 0;
  for (const int each : kept) {
    for (; next < each; ++next) ::close(next);
    ++next;
  }
  ::closefrom(next);
}

[[noreturn]] void help(const char* name, const std::set<int>& kept,
                       const std::function<void()>& work) {
  try {
    ::prctl(PR_SET_NAME, name);
    close_all_but(kept);
    work();
  } catch (...) {
    // Nobody is there to be told of it.
  }
  ::_exit(0);
}

}  // namespace

HelperProcess::HelperProcess(const char* name, const std::set<int>& kept,
                             const std::function<void()>& work) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  id_ = ::fork();
  if (id_ == 0) help(name, kept, work);
  // Signals to all of the program's group are none to that process. Its session stays the
  // program's: what a job left behind is known by another one.
  if (id_ > 0) ::setpgid(id_, id_);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

HelperProcess::~HelperProcess() {
  // Where SIGCHLD is ignored, the id of one that has ended may be another process's.
  if (id_ < 0 || ::waitpid(id_, nullptr, WNOHANG) != 0) return;
  ::kill(id_, SIGKILL);
  wait();
}

void HelperProcess::wait() {
  while (id_ > 0 && ::waitpid(id_, nullptr, 0) < 0 && errno == EINTR) {
  }
  id_ = -1;
}

}  // namespace linkgain
