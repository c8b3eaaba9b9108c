#include "linkgain/gpt2/gpt2_config.hpp"

#include <gtest/gtest.h>

#include "linkgain/base/errors.hpp"

namespace linkgain::test {
namespace {

TEST(Gpt2Config, PadsTheVocabulary) {
  EXPECT_EQ(padded_vocabulary(gpt2_config(ModelSize::gpt2)), 50304);
  EXPECT_EQ(padded_vocabulary(gpt2_config(ModelSize::tiny)), 192);
  EXPECT_EQ(padded_vocabulary({.vocabulary = 128}), 128);
}

TEST(Validate, RefusesWhatDoesNotFit) {
  const Gpt2Config tiny = gpt2_config(ModelSize::tiny);
  EXPECT_NO_THROW(validate(tiny, {1, 32}));
  EXPECT_THROW(validate(tiny, {0, 32}), UsageError);
  EXPECT_THROW(validate(tiny, {1, 0}), UsageError);
  EXPECT_THROW(validate(tiny, {1, 33}), UsageError);
  Gpt2Config odd = tiny;
  odd.heads = 3;
  EXPECT_THROW(validate(odd, {1, 32}), UsageError);
  for (int Gpt2Config::*const each :
       {&Gpt2Config::vocabulary, &Gpt2Config::positions, &Gpt2Config::channels, &Gpt2Config::layers,
        &Gpt2Config::heads}) {
    Gpt2Config none = tiny;
    none.*each = 0;
    EXPECT_THROW(validate(none, {1, 1}), UsageError);
  }
}

}  // namespace
}  // namespace linkgain::test
