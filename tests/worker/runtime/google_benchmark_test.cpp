#include "linkgain/runtime/google_benchmark.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <iostream>
#include <regex>
#include <sstream>

#include "linkgain/base/json.hpp"
#include "support/full_disk.hpp"
#include "support/golden.hpp"
#include "support/program.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;
using Json = nlohmann::json;

constexpr const char* kRefusal = "no memory for it";

/// Takes exactly `seconds` per operation.
class Metronome : public BenchmarkSubject {
 public:
  Metronome(std::string name, double seconds, std::optional<std::string> problem = {},
            bool refused = false)
      : name_(std::move(name)),
        seconds_(seconds),
        problem_(std::move(problem)),
        refused_(refused) {}

  bool has_bandwidth = false;

 private:
  static constexpr std::int64_t kBatch = 16;

  std::string do_name() const override { return name_; }
  std::int64_t do_batch() override {
    if (refused_) throw MachineError(kRefusal);
    return kBatch;
  }
  Seconds do_run_batch() override { return Seconds{kBatch * seconds_}; }
  std::optional<std::string> do_verify() override { return problem_; }
  std::vector<std::pair<std::string, double>> do_counters(Seconds time) const override {
    std::vector<std::pair<std::string, double>> counters{{"latency_us", time.value * 1e6}};
    if (has_bandwidth) counters.emplace_back("busbw", 1.5);
    return counters;
  }

  std::string name_;
  double seconds_;
  std::optional<std::string> problem_;
  bool refused_;
};

/// What goes to std::cout meanwhile.
class CapturedOutput {
 public:
  CapturedOutput() : before_(std::cout.rdbuf(text_.rdbuf())) {}
  ~CapturedOutput() { std::cout.rdbuf(before_); }
  CapturedOutput(const CapturedOutput&) = delete;
  CapturedOutput& operator=(const CapturedOutput&) = delete;
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::streambuf* before_;
};

std::vector<std::unique_ptr<BenchmarkSubject>> three_subjects() {
  std::vector<std::unique_ptr<BenchmarkSubject>> subjects;
  subjects.push_back(std::make_unique<Metronome>("all_reduce/float32/sum/64B/np2", 0.002));
  subjects.push_back(std::make_unique<Metronome>("all_reduce/float32/sum/1MiB/np2", 0.004));
  subjects.push_back(std::make_unique<Metronome>("send_recv/float32/64B/np2", 0.001));
  return subjects;
}

std::vector<std::string> listed(const std::string& filter) {
  const CapturedOutput output;
  const ExitCode outcome =
      run_benchmarks(three_subjects(), {{"--benchmark_list_tests", filter}, {}});
  EXPECT_EQ(outcome, ExitCode::success);
  return lines_of(output.text());
}

TEST(GoogleBenchmark, ListsWhatTheFilterLeaves) {
  EXPECT_THAT(listed("--benchmark_filter=all"), SizeIs(3));
  EXPECT_THAT(listed("--benchmark_filter="), SizeIs(3));
  EXPECT_THAT(listed("--benchmark_filter=^send"), ElementsAre("send_recv/float32/64B/np2"));
  EXPECT_THAT(listed("--benchmark_filter=64B/np2$"), SizeIs(2));
  EXPECT_THAT(listed("--benchmark_filter=-64B"), ElementsAre("all_reduce/float32/sum/1MiB/np2"));
  EXPECT_THAT(listed("--benchmark_filter=nothing"), IsEmpty());
}

TEST(GoogleBenchmark, ListsNothingWhenToldNotTo) {
  const CapturedOutput output;
  run_benchmarks(three_subjects(), {{"--benchmark_list_tests=false", "--benchmark_filter=recv",
                                     "--benchmark_min_time=0.001"},
                                    {}});
  EXPECT_THAT(output.text(), HasSubstr("latency_us"));
}

