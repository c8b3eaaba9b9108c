#include "linkgain/base/secrets.hpp"

#include <gmock/gmock.h>

#include <array>

namespace linkgain::test {
namespace {

using testing::ElementsAre;
using Words = std::vector<std::string>;

TEST(Secrets, AreKnownByTheVariablesName) {
  for (const char* name : {"HF_TOKEN",          "HF_TOKEN_1",      "aws_secret_access_key",
                           "AWS_ACCESS_KEY_ID", "PGPASSWORD",      "SSHPASS",
                           "MYSQL_PWD",         "SECRET_KEY_BASE", "WANDB_API_KEY",
                           "OPENAI_APIKEY",     "MY_PASS",         "MY_SECRET",
                           "OMPI_MCA_a_token",  "db_passwd",       "KEY",
                           "accessToken",       "GPG_PASSPHRASE",  "--oauth2-bearer",
                           "Authorization",     "-HAuthorization"}) {
    EXPECT_TRUE(is_secret(name)) << name;
  }
  for (const char* name : {"PATH", "PWD", "NCCL_ALGO", "OMPI_MCA_btl", "NCCL_IB_PKEY",
                           "TOKENIZERS_PARALLELISM", "MAX_TOKENS", "KEY_SIZE", "COMPASS", "MONKEY",
                           "TOKEN_FILE", "PASSES", "HFToken", "1", "_", ""}) {
    EXPECT_FALSE(is_secret(name)) << name;
  }
  EXPECT_EQ(without_secrets(Environment{{"HF_TOKEN", "hf_abc"}, {"NCCL_ALGO", "Ring"}}),
            (Environment{{"HF_TOKEN", "***"}, {"NCCL_ALGO", "Ring"}}));
  EXPECT_EQ(without_secrets(Environment{{"HTTPS_PROXY", "http://me:V1@host:80"}}),
            (Environment{{"HTTPS_PROXY", "http://me:***@host:80"}}));
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

struct MaskedText {
  const char* given;
  const char* shown;
};

constexpr std::array kForms{
    MaskedText{"wandb.api_key=V1", "wandb.api_key=***"},
    MaskedText{"my_token=V1", "my_token=***"},
    MaskedText{"++login.password='V1 V2' lr=3", "++login.password=*** lr=3"},
    MaskedText{"accessToken=V1", "accessToken=***"},
    MaskedText{"-DHF_TOKEN_1=V1", "-DHF_TOKEN_1=***"},
    MaskedText{"--env.HF_TOKEN_1=V1", "--env.HF_TOKEN_1=***"},
    MaskedText{"--pass V1 --lr 3", "--pass *** --lr 3"},
    MaskedText{"-pass V1 -v", "-pass *** -v"},
    MaskedText{"--passwd=V1", "--passwd=***"},
    MaskedText{"--apikey V1", "--apikey ***"},
    MaskedText{"--oauth2-bearer V1", "--oauth2-bearer ***"},
    MaskedText{"--token:V1 --lr 3", "--token:*** --lr 3"},
    MaskedText{"https://host/x?token=V1&lr=3", "https://host/x?token=***&lr=3"},
    MaskedText{"https://me:V1@host:8080/x lr=3", "https://me:***@host:8080/x lr=3"},
    MaskedText{"redis://:V1@2@host 'x://a:V1@b'", "redis://:***@host 'x://a:***@b'"},
    MaskedText{R"({"api_key": "V1", "lr": 3})", R"({"api_key": ***, "lr": 3})"},
    MaskedText{R"({"lr":3,"apiKey":"V1 V2"})", R"({"lr":3,"apiKey":***})"},
    MaskedText{R"(x '{"token" : 71}' --lr 3)", R"(x '{"token" : ***}' --lr 3)"},
    MaskedText{"{'password':\n  'V1'}", "{'password':\n  ***}"},
    MaskedText{R"("{\"api_key\": \"V1 V2\"}" --lr 3)", R"("{\"api_key\": ***}" --lr 3)"},
    MaskedText{"Authorization: Bearer V1", "Authorization: ***"},
    MaskedText{"authorization:Basic V1\nAccept: all", "authorization:***\nAccept: all"},
    MaskedText{"-HAuthorization: Bearer V1", "-HAuthorization: ***"},
    MaskedText{"curl -H 'Authorization: Bearer V1' url", "curl -H 'Authorization: ***' url"},
    MaskedText{"--header \"X-Api-Key: V1\" url", "--header \"X-Api-Key: ***\" url"},
    MaskedText{"headers.Authorization=Bearer V1", "headers.Authorization=***"},
    MaskedText{"x --token \\\n  V1 \\\n  --lr 3", "x --token \\\n  *** \\\n  --lr 3"},
    MaskedText{"x --token\\\n V1; y", "x --token\\\n ***; y"},
    MaskedText{"x --token V1\\\nV2 --lr 3", "x --token *** --lr 3"},
    MaskedText{"x --token V1\\ V2 --lr 3", "x --token *** --lr 3"},
    MaskedText{"HF_TOKEN=\\\nV1 x", "HF_TOKEN=*** x"},
};

TEST(Secrets, AreMaskedInTheFormsThatProgramsTake) {
  for (const MaskedText& each : kForms) {
    EXPECT_EQ(without_secrets(each.given), each.shown);
    EXPECT_EQ(without_secrets(each.shown), each.shown) << "again";
  }
  EXPECT_THAT(without_secrets(Words{"t.py", "wandb.api_key=V1", "--pass", "V1", "--token:V1 V2",
                                    "-H", "Authorization: Bearer V1", R"({"api_key":"V1"})"}),
              ElementsAre("t.py", "wandb.api_key=***", "--pass", "***", "--token:***", "-H",
                          "Authorization: ***", R"({"api_key":***})"));
}

TEST(Secrets, AreNotWhatHasAWordOfThemInItsName) {
  for (const char* text : {"--tokenizer gpt2",
                           "--max-tokens 512",
                           "--num_tokens=5",
                           "--keys a",
                           "monkey=3",
                           "model.key_size=64",
                           "--token_file PATH",
                           "--passes 3",
                           "keyword: x",
                           "turnkey=1",
                           "--compass n",
                           R"({"max_tokens": 5, "tokenizer": "gpt2"})",
                           "the key and the token",
                           "key",
                           "-",
                           "a:b=c",
                           "-DMAX=3",
                           "--hotkeys=q",
                           "https://host:80/a@b",
                           "ssh://me@host:22"}) {
    EXPECT_EQ(without_secrets(text), text);
    EXPECT_THAT(without_secrets(Words{text, "next"}), testing::Contains("next"))
        << text << ": no value is the next word";
  }
}

TEST(Secrets, AreMaskedInVariantsAsTheyAreRead) {
  EXPECT_THAT(without_secrets(Words{"run", "--variant", "x:host,my_token=a b,c,B=2,API_KEY=d e",
                                    "--variant=y:db_password=p,q", "--variant", "host", "--key"}),
              ElementsAre("run", "--variant", "x:host,my_token=***,B=2,API_KEY=***",
                          "--variant=y:db_password=***", "--variant", "host", "--key"));
  EXPECT_THAT(without_secrets(Words{"--variant", "x:OMPI_MCA_btl=self,tcp,KEY="}),
              ElementsAre("--variant", "x:OMPI_MCA_btl=self,tcp,KEY="));
  EXPECT_THAT(without_secrets(Words{"--variant", "x:HTTPS_PROXY=http://me:V1@host:80,B=2"}),
              ElementsAre("--variant", "x:HTTPS_PROXY=http://me:***@host:80,B=2"));
}

TEST(Secrets, AreMaskedWhereverTheyStandOnceTheyAreKnown) {
  KnownSecrets secrets;
  secrets.add(Environment{{"HF_TOKEN", "hf_abcdef"}, {"HOME", "/home/me"}, {"PASS", "short"}});
  secrets.add(Words{"serve", "--api-key", "sk-123456", "--variant", "x:my_token=one, two,B=2"});
  secrets.add(
      "curl -H 'Authorization: Bearer eyJhbGci' https://me:url-word@host; x --token 'a b'cd\\\nef");
  secrets.add("x --token \"$HF_TOKEN\"");
  EXPECT_EQ(secrets.masked("no hf_abcdef, sk-123456 or eyJhbGci at /home/me, hf_abcdefhf_abcdef"),
            "no ***, *** or *** at /home/me, ******");
  EXPECT_EQ(secrets.masked("one, two; url-word; a bcdef; short; $HF_TOKEN; serve"),
            "***; ***; ***; short; $HF_TOKEN; serve");
  EXPECT_EQ(KnownSecrets().masked("all"), "all");
}

// Masks a value that has another one in it, so that nothing is left of it.
TEST(Secrets, AreMaskedWhole) {
  KnownSecrets secrets;
  secrets.add(Words{"--token", "abcdef", "--key", "abcdef-rest"});
  EXPECT_EQ(secrets.masked("abcdef-rest abcdef"), "*** ***");
}

}  // namespace
}  // namespace linkgain::test
