#include "mapped_nccl.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>

#include "linkgain/base/descriptor.hpp"
#include "support/process_support.hpp"
#include "support/program.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

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
  const TemporaryFolder folder;
  const std::vector<ProcessEntry> own{read_process(::getpid()).value()};
  NcclFinder finder;
  finder.look(own);
  EXPECT_THAT(finder.found(), IsEmpty());
  const Mapping torch(folder.path() / "torch", "2.27.5+cuda12.9");
  for (int i = 0; i < 20; ++i) finder.look(own);
  const Mapping vllm(folder.path() / "vllm", "2.28.9+cuda13.0");
  for (int i = 0; i < 8; ++i) finder.look(own);
  EXPECT_THAT(
      finder.found(),
      ElementsAre(MappedNccl{.path = torch.path(), .version = "2.27.5+cuda12.9", .processes = 1},
                  MappedNccl{.path = vllm.path(), .version = "2.28.9+cuda13.0", .processes = 1}));
  EXPECT_EQ(finder.processes_looked(), 1);
}

}  // namespace
}  // namespace linkgain::test
