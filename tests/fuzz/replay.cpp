// Runs a fuzz target over its corpus and, for a while, over new inputs made of that: what libFuzzer
// does, without clang, and without looking at what an input reaches. Inputs run in a child process,
// so that whatever ends it (a sanitizer, an exception, a signal, an input that takes too long)
// leaves the input in memory that the parent has, too.
#include "replay.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iostream>
#include <iterator>
#include <new>
#include <optional>
#include <random>
#include <stdexcept>
#include <vector>

#include "fuzz_input.hpp"
#include "mutator.hpp"

namespace linkgain::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr int kUsage = 2;
/// Processor time that one input may take, how long it may wait, and memory that all of them may
/// take.
constexpr int kMostSeconds = 20;
constexpr unsigned kMostWait = 80;
constexpr long kMostKib = 2L << 20;
/// A failing input of up to so many bytes is printed, too.
constexpr std::size_t kMostPrinted = 2000;

struct Request {
  const Target* target = nullptr;
  std::vector<fs::path> inputs;
  double seconds = 0.0;
  std::uint64_t seed = 0;
};

/// What the child is at.
struct Progress {
  std::uint64_t inputs = 0;
  std::uint64_t read = 0;
  std::size_t size = 0;
  std::array<char, Mutator::kMostBytes> bytes{};
};

struct NamedInput {
  std::string name;
  std::string bytes;
};

double processor_seconds() {
  return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
}

/// Ends an input that takes too long by SIGPROF or SIGALRM, which nobody handles.
void start_watch() {
  alarm(kMostWait);
  itimerval limit{};
  limit.it_value.tv_sec = kMostSeconds;
  setitimer(ITIMER_PROF, &limit, nullptr);
}

void require_little_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  if (usage.ru_maxrss > kMostKib) throw std::runtime_error("more than 2 GiB of memory");
}

void run_input(const Target& target, const std::string& bytes, Progress& progress) {
  ++progress.inputs;
  progress.size = std::min(bytes.size(), progress.bytes.size());
  std::memcpy(progress.bytes.data(), bytes.data(), progress.size);
  start_watch();
  target.run(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  require_little_memory();
  if (input_was_read) ++progress.read;
}

/// Expects the reader to take an input or not, as its name in the corpus says.
void require_as_named(const std::string& name) {
  const bool must_be_read = name.starts_with("good-");
  const bool must_be_refused = name.starts_with("bad-");
  if (must_be_read && !input_was_read) throw std::runtime_error(name + " is refused: " + refusal);
  if (must_be_refused && input_was_read) throw std::runtime_error(name + " is not refused");
}

void run_all(const Request& request, const std::vector<NamedInput>& inputs, Progress& progress) {
  std::vector<std::string> corpus;
  for (const auto& [name, bytes] : inputs) {
    run_input(*request.target, bytes, progress);
    require_as_named(name);
    corpus.push_back(bytes);
  }
  Mutator mutator(corpus, request.seed);
  while (processor_seconds() < request.seconds) {
    const std::string input = mutator.next();
    run_input(*request.target, input, progress);
    if (input_was_read) mutator.keep(input);
  }
}

std::vector<NamedInput> read_inputs(const std::vector<fs::path>& named) {
  std::vector<fs::path> files;
  for (const fs::path& path : named) {
    if (fs::is_directory(path)) {
      std::copy(fs::directory_iterator(path), fs::directory_iterator(), std::back_inserter(files));
    } else {
      files.push_back(path);
    }
  }
  std::ranges::sort(files);
  std::vector<NamedInput> inputs;
  for (const fs::path& file : files) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) throw std::runtime_error("cannot read " + file.string());
    inputs.push_back({file.filename(), {std::istreambuf_iterator<char>(stream), {}}});
    if (inputs.back().bytes.size() <= Mutator::kMostBytes) continue;
    throw std::runtime_error(file.string() + " has more than 64 KiB");
  }
  return inputs;
}

std::string printable(std::string_view bytes) {
  std::string text;
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte < 0x7f && c != '\\') {
      text += c;
    } else {
      text += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 0xf]};
    }
  }
  return text;
}

