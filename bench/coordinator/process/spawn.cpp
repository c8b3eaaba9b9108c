#include "spawn.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "linkgain/base/errors.hpp"

namespace linkgain {
namespace {

constexpr int kFirstFree = STDERR_FILENO + 1;

/// posix_spawn's functions return the error instead of setting errno.
void check(int error, const std::string& what) {
  if (error != 0) throw MachineError(fmt::format("cannot {}: {}", what, std::strerror(error)));
}

/// The same file on a descriptor that putting 0, 1 and 2 in place does not overwrite.
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

/// exec's array; it points into `texts`.
std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

}  // namespace

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
                     pointers(arguments).data(), pointers(environment).data()),
        fmt::format("start '{}'", arguments.front()));
  return id;
}

}  // namespace linkgain
