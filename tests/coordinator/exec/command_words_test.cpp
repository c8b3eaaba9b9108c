#include "linkgain/exec/command_words.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "linkgain/base/errors.hpp"
#include "support/scratch_folder.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using Words = std::vector<std::string>;

TEST(MaySee, LooksForAMountUnderTheSamePath) {
  const ScratchFolder folder;
  const std::filesystem::path file = folder / "lib/file.so";
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << "\n";
  const std::string own = folder.path().string();
  const auto sees = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"sudo", "docker", "run"});
    words.emplace_back("image");
    return may_see(words, file);
  };
  const std::string both = own + ":" + own;
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"-v", both},
        {"-v", both + ":ro"},
        {"-v" + both},
        {"--volume=" + both},
        {"--volume", own + "/lib:" + own + "/lib/:ro"},
        {"-v", "/:/"},
        {"--mount", "type=bind,source=" + own + ",target=" + own},
        {"--mount=type=bind,src=" + own + ",dst=" + own + ",ro"},
        {"-v", "volume:" + own}}) {
    EXPECT_TRUE(sees(words)) << words.back();
  }
  for (const std::vector<std::string>& words : {std::vector<std::string>{},
                                                {"-v", own + ":/opt"},
                                                {"-v", "/usr:" + own},
                                                {"-v", own + "/lib:" + own},
                                                {"-v", both + "/lib/other"},
                                                {"-e", "A=" + both},
                                                {"--mount", "type=tmpfs,target=/opt"}}) {
    EXPECT_FALSE(sees(words)) << (words.empty() ? "" : words.back());
  }
  EXPECT_TRUE(may_see({"docker", "exec", "name", "sh"}, file)) << "which runs already";
}