void expect_refusal(const std::string& argument, const std::string& text) {
  const CapturedOutput output;
  EXPECT_THAT(refusal_of([&] {
                run_benchmarks(three_subjects(), {{argument}, {}});
              }),
              HasSubstr(text));
  EXPECT_THAT(output.text(), IsEmpty());
}

TEST(GoogleBenchmark, RefusesWhatItDoesNotKnow) {
  expect_refusal("--benchmark_filter=(", "--benchmark_filter=(: ");
  expect_refusal("--benchmark_filter=nothing", "no case matches");
  expect_refusal("--benchmark_format=xml", "unknown format 'xml'");
  expect_refusal("--benchmark_bogus", "'--benchmark_bogus' is no option");
  expect_refusal("--benchmark_min_time=soon", "'--benchmark_min_time=soon'");
  expect_refusal("--benchmark_out=/nowhere/file", "--benchmark_out=/nowhere/file");
}

bool is_taken(std::vector<std::string> arguments) {
  for (std::string& argument : arguments) argument = "--benchmark_" + argument;
  try {
    require_benchmark_arguments(arguments);
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

TEST(GoogleBenchmark, IsGivenNothingOfWhichItDies) {
  const std::string interleaving = "enable_random_interleaving";
  for (const std::vector<std::string>& taken : std::vector<std::vector<std::string>>{
           {},
           {"repetitions=3"},
           {interleaving + "=true"},
           {"repetitions=3", interleaving + "=false"},
           {"repetitions=3", interleaving + "=0"},
           {"repetitions=1", interleaving},
           {"min_time=0"},
           {"min_time=0.5"},
           {"min_time=0.5s"},
           {"min_time=100x"},
           {"min_warmup_time=1"},
           {"time_unit=ms"},
           {"dry_run"},
           {"out=f.json", "out_format=csv", "context=a=b", "counters_tabular=true"}}) {
    EXPECT_TRUE(is_taken(taken)) << testing::PrintToString(taken);
  }
  for (const std::vector<std::string>& refused :
       std::vector<std::vector<std::string>>{{"repetitions=0"},
                                             {"repetitions=x"},
                                             {"repetitions=1000000"},
                                             {"repetitions=2", interleaving},
                                             {"repetitions=2", interleaving + "=true"},
                                             {"repetitions=2", interleaving + "=maybe"},
                                             {"min_time=nan"},
                                             {"min_time=inf"},
                                             {"min_time=1e9999"},
                                             {"min_time=-1"},
                                             {"min_time=abc"},
                                             {"min_time="},
                                             {"min_warmup_time=nan"},
                                             {"min_warmup_time=-1"},
                                             {"time_unit=h"},
                                             {"time_unit="}}) {
    EXPECT_FALSE(is_taken(refused)) << testing::PrintToString(refused);
  }
}

TEST(GoogleBenchmark, WritesRegularFilesOnly) {
  const ScratchFolder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& file : {pipe, std::string("/dev/null")}) {
    expect_refusal("--benchmark_out=" + file, file);
  }
}

TEST(GoogleBenchmark, AFileThatDoesNotFitOnTheDiskIsAnError) {
  const ScratchFolder folder;
  for (const std::string format : {"json", "csv", "console"}) {
    const CapturedOutput output;
    testing::internal::CaptureStderr();
    {
      const FullDisk full(200);
      EXPECT_EQ(run_benchmarks(three_subjects(),
                               {{"--benchmark_out=" + (folder / format).string(),
                                 "--benchmark_out_format=" + format, "--benchmark_min_time=0.001"},
                                {}}),
                ExitCode::machine_cannot)
          << format;
    }
    EXPECT_THAT(output.text(), HasSubstr("\nsend_recv/float32/64B/np2 ")) << format;
    const std::string told = testing::internal::GetCapturedStderr();
    expect_golden(std::regex_replace(told, std::regex("/\\S+/" + format + " "), "FILE "),
                  "lost_file.txt");
  }
}

/// Runs subjects and returns what they leave in a file of this format.
std::string run_to_file(std::vector<std::unique_ptr<BenchmarkSubject>> subjects, ExitCode expected,
                        const std::string& format) {
  const ScratchFolder folder;
  const std::string file = folder / "out";
  const std::vector<std::string> arguments{
      "--benchmark_out=" + file, "--benchmark_out_format=" + format, "--benchmark_min_time=0.02"};
  const CapturedOutput output;
  EXPECT_EQ(run_benchmarks(std::move(subjects), {arguments, {{"machine", "two ranks"}}}), expected);
  return read_text(file);
}

Json run_to_json(std::vector<std::unique_ptr<BenchmarkSubject>> subjects, ExitCode expected) {
  return Json::parse(run_to_file(std::move(subjects), expected, "json"));
}

TEST(GoogleBenchmark, ReportsTheGivenTimesUnderTheGivenNames) {
  const Json document = run_to_json(three_subjects(), ExitCode::success);
  EXPECT_EQ(document.at("context").at("machine"), "two ranks");
  EXPECT_EQ(document.at("context").at("executable"), "linkgain-bench");
  const Json& runs = document.at("benchmarks");
  ASSERT_THAT(runs, SizeIs(3));
  EXPECT_EQ(runs[1].at("name"), "all_reduce/float32/sum/1MiB/np2");
  EXPECT_EQ(runs[1].at("run_name"), "all_reduce/float32/sum/1MiB/np2");
  EXPECT_NEAR(runs[1].at("real_time"), 4000.0, 1e-6);
  EXPECT_EQ(runs[1].at("time_unit"), "us");
  EXPECT_NEAR(runs[1].at("latency_us"), 4000.0, 1e-6);
  EXPECT_EQ(runs[1].at("iterations").get<int>() % 16, 0) << "whole batches";
}

TEST(GoogleBenchmark, OneWrongResultIsAnErrorAndTheOthersStand) {
  std::vector<std::unique_ptr<BenchmarkSubject>> subjects = three_subjects();
  subjects.push_back(std::make_unique<Metronome>("wrong", 0.001, "WRONG DATA: 1 of 2"));
  subjects.push_back(std::make_unique<Metronome>("refused", 0.001, std::nullopt, true));
  const Json runs = run_to_json(std::move(subjects), ExitCode::wrong_data).at("benchmarks");
  ASSERT_THAT(runs, SizeIs(5));
  EXPECT_FALSE(runs[2].contains("error_message"));
  EXPECT_EQ(runs[3].at("error_message"), "WRONG DATA: 1 of 2");
  EXPECT_EQ(runs[4].at("error_message"), kRefusal);
}

TEST(GoogleBenchmark, CsvHasAColumnForEveryCounterWhateverTheFirstRunsLack) {
  std::vector<std::unique_ptr<BenchmarkSubject>> subjects;
  subjects.push_back(std::make_unique<Metronome>("refused", 0.001, std::nullopt, true));
  subjects.push_back(std::make_unique<Metronome>("loads", 0.002));
  auto copies = std::make_unique<Metronome>("copies", 0.004);
  copies->has_bandwidth = true;
  subjects.push_back(std::move(copies));
  const std::vector<std::string> lines =
      lines_of(run_to_file(std::move(subjects), ExitCode::machine_cannot, "csv"));
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_THAT(lines[0], EndsWith(",\"busbw\",\"latency_us\""));
  EXPECT_THAT(lines[1], StartsWith("\"refused\","));
  EXPECT_THAT(lines[2], AllOf(StartsWith("\"loads\","), EndsWith(",,2000")));
  EXPECT_THAT(lines[3], AllOf(StartsWith("\"copies\","), EndsWith(",1.5,4000")));
}

TEST(GoogleBenchmark, ACaseThatCannotRunIsNoSuccess) {
  std::vector<std::unique_ptr<BenchmarkSubject>> subjects = three_subjects();
  subjects.push_back(std::make_unique<Metronome>("refused", 0.001, std::nullopt, true));
  run_to_json(std::move(subjects), ExitCode::machine_cannot);
}

}  // namespace
}  // namespace linkgain::test
