#include "linkgain/hardware/delivery.hpp"

#include <gtest/gtest.h>

#include "linkgain/base/errors.hpp"

namespace linkgain::test {
namespace {

TEST(Delivery, ComesBackFromItsLine) {
  for (const auto outcome :
       {Delivery::Outcome::arrived, Delivery::Outcome::not_arrived, Delivery::Outcome::gave_up}) {
    const Delivery delivery{outcome, "first to second: 3 of 4 words"};
    const std::string line = to_json_line(delivery);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_EQ(delivery_in(line), Reading<Delivery>(delivery)) << line;
  }
}

TEST(Delivery, IsMissingInOtherLines) {
  for (const char* line : {"", "{}", "[1]", "{\"delivery\": {}}", "no JSON",
                           "{\"delivery\": {\"outcome\": \"perhaps\", \"seen\": \"\"}}"}) {
    EXPECT_FALSE(delivery_in(line).measured()) << line;
    EXPECT_FALSE(delivery_in(line).reason().empty()) << line;
  }
}

TEST(Delivery, ItsRungsAreKnownByTheirNames) {
  for (const ProofRung rung : kValues<ProofRung>)
    EXPECT_EQ(from_name<ProofRung>(name_of(rung)), rung);
  EXPECT_THROW(from_name<ProofRung>("store"), UsageError);
}

}  // namespace
}  // namespace linkgain::test
