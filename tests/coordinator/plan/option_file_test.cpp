#include "linkgain/plan/option_file.hpp"

#include <gmock/gmock.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <string>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "support/scratch_folder.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;

void require_good(std::string_view name, std::string_view value) {
  if (value == "evil") throw UsageError(std::string(name) + " is evil", "be good");
}

/// A command with one option of every kind, and a file for it.
class OptionFile : public testing::Test {
 protected:
  OptionFile() {
    app_.add_option("--profile", profile_);
    app_.add_option("--sizes", sizes_);
    app_.add_option("--launches", launches_);
    app_.add_option("--only", only_)->delimiter(',');
    app_.add_option("--variant", variants_);
    app_.add_flag("--kernels", kernels_);
    app_.add_flag_callback("--no-color", [this] { color_ = false; });
  }

  /// Reads the file's own profile, after a command line of `words`, the last first.
  std::string read(const std::string& text, std::vector<std::string> words = {}) {
    std::ofstream(file_) << text;
    app_.parse(std::move(words));
    return read_option_file(app_, file_, "profile", require_good);
  }

  const ScratchFolder folder_;
  const std::filesystem::path file_ = folder_ / "nightly.toml";
  CLI::App app_;
  std::string profile_;
  std::string sizes_;
  int launches_ = 6;
  std::vector<std::string> only_;
  std::vector<std::string> variants_;
  bool kernels_ = false;
  bool color_ = true;
};

TEST(IsOptionFile, IsAPathOrAName) {
  EXPECT_TRUE(is_option_file("./nightly"));
  EXPECT_TRUE(is_option_file("nightly.toml"));
  EXPECT_FALSE(is_option_file("nightly"));
  EXPECT_FALSE(is_option_file("toml"));
}

TEST_F(OptionFile, GivesOptionsOfEveryKind) {
  EXPECT_EQ(read("# every night\n"
                 "profile = \"node\"\n"
                 "sizes = \"8,64K,1G\"  # a list\n"
                 "launches = 3\n"
                 "only = [\"all_reduce\", \"send_recv\"]\n"
                 "variant = [\"p2p\", \"ring:NCCL_ALGO=Ring,Tree\"]\n"
                 "kernels = true\n"
                 "no-color = false\n"),
            "node");
  EXPECT_EQ(sizes_, "8,64K,1G");
  EXPECT_EQ(launches_, 3);
  EXPECT_THAT(only_, ElementsAre("all_reduce", "send_recv"));
  EXPECT_THAT(variants_, ElementsAre("p2p", "ring:NCCL_ALGO=Ring,Tree"));
  EXPECT_TRUE(kernels_);
  EXPECT_TRUE(color_);
}

TEST_F(OptionFile, TakesAListOfSeveralLines) {
  read("only = [\"all_reduce\",\n  \"send_recv\"\n]\nlaunches = 3\n");
  EXPECT_THAT(only_, ElementsAre("all_reduce", "send_recv"));
  EXPECT_EQ(launches_, 3);
}

TEST_F(OptionFile, TakesAListThatBeginsBelowItsName) {
  read("only = [\n  \"all_reduce\",\n  \"send_recv\",\n]\nlaunches = 3\n");
  EXPECT_THAT(only_, ElementsAre("all_reduce", "send_recv"));
  EXPECT_EQ(launches_, 3);
}

TEST_F(OptionFile, TakesCommentsInAList) {
  read("only = [\"all_reduce\",  # one ]\n  # second, \"broadcast\"\n\n  \"send_recv\"] # end\n");
  EXPECT_THAT(only_, ElementsAre("all_reduce", "send_recv"));
}

TEST_F(OptionFile, HasNoCommentsInQuotes) {
  EXPECT_EQ(read("variant = [\"a:X=1#2\", 'b:Y=]#', \"c:Z=\\\"#\"]\n"
                 "profile = \"res#1\"  # two\n"
                 "sizes = 8's # 64\n"),
            "res#1");
  EXPECT_THAT(variants_, ElementsAre("a:X=1#2", "b:Y=]#", "c:Z=\"#"));
  EXPECT_EQ(sizes_, "8's");
}

TEST_F(OptionFile, CallsWhatAFlagCalls) {
  EXPECT_EQ(read("no-color = true\n"), "");
  EXPECT_FALSE(color_);
}

TEST_F(OptionFile, GoesAfterTheCommandLine) {
  read("launches = 3\nsizes = 8\nonly = \"all_reduce\"\n",
       {"send_recv", "--only", "4", "--launches"});
  EXPECT_EQ(launches_, 4);
  EXPECT_EQ(sizes_, "8");
  EXPECT_THAT(only_, ElementsAre("send_recv"));
}

/// Guards against CLI11, which would take what stands behind one for a comment.
TEST_F(OptionFile, RefusesANulByte) {
  using namespace std::string_literals;
  for (const std::string& text : {"sizes = 8\n\0junk"s, "\0"s, "only = \"a\0b\"\n"s}) {
    EXPECT_THROW(read(text), UsageError);
  }
}

TEST_F(OptionFile, RefusesWhatIsNoOption) {
  Situations answers;
  for (const char* text : {"launchs = 3",
                           "everything = 3",
                           "--launches = 3",
                           "help = true",
                           "[run]\nlaunches = 3",
                           "launches = three",
                           "launches = 2.5",
                           "launches = [2, 3]",
                           "kernels = 7",
                           "launches",
                           "launches = 3\nkernels = true\nlaunches = 4",
                           "profile.name = 3",
                           "kernels = true\nlaunches =",
                           "launches = # 3",
                           "sizes = \"\"",
                           "profile = ''",
                           "only = [\"a\", \"\"]",
                           "only = []",
                           "sizes = [1,2",
                           "only = [\"a\",\n\"b\"\nlaunches = 3",
                           "only = [\"a]\"",
                           "only = [\"a\"] b\nsizes = [8]",
                           "only = [\"a\", \"evil\"]"}) {
    answers.add(with_replaced(text, "\n", "; "),
                with_replaced(refusal_of([&] { read(text); }), file_.string(), "FILE"));
  }
  answers.add("a folder",
              refusal_of([&] { read_option_file(app_, "/proc", "profile", require_good); }));
  answers.add("no file",
              refusal_of([&] { read_option_file(app_, "./x", "profile", require_good); }));
  answers.expect_golden("option_files_refused.txt");
}

}  // namespace
}  // namespace linkgain::test