TEST(SplitWords, FollowsTheShell) {
  EXPECT_THAT(split_words("", "--args"), IsEmpty());
  EXPECT_THAT(split_words("  a\tb \n", "--args"), ElementsAre("a", "b"));
  EXPECT_THAT(split_words("'a b' \"c d\" e\\ f", "--args"), ElementsAre("a b", "c d", "e f"));
  EXPECT_THAT(split_words("--x='{\"k\": 1}' ''", "--args"), ElementsAre("--x={\"k\": 1}", ""));
  EXPECT_THAT(split_words(R"("a\"b\n" '\' $HOME *)", "--args"),
              ElementsAre("a\"b\\n", "\\", "$HOME", "*"));
  EXPECT_THAT(split_words("a \\\n  b \"c\\\nd\" e\\\n", "--args"), ElementsAre("a", "b", "cd", "e"))
      << "lines go on behind a backslash";
  for (const char* open : {"'a", "\"a", "a\\"}) {
    EXPECT_THROW(split_words(open, "--args"), UsageError) << open;
  }
}

TEST(ProgramBehind, IsWhatTheCommandComesTo) {
  const auto behind = [](const std::string& command) {
    Environment environment{{"PATH", "/bin"}};
    return program_behind(split_words(command, ""), environment);
  };
  for (const char* command : {"train", "env A=1 train --x", "env -u A nice -n 5 train",
                              "timeout -s KILL 5 train", "taskset -c 0,1 train",
                              "sh -c 'exec train --x \"$@\"' model", "nice bash -c 'exec train'"}) {
    EXPECT_EQ(behind(command), "train") << command;
  }
  EXPECT_EQ(behind("sh -c 'train | tee log'"), "sh");
  EXPECT_EQ(behind("docker run image train"), "docker");
  for (const char* unknown :
       {"", "env A=1", "sudo train", "env -S 'python3 -u' train.py", "env -C folder ./train",
        "sh -c 'exec 3>log; train'", "sh -c 'exec \"$0\"' train"}) {
    EXPECT_EQ(behind(unknown), "") << unknown;
  }
  Environment environment{{"PATH", "/bin"}};
  program_behind({"env", "PATH=/opt", "train"}, environment);
  EXPECT_EQ(environment.at("PATH"), "/opt");
}

TEST(HowToWait, IsToldOfCommandsThatGiveTheirWorkToOthers) {
  for (const Words& words :
       {Words{"sbatch", "job.sh"}, Words{"/usr/bin/sbatch", "-n", "2", "job.sh"},
        Words{"qsub", "job.sh"}, Words{"systemd-run", "--unit=x", "train"},
        Words{"docker", "run", "-d", "image"},
        Words{"docker", "run", "--rm", "-v", "a:b", "-itd", "image"},
        Words{"podman", "container", "run", "--detach", "image"},
        Words{"docker", "compose", "up", "-d"}, Words{"bsub", "-n", "2", "train"}}) {
    EXPECT_NE(how_to_wait(words), "") << words[0] << " " << words[1];
  }
  for (const Words& words :
       {Words{"sbatch", "--wait", "job.sh"}, Words{"sbatch", "-W", "job.sh"},
        Words{"qsub", "-sync", "y", "job.sh"}, Words{"qsub", "-W", "block=true", "job.sh"},
        Words{"systemd-run", "--scope", "train"},
        Words{"docker", "run", "--rm", "image", "x", "-d"},
        Words{"docker", "run", "-it", "--device=x", "image"}, Words{"srun", "train", "-d"},
        Words{"docker"}, Words{"bsub", "-K", "train"}, Words{"bsub", "-Is", "train"}}) {
    EXPECT_EQ(how_to_wait(words), "") << words[0];
  }
}

/// Puts each before a command that gives its work to others, and before one that does not.
TEST(HowToWait, LooksBehindProgramsThatRunAnother) {
  for (const char* wrapper : {"nohup",
                              "/usr/bin/nohup --",
                              "env",
                              "env -",
                              "env A=1 B=",
                              "env -i -u X -C /tmp A=1",
                              "env -iu X",
                              "env --unset X --chdir=/tmp",
                              "nice",
                              "nice -10",
                              "nice -n 5",
                              "nice -n5",
                              "nice --adjustment 5",
                              "setsid",
                              "setsid -w",
                              "setsid --fork",
                              "stdbuf -oL",
                              "stdbuf -o L -e 0",
                              "stdbuf --output=L --error L",
                              "timeout 9",
                              "timeout -k 5 -s KILL 9s",
                              "timeout --signal=INT --foreground 9",
                              "timeout --kill-after 5 9",
                              "time -p",
                              "time -f %e -o file",
                              "time -vo file",
                              "ionice -c 3",
                              "taskset 0x3",
                              "taskset -c 0-3",
                              "sudo",
                              "sudo -u somebody A=1",
                              "nohup env A=1 timeout 9 nice -n 5 setsid"}) {
    for (const char* submitter : {"sbatch job.sh", "bsub train", "docker run -d image"}) {
      const std::string command = fmt::format("{} {}", wrapper, submitter);
      EXPECT_NE(how_to_wait(split_words(command, "")), "") << command;
    }
    for (const char* other : {"", " train sbatch", " sbatch --wait job.sh", " docker run image"}) {
      EXPECT_EQ(how_to_wait(split_words(wrapper + std::string(other), "")), "") << wrapper << other;
    }
  }
  EXPECT_EQ(how_to_wait({}), "");
}

Environment inside(const std::string& command) {
  return received(split_words(command, ""), {{"A", "1"}, {"B", "2"}});
}

TEST(Received, IsNothingWhereTheCommandPassesNothingOn) {
  for (const char* none : {"docker run --rm --gpus all image train",
                           "podman run image",
                           "nerdctl run -it image",
                           "sudo /usr/bin/docker container run image",
                           "docker exec box train",
                           "docker run -e C image",
                           "docker start -a box",
                           "sudo train",
                           "sudo -u me train",
                           "sudo docker run -e A image",
                           "env -i train",
                           "env - train",
                           "env -u A --unset=B train",
                           "env -uA -u B train",
                           "nice env -iu C train",
                           "ssh node train",
                           "ssh -p 22 node 'cd x && train'",
                           "kubectl exec pod -- train",
                           "srun --export=NONE train",
                           "srun -n 2 --export=C train",
                           "apptainer exec --nv --cleanenv image train",
                           "singularity run --bind /x -e image"}) {
    EXPECT_THAT(inside(none), IsEmpty()) << none;
  }
  for (const char* one :
       {"sudo A=7 train", "sudo env A=7 train", "ssh node A=7 train", "ssh node 'A=7 train'",
        "ssh node env A=7 train", "env -i A=7 train", "docker run image env A=7 train",
        "kubectl exec pod -- env A=7 train", "srun --export=A=7 train"}) {
    EXPECT_THAT(inside(one), ElementsAre(Pair("A", "7"))) << one;
  }
}

TEST(Received, IsWhatAContainerIsGivenAndTheCommandSets) {
  EXPECT_THAT(inside("sudo --preserve-env=A train"), ElementsAre(Pair("A", "1")));
  EXPECT_THAT(inside("docker run -e A image train"), ElementsAre(Pair("A", "1")));
  EXPECT_THAT(inside("docker exec --env A=7 -e AB=x box train"),
              ElementsAre(Pair("A", "7"), Pair("AB", "x")));
  EXPECT_THAT(inside("env A=7 docker run -e A image"), ElementsAre(Pair("A", "7")));
  for (const char* all : {"docker run -e A -e B image",
                          "docker run -eA --env=B image",
                          "docker run -ite A --env B i",
                          "podman run --env-host image",
                          "docker run --env-file=file image",
                          "docker run --env-file file image",
                          "docker run -e A=1 -e B=2 image",
                          "docker compose run x",
                          "docker pull image",
                          "train run",
                          "env A=1",
                          "sudo -E train",
                          "sudo --preserve-env train",
                          "sudo -nE train",
                          "env -u C train",
                          "srun train",
                          "srun --export=ALL,C=3 env -u C train",
                          "ssh -o SendEnv=A node train",
                          "kubectl get exec-x",
                          "apptainer exec --nv image train -e",
                          "train -i -u A",
                          ""}) {
    EXPECT_THAT(inside(all), ElementsAre(Pair("A", "1"), Pair("B", "2"))) << all;
  }
  EXPECT_THAT(inside("docker run -e A -e B image env A=7 train"),
              ElementsAre(Pair("A", "7"), Pair("B", "2")));
  for (const char* fixed : {"env A=7 train", "nice env A=7 timeout 3 train", "env -u X A=7 train",
                            "podman run --env-host -e A=7 image"}) {
    EXPECT_THAT(inside(fixed), ElementsAre(Pair("A", "7"), Pair("B", "2"))) << fixed;
  }
}

TEST(StartsWithCompose, IsWhereTheFileHasTheVariables) {
  for (const char* yes : {"docker compose up", "docker compose -f f.yaml run train",
                          "env A=1 docker-compose up", "/usr/bin/podman compose up"}) {
    EXPECT_TRUE(starts_with_compose(split_words(yes, ""))) << yes;
  }
  for (const char* no :
       {"docker run image compose", "docker compose run -e A train", "train compose", ""}) {
    EXPECT_FALSE(starts_with_compose(split_words(no, ""))) << no;
  }
}

TEST(FilledIn, ReplacesThreeWordsAndNoOtherBraces) {
  const Placeholders place{.variant = "host", .round = 3, .arguments = {"--x", "a b"}};
  EXPECT_EQ(filled_in("{variant}/{round}", place), "host/3");
  EXPECT_EQ(filled_in("{x} {} {{round}} ${HOME} {\"a\":1}", place), "{x} {} {3} ${HOME} {\"a\":1}");
  EXPECT_EQ(filled_in("${variant} ${round} ${args}", place), "${variant} ${round} ${args}");
  EXPECT_EQ(filled_in("run {args}!", place), "run --x 'a b'!");
  EXPECT_THAT(filled_in(Words{"p", "{args}", "-r{round}", "sh {args}"}, place),
              ElementsAre("p", "--x", "a b", "-r3", "sh --x 'a b'"));
  EXPECT_TRUE(has_placeholder({"a", "b {args}"}, kArguments));
  EXPECT_FALSE(has_placeholder({"a", "{arg}", "${args}"}, kArguments));
  EXPECT_TRUE(has_placeholder({"${args} {args}"}, kArguments));
}

/// Quotes for sh, which need not be bash.
TEST(FilledIn, QuotesArgumentsForAnyShell) {
  const Placeholders place{.variant = "", .arguments = {"b\nc", "it's", "$x", ""}};
  EXPECT_EQ(filled_in("{args}", place), "'b\nc' 'it'\\''s' '$x' ''");
}

}  // namespace
}  // namespace linkgain::test
