// Operations that fail while they are under way: LINKGAIN_NCCL_DOUBLE_FAILS_AFTER has the seconds
// from the first look at a communicator's state to the moment from which on it is ncclRemoteError.
// ncclCommAbort() takes half a second and at its end adds its name to the file
// LINKGAIN_NCCL_DOUBLE_RECORD, as a line. Built without NCCL's header.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>

extern "C" {

int ncclCommGetAsyncError(void*, int* state) {
  constexpr int kRemoteError = 6;
  using Clock = std::chrono::steady_clock;
  static const char* const text = std::getenv("LINKGAIN_NCCL_DOUBLE_FAILS_AFTER");
  static const Clock::time_point first = Clock::now();
  const std::chrono::duration<double> time = Clock::now() - first;
  *state = text != nullptr && time.count() >= std::atof(text) ? kRemoteError : 0;
  return 0;
}

int ncclCommAbort(void*) {
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const char* const record = std::getenv("LINKGAIN_NCCL_DOUBLE_RECORD");
  const int file = record != nullptr ? open(record, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
  if (file < 0) return 0;
  constexpr std::string_view kLine = "ncclCommAbort\n";
  [[maybe_unused]] const ssize_t written = write(file, kLine.data(), kLine.size());
  close(file);
  return 0;
}

}  // extern "C"
