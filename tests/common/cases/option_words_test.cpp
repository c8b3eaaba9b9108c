#include "linkgain/cases/option_words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>

namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(WordsOfOption, AreThoseOfAnOptionWithItsValue) {
  EXPECT_THAT(words_of_option("--launcher", "PROGRAM"), ElementsAre("mpirun", "srun"));
  EXPECT_THAT(words_of_option("--strategy", "NAME,..."), ElementsAre("ddp", "zero2", "zero3"))
      << "none is measured with each";
  EXPECT_THAT(words_of_option("--launcher", "NAME"), IsEmpty()) << "another program's";
  EXPECT_THAT(words_of_option("--sizes", "SIZES"), IsEmpty());
}

TEST(WordsOfDeclared, AreByTheLongName) {
  CLI::App app;
  std::string value;
  const CLI::Option& option = *app.add_option("-b,--backend", value)->type_name("NAME");
  EXPECT_THAT(words_of_declared(option), ElementsAre("nccl", "mpi"));
  EXPECT_THAT(words_of_declared(*app.add_option("-x", value)->type_name("NAME")), IsEmpty());
}

}  // namespace
}  // namespace linkgain::test
