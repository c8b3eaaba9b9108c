#include "linkgain/base/own_outputs.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "linkgain/base/regular_file.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

constexpr FileKind kNote{"a note",
                         [](std::string_view text) { return text.starts_with("note: "); }};

class OwnFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "linkgain_outputs_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path at(const std::string& name) const { return folder_ / name; }
  std::string text_of(const std::string& name) const { return read_regular_file(at(name)).value(); }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(at(name)) << text;
  }
  std::string refusal(const std::string& name) const {
    const std::string said = refusal_of([&] { require_own_file(at(name), kNote); });
    EXPECT_EQ(refusal_of([&] { write_own_file(at(name), kNote, "note: new"); }), said);
    return with_replaced(said, folder_.string(), "D");
  }
  std::filesystem::path folder_;
};

TEST_F(OwnFile, ReplacesNothingElse) {
  namespace fs = std::filesystem;
  put("mine", "my thoughts");
  put("empty", "");
  put("earlier", "note: old");
  put("read-only", "note: old");
  fs::permissions(at("read-only"), fs::perms::owner_read);
  fs::create_symlink("earlier", at("link"));
  fs::create_symlink("nowhere", at("dangling"));
  fs::create_symlink("/dev/null", at("null"));
  fs::create_directory(at("folder"));
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  Situations situations;
  for (const char* name :
       {"mine", "empty", "read-only", "link", "dangling", "null", "folder", "pipe"}) {
    situations.add(name, refusal(name));
  }
  EXPECT_EQ(refusal("earlier"), "accepted");
  EXPECT_EQ(refusal("new"), "accepted");
  expect_golden(situations.text(), "own_files.txt");
  EXPECT_EQ(text_of("mine"), "my thoughts");
  EXPECT_EQ(text_of("read-only"), "note: old");
  EXPECT_EQ(text_of("earlier"), "note: new");
  EXPECT_EQ(text_of("new"), "note: new");
  EXPECT_TRUE(fs::is_symlink(at("link")) && fs::is_symlink(at("null")) && fs::is_fifo(at("pipe")));
}

}  // namespace
}  // namespace linkgain::test
