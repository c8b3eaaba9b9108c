#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>

#include "linkgain/base/descriptor.hpp"
#include "linkgain/base/environment.hpp"
#include "linkgain/base/process_entry.hpp"
#include "linkgain/process/process.hpp"
#include "linkgain/watch/program_evidence.hpp"
#include "support/golden.hpp"
#include "support/process_support.hpp"
#include "support/program.hpp"
#include "support/scoped_environment.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class HungProgram : public testing::Test {
 protected:
  ProcessRequest request(std::vector<std::string> arguments) {
    ProcessRequest result;
    result.arguments = std::move(arguments);
    result.environment = current_environment();
    result.error_file = folder_ / "errors";
    return result;
  }

  ScratchFolder folder_;
  ScopedEnvironment library_{"LINKGAIN_NVML_LIBRARY", NVML_DOUBLE};
  ScopedEnvironment scenario_{"LINKGAIN_NVML_SCENARIO", "h200x2"};
  ScopedEnvironment use_{"LINKGAIN_NVML_USE", (folder_ / "use").string()};
};

std::vector<ProcessEntry> trees_of(const std::vector<Process*>& processes) {
  std::vector<ProcessEntry> all;
  for (Process* process : processes) {
    std::ranges::copy(process->remember_tree(), std::back_inserter(all));
  }
  return all;
}

TEST_F(HungProgram, IsDescribedByItsProcessesAndTheirGpus) {
  Process process(request({"sh", "-c", "sleep 61 & while :; do :; done"}));
  ASSERT_TRUE(comes_true(
      [&] {
        return !read_process_file(fmt::format("/proc/{0}/task/{0}/children", process.id())).empty();
      },
      60.0));
  std::ofstream(folder_ / "use") << fmt::format("1 100 {}:64:sh\n", process.id());
  const HangReport report = look_at_hang(process.remember_tree());
  ASSERT_EQ(report.processes.size(), 2);
  const bool first = report.processes[0].id == process.id();
  const HungProcess& busy = report.processes[first ? 0 : 1];
  const HungProcess& asleep = report.processes[first ? 1 : 0];
  EXPECT_THAT(busy.command, testing::HasSubstr("while"));
  EXPECT_GT(busy.processors, 0.0);
  EXPECT_EQ(busy.gpus, std::vector<int>{1});
  EXPECT_LT(asleep.processors, busy.processors);
  EXPECT_TRUE(asleep.gpus.empty());
  ASSERT_EQ(report.gpus.size(), 1);
  EXPECT_EQ(report.gpus[0].gpu, 1);
  EXPECT_EQ(report.gpus[0].busy_percent, 100.0);
  EXPECT_GE(hang_lines(report).size(), 4);
}

TEST_F(HungProgram, MayBeSeveralTrees) {
  Process client(request({"sleep", "61"}));
  Process server(request({"sleep", "62"}));
  std::ofstream(folder_ / "use") << fmt::format("1 100 {}:64:sleep\n", server.id());
  const HangReport report = look_at_hang(trees_of({&client, &server}));
  ASSERT_EQ(report.processes.size(), 2);
  EXPECT_EQ(report.processes[0].id, client.id());
  EXPECT_EQ(report.processes[1].id, server.id());
  EXPECT_EQ(report.processes[1].gpus, std::vector<int>{1});
  ASSERT_EQ(report.gpus.size(), 1);
  EXPECT_EQ(report.gpus[0].gpu, 1);
}

// Covers programs that write their title over it.
TEST_F(HungProgram, IsNamedWithoutItsEnvironment) {
  Process process(request({"env", "-i", "sh", "-c", "sleep 61; :"}));
  ASSERT_TRUE(comes_true([&] { return process.remember_tree().size() == 2; }, 60.0));
  EXPECT_EQ(look_at_hang(process.remember_tree()).processes.size(), 2);
}

