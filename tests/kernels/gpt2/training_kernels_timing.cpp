// How near the kernels of a training step come to the device's memory bandwidth, at the sizes of
// GPT-2 124M with 4096 tokens: one line each. Run by hand; needs a GPU with 16 GiB.
//
// A launch takes a few microseconds to start and to end, in which a large copy moves some 10 MB.
// So there is, beside the bandwidth of a large copy, the time of one of as many bytes.

#include <cstdio>
#include <exception>
#include <map>

#include "kernel_timing.hpp"
#include "timed_kernels.hpp"

namespace linkgain::kernels {
namespace {

struct CopyTimes {
  double gb_per_s = 0.0;                            ///< of a large copy
  std::map<std::int64_t, double> microseconds_for;  ///< by the bytes that are read and written
};

void print_head() {
  std::printf("| %-28s | %-8s | %8s | %8s | %7s | %7s | %7s |\n", "kernel", "type", "MB", "us",
              "GB/s", "of copy", "copy us");
  std::printf(
      "| ---------------------------- | -------- | -------: | -------: | ------: | ------: | "
      "------: |\n");
}

void print(const TimedKernel& kernel, double microseconds, const CopyTimes& copies) {
  const double gb_per_s = static_cast<double>(kernel.bytes) / microseconds * 1e-3;
  std::printf("| %-28s | %-8s | %8.2f | %8.2f | %7.0f | %5.1f %% | %7.2f |\n", kernel.name.c_str(),
              kernel.type == ElementType::float32 ? "float32" : "bfloat16",
              static_cast<double>(kernel.bytes) * 1e-6, microseconds, gb_per_s,
              100.0 * gb_per_s / copies.gb_per_s, copies.microseconds_for.at(kernel.bytes));
  std::fflush(stdout);
}

double microseconds(const KernelTimer& timer, const TimedKernel& kernel) {
  return timer.microseconds(timer.prepare(kernel));
}

void run() {
  const KernelTimer timer;
  CopyTimes copies;
  print_head();
  for (const TimedKernel& kernel : copy_kernels()) {
    const double time = microseconds(timer, kernel);
    copies.gb_per_s = std::max(copies.gb_per_s, static_cast<double>(kernel.bytes) / time * 1e-3);
    copies.microseconds_for.emplace(kernel.bytes, time);  // the first is the driver's
    print(kernel, time, copies);
  }
  for (const ElementType type : {ElementType::float32, ElementType::bfloat16}) {
    for (const TimedKernel& kernel : training_kernels(type)) {
      if (!copies.microseconds_for.contains(kernel.bytes)) {
        copies.microseconds_for.emplace(kernel.bytes, microseconds(timer, copy_of(kernel.bytes)));
      }
      print(kernel, microseconds(timer, kernel), copies);
    }
  }
}

}  // namespace
}  // namespace linkgain::kernels

int main() {
  try {
    linkgain::kernels::run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