std::string described(int status) {
  if (!WIFSIGNALED(status)) return "exit status " + std::to_string(WEXITSTATUS(status));
  const std::string how = std::string("signal ") + strsignal(WTERMSIG(status));
  if (WTERMSIG(status) == SIGPROF) {
    return how + ": more than " + std::to_string(kMostSeconds) + " s of processor time";
  }
  if (WTERMSIG(status) == SIGALRM) {
    return how + ": it waits for more than " + std::to_string(kMostWait) + " s";
  }
  return how;
}

/// Keeps the input that ended the child, and says where.
void keep_failure(const Request& request, const Progress& progress, int status) {
  const std::string_view bytes(progress.bytes.data(), progress.size);
  const fs::path file =
      fs::absolute("fuzz-" + std::string(request.target->name) + "-" +
                   std::to_string(request.seed) + "-" + std::to_string(progress.inputs));
  std::ofstream(file, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  std::cout << request.target->name << ": FAILED (" << described(status) << ") with input "
            << progress.inputs << ", written to " << file.string() << '\n'
            << "again: fuzz_replay " << request.target->name << ' ' << file.string() << '\n';
  if (bytes.size() <= kMostPrinted) std::cout << "its bytes: " << printable(bytes) << '\n';
}

Progress& shared_progress() {
  void* const memory =
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return *new (memory) Progress;
}

int replay(const Request& request) {
  const std::vector<NamedInput> inputs = read_inputs(request.inputs);
  if (inputs.empty()) throw std::runtime_error("no input is there");
  Progress& progress = shared_progress();
  scratch_folder();  // of this process, so that it is removed whatever becomes of the child
  std::cout << std::flush;
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot fork");
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    [&]() noexcept { run_all(request, inputs, progress); }();
    std::exit(0);  // as other programs, so that leaks are looked for
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) {
    keep_failure(request, progress, status);
    return 1;
  }
  std::cout << request.target->name << ": " << inputs.size() << " inputs of the corpus and "
            << progress.inputs - inputs.size() << " new ones, seed " << request.seed << ": "
            << progress.read << " were read, the others refused\n";
  return 0;
}

template <typename Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

const Target* find_target(std::string_view name) {
  const auto found = std::ranges::find(targets(), name, &Target::name);
  return found == targets().end() ? nullptr : &*found;
}

/// Returns none if the command line is none.
std::optional<Request> parse(const std::vector<std::string>& words) {
  Request request;
  request.seed = std::random_device{}();
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool has_value = i + 1 < words.size();
    if (words[i] == "--seconds" && has_value) {
      const auto seconds = number_of<double>(words[++i]);
      if (!seconds) return std::nullopt;
      request.seconds = *seconds;
    } else if (words[i] == "--seed" && has_value) {
      const auto seed = number_of<std::uint64_t>(words[++i]);
      if (!seed) return std::nullopt;
      request.seed = *seed;
    } else if (request.target == nullptr) {
      request.target = find_target(words[i]);
      if (request.target == nullptr) return std::nullopt;
    } else {
      request.inputs.emplace_back(words[i]);
    }
  }
  return request.inputs.empty() ? std::nullopt : std::optional(request);
}

void print_usage() {
  std::cerr
      << "usage: fuzz_replay TARGET CORPUS|INPUT... [--seconds S] [--seed N]\n"
         "Runs a target over these inputs and for S seconds of processor time over new ones made "
         "of\n"
         "them. Status: 0, 1 after a failure, whose input is kept in this folder, 2 for a wrong "
         "option.\ntargets:";
  for (const Target& target : targets()) std::cerr << ' ' << target.name;
  std::cerr << '\n';
}

}  // namespace
}  // namespace linkgain::fuzz

int main(int argc, char** argv) {
  using namespace linkgain::fuzz;
  const std::optional<Request> request = parse({argv + 1, argv + argc});
  if (!request) {
    print_usage();
    return kUsage;
  }
  try {
    return replay(*request);
  } catch (const std::exception& error) {
    std::cerr << "fuzz_replay: " << error.what() << '\n';
    return kUsage;
  }
}