TEST(HangReport, SaysInWhatStateEachProcessWas) {
  HangReport report;
  for (const char state : std::string("RSDTtZI")) {
    report.processes.push_back({.id = 7,
                                .command = "train",
                                .state = state,
                                .waits_in = state == 'S' || state == 'D' ? "futex_wait" : "",
                                .processors = 0.25,
                                .gpus = {}});
  }
  report.processes.front().gpus = {0, 3};
  report.no_gpus = "there is no NVML";
  report.gpus = {{.gpu = 0, .busy_percent = 99.6}, {.gpu = 1, .busy_percent = {}}};
  std::string text;
  for (const std::string& line : hang_lines(report)) text += line + '\n';
  expect_golden(text, "hang_report.txt");
  report.processes.front().gpus.clear();
  EXPECT_THAT(hang_lines(report), testing::Each(testing::Not(testing::HasSubstr("ncclras"))))
      << "no program that uses a GPU";
}

const std::string kLine = "7f00-7f01 r-xp 00000000 08:01 42                 ";

TEST(NcclInMaps, FindsTheLibraryAndNoPlugin) {
  EXPECT_EQ(nccl_in_maps(kLine + "/a b/nccl/lib/libnccl.so.2\n").at(0).path,
            "/a b/nccl/lib/libnccl.so.2");
  EXPECT_EQ(nccl_in_maps(kLine + "/w/libnccl-0a1b2c3d.so.2.28\n").at(0).path,
            "/w/libnccl-0a1b2c3d.so.2.28");
  const auto deleted = nccl_in_maps(kLine + "/lib/libnccl.so.2.28.9 (deleted)\n");
  EXPECT_EQ(deleted.at(0).path, "/lib/libnccl.so.2.28.9");
  EXPECT_TRUE(deleted.at(0).deleted);
  EXPECT_THAT(nccl_in_maps(kLine + "/lib/libnccl-net.so\n" + kLine + "/lib/libncclx.so\n" + kLine +
                           "[heap]\n" + kLine),
              IsEmpty());
}

TEST(NcclInMaps, KnowsXlaByItsLibrary) {
  EXPECT_TRUE(has_xla(kLine + "/v/site-packages/jax_plugins/xla_cuda12/xla_cuda_plugin.so\n"));
  EXPECT_FALSE(has_xla(kLine + "/v/site-packages/torch/lib/libtorch_cuda.so\n"));
}

TEST(NcclInMaps, FindsEachLibraryOnce) {
  const MappedNccl own{.path = "/vllm/libnccl.so.2"};
  const MappedNccl other{.path = "/torch/libnccl.so.2"};
  EXPECT_THAT(nccl_in_maps(kLine + own.path + "\n" + kLine + own.path + "\n" + kLine + other.path +
                           "\n" + kLine + own.path + "\n"),
              ElementsAre(own, other));
}

/// A library of NCCL's name that this process maps.
class Mapping {
 public:
  Mapping(const std::filesystem::path& folder, const std::string& version) {
    std::filesystem::create_directories(folder);
    path_ = folder / "libnccl.so.2";
    std::ofstream(path_) << "NCCL version " << version << std::string(9000, ' ');
    const Descriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    start_ = ::mmap(nullptr, kSize, PROT_READ, MAP_PRIVATE, file.get(), 0);
    EXPECT_NE(start_, MAP_FAILED);
  }
  ~Mapping() { ::munmap(start_, kSize); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::string path() const { return path_.string(); }

 private:
  static constexpr std::size_t kSize = 4096;

  std::filesystem::path path_;
  void* start_ = nullptr;
};

TEST(NcclFinder, FindsAlsoTheLibraryThatAProcessMapsLater) {
  const ScratchFolder folder;
  const std::vector<ProcessEntry> own{read_process(::getpid()).value()};
  NcclFinder finder;
  finder.look(own);
  EXPECT_THAT(finder.found(), IsEmpty());
  const Mapping torch(folder / "torch", "2.27.5+cuda12.9");
  for (int i = 0; i < 20; ++i) finder.look(own);
  const Mapping vllm(folder / "vllm", "2.28.9+cuda13.0");
  for (int i = 0; i < 8; ++i) finder.look(own);
  EXPECT_THAT(
      finder.found(),
      ElementsAre(MappedNccl{.path = torch.path(), .version = "2.27.5+cuda12.9", .processes = 1},
                  MappedNccl{.path = vllm.path(), .version = "2.28.9+cuda13.0", .processes = 1}));
  EXPECT_EQ(finder.processes_looked(), 1);
}

}  // namespace
}  // namespace linkgain::test
