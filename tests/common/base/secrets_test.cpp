#include "linkgain/base/secrets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace linkgain::test {
namespace {

using testing::ElementsAre;
using Words = std::vector<std::string>;

TEST(Secrets, AreKnownByTheVariablesName) {
  for (const char* name :
       {"HF_TOKEN", "aws_secret_access_key", "PGPASSWORD", "WANDB_API_KEY", "MY_PASS"}) {
    EXPECT_TRUE(is_secret(name)) << name;
  }
  for (const char* name : {"PATH", "NCCL_ALGO", "OMPI_MCA_btl"})
    EXPECT_FALSE(is_secret(name)) << name;
  EXPECT_EQ(without_secrets(Environment{{"HF_TOKEN", "hf_abc"}, {"NCCL_ALGO", "Ring"}}),
            (Environment{{"HF_TOKEN", "***"}, {"NCCL_ALGO", "Ring"}}));
}

TEST(Secrets, AreMaskedInWordsOfACommand) {
  EXPECT_EQ(without_secrets("HF_TOKEN=hf_abc python t.py"), "HF_TOKEN=*** python t.py");
  EXPECT_EQ(without_secrets("x:A=1,MY_KEY=s3,B=2"), "x:A=1,MY_KEY=***,B=2");
  EXPECT_EQ(without_secrets("x:OMPI_MCA_a_token=t,OMPI_MCA_btl=self,tcp"),
            "x:OMPI_MCA_a_token=***,OMPI_MCA_btl=self,tcp");
  EXPECT_EQ(without_secrets("a=1; export OPENAI_API_KEY=sk-1"), "a=1; export OPENAI_API_KEY=***");
  EXPECT_EQ(without_secrets("--max_tokens=128 tokens=3 KEY= end"),
            "--max_tokens=128 tokens=3 KEY= end");
  EXPECT_EQ(without_secrets("vllm serve m --api-key sk-1 --port 80; ask --token='a b'"),
            "vllm serve m --api-key *** --port 80; ask --token=***");
  EXPECT_EQ(without_secrets("ask --token='a b'c\"d e\"f x; HF_TOKEN=a'b c' y"),
            "ask --token=*** x; HF_TOKEN=*** y");
  EXPECT_EQ(without_secrets("sh -c \"x --token=abc\" 8; --key='a b; c"),
            "sh -c \"x --token=*** 8; --key=***");
  EXPECT_EQ(without_secrets("a:--api-key=sk-1 --token  t"), "a:--api-key=*** --token  ***");
  EXPECT_EQ(without_secrets("--key= end --token --key ; --max-tokens 8 --token"),
            "--key= end --token --key ; --max-tokens 8 --token");
  EXPECT_THAT(without_secrets(Words{"serve", "--api-key", "abc", "--max-tokens", "8",
                                    "--hf-token=def", "--key", "--x"}),
              ElementsAre("serve", "--api-key", "***", "--max-tokens", "8", "--hf-token=***",
                          "--key", "--x"));
}

TEST(Secrets, AreMaskedInVariantsAsTheyAreRead) {
  EXPECT_THAT(without_secrets(Words{"run", "--variant", "x:host,my_token=a b,c,B=2,API_KEY=d e",
                                    "--variant=y:db_password=p,q", "--variant", "host", "--key"}),
              ElementsAre("run", "--variant", "x:host,my_token=***,B=2,API_KEY=***",
                          "--variant=y:db_password=***", "--variant", "host", "--key"));
  EXPECT_THAT(without_secrets(Words{"--variant", "x:OMPI_MCA_btl=self,tcp,KEY="}),
              ElementsAre("--variant", "x:OMPI_MCA_btl=self,tcp,KEY="));
}

}  // namespace
}  // namespace linkgain::test
