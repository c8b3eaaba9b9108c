#include "linkgain/base/units.hpp"

#include <gtest/gtest.h>

#include <set>

#include "linkgain/base/data_type.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

constexpr std::int64_t kLargest = std::int64_t{1} << 46;

TEST(ParseBytes, ReadsEverySuffixAsBinary) {
  EXPECT_EQ(parse_bytes("8").value, 8);
  EXPECT_EQ(parse_bytes("8B").value, 8);
  EXPECT_EQ(parse_bytes("64K").value, 65536);
  EXPECT_EQ(parse_bytes("3kb").value, 3072);
  EXPECT_EQ(parse_bytes("5m").value, 5 * 1048576);
  EXPECT_EQ(parse_bytes("1GiB").value, 1073741824);
  EXPECT_EQ(parse_bytes("2gib").value, 2147483648);
  EXPECT_EQ(parse_bytes("1TB").value, 1099511627776);
  EXPECT_EQ(parse_bytes("007").value, 7);
}

TEST(ParseBytes, ReadsUpToMoreThanANodeHas) {
  EXPECT_EQ(parse_bytes("70368744177664").value, kLargest);
  EXPECT_EQ(parse_bytes("64T").value, kLargest);
}

TEST(ParseBytes, RefusesEverythingElseWithTheAcceptedForm) {
  Situations answers;
  answers.refuse_each({"1Q",  "-1",      "",      "1.5G", "+1",  "G",   " 1",
                       "1 ",  "1 G",     "1GiBs", "1iB",  "1BB", "1KK", "0x10",
                       "1e3", "-0",      "-",     "0",    "0G",  "000", "9223372036854775808",
                       "65T", "9999999T"},
                      parse_bytes);
  answers.expect_golden("sizes_refused.txt");
}

TEST(ExactBytes, TakesTheLargestUnitThatDivides) {
  EXPECT_EQ(exact_bytes(Bytes{256 << 20}), "256MiB");
  EXPECT_EQ(exact_bytes(Bytes{1000}), "1000B");
  EXPECT_EQ(exact_bytes(Bytes{1536}), "1536B");
  EXPECT_EQ(exact_bytes(Bytes{1536 << 10}), "1536KiB");
  EXPECT_EQ(exact_bytes(Bytes{std::int64_t{1} << 30}), "1GiB");
  EXPECT_EQ(exact_bytes(Bytes{std::int64_t{3} << 50}), "3072TiB");
  EXPECT_EQ(exact_bytes(Bytes{0}), "0B");
}

TEST(ExactBytes, IsReadBack) {
  for (const std::int64_t value : {std::int64_t{1}, std::int64_t{1023}, std::int64_t{1} << 10,
                                   (std::int64_t{1} << 40) + 1024, kLargest}) {
    EXPECT_EQ(parse_bytes(exact_bytes(Bytes{value})).value, value);
  }
}

TEST(RoundUp, GivesTheLeastMultipleThatIsNotBelow) {
  EXPECT_EQ(round_up(0, 64), 0);
  EXPECT_EQ(round_up(1, 64), 64);
  EXPECT_EQ(round_up(64, 64), 64);
  EXPECT_EQ(round_up(65, 64), 128);
  EXPECT_EQ(round_up(6, 5), 10);
  EXPECT_EQ(round_up(7, 1), 7);
  constexpr std::int64_t kPages = std::int64_t{1} << 50;
  EXPECT_EQ(round_up(kPages - 1, 4096), kPages);
}

TEST(ReadableBytes, SeparatesNumberAndUnit) {
  EXPECT_EQ(readable_bytes(Bytes{256 << 20}), "256 MiB");
  EXPECT_EQ(readable_bytes(Bytes{8}), "8 B");
  EXPECT_EQ(readable_bytes(Bytes{0}), "0 B");
}

TEST(ReadableBytes, IsShortBesideRoundSizesToo) {
  EXPECT_EQ(readable_bytes(Bytes{(32 << 20) + 4}), "32 MiB + 4 B");
  EXPECT_EQ(readable_bytes(Bytes{(32 << 20) - 4}), "32 MiB - 4 B");
  EXPECT_EQ(readable_bytes(Bytes{(std::int64_t{1} << 30) + 1000}), "1 GiB + 1000 B");
  EXPECT_EQ(readable_bytes(Bytes{1000000004}), "1000000004 B");
  EXPECT_EQ(readable_bytes(Bytes{1536 << 10}), "1536 KiB");
  EXPECT_EQ(readable_bytes(Bytes{1028}), "1028 B");
  EXPECT_EQ(readable_bytes(Bytes{1000000}), "1000000 B");
  EXPECT_EQ(exact_bytes(Bytes{(32 << 20) + 4}), "33554436B") << "which options read";
}

TEST(Counted, SaysOneOfOneOnly) {
  EXPECT_EQ(counted(1, "recovery", "recoveries"), "1 recovery");
  EXPECT_EQ(counted(2, "recovery", "recoveries"), "2 recoveries");
  EXPECT_EQ(counted(0, "recovery", "recoveries"), "0 recoveries");
}

TEST(ReadableTime, HasTwoDecimalsBelowAHundredAndOneAbove) {
  EXPECT_EQ(readable_time(Seconds{3.27e-3}), "3.27 ms");
  EXPECT_EQ(readable_time(Seconds{39e-3}), "39.00 ms");
  EXPECT_EQ(readable_time(Seconds{6.51e-6}), "6.51 us");
  EXPECT_EQ(readable_time(Seconds{101.94}), "101.9 s");
  EXPECT_EQ(readable_time(Seconds{830e-9}), "830.0 ns");
  EXPECT_EQ(readable_time(Seconds{12345.67}), "12345.7 s");
  EXPECT_EQ(readable_time(Seconds{0.25e-9}), "0.25 ns");
  EXPECT_EQ(readable_time(Seconds{0.0}), "0 s");
  EXPECT_EQ(readable_time(Seconds{-3.27e-3}), "-3.27 ms");
}

TEST(ReadableTime, RoundsOverTheBordersOfDecimalsAndUnits) {
  EXPECT_EQ(readable_time(Seconds{999.94e-6}), "999.9 us");
  EXPECT_EQ(readable_time(Seconds{999.996e-6}), "1.00 ms");
  EXPECT_EQ(readable_time(Seconds{999.96e-9}), "1.00 us");
  EXPECT_EQ(readable_time(Seconds{0.99996}), "1.00 s");
  EXPECT_EQ(readable_time(Seconds{999.96}), "1000.0 s");
  EXPECT_EQ(readable_time(Seconds{99.994e-3}), "99.99 ms");
  EXPECT_EQ(readable_time(Seconds{99.996e-3}), "100.0 ms");
}

TEST(ReadableBandwidth, KeepsThreeToFourDigits) {
  EXPECT_EQ(readable_bandwidth(329.14), "329.1 GB/s");
  EXPECT_EQ(readable_bandwidth(27.5), "27.5 GB/s");
  EXPECT_EQ(readable_bandwidth(10.04), "10.0 GB/s");
  EXPECT_EQ(readable_bandwidth(3.279), "3.28 GB/s");
  EXPECT_EQ(readable_bandwidth(0.4), "0.400 GB/s");
  EXPECT_EQ(readable_bandwidth(0.001219), "0.00122 GB/s");
  EXPECT_EQ(readable_bandwidth(0.0000123), "0.0000123 GB/s");
  EXPECT_EQ(readable_bandwidth(0.0), "0 GB/s");
}

TEST(ReadableBandwidth, RoundsOverTheBorders) {
  EXPECT_EQ(readable_bandwidth(9.994), "9.99 GB/s");
  EXPECT_EQ(readable_bandwidth(9.996), "10.0 GB/s");
  EXPECT_EQ(readable_bandwidth(0.9994), "0.999 GB/s");
  EXPECT_EQ(readable_bandwidth(0.9996), "1.00 GB/s");
  EXPECT_EQ(readable_bandwidth(0.0099996), "0.0100 GB/s");
}

TEST(GigabytesPerSecond, DividesByAThousandMillion) {
  EXPECT_DOUBLE_EQ(gigabytes_per_second(Bytes{1'000'000'000}, Seconds{0.5}), 2.0);
  EXPECT_NEAR(gigabytes_per_second(Bytes{1073741824}, Seconds{3.27e-3}), 328.36, 0.01);
  EXPECT_EQ(gigabytes_per_second(Bytes{8}, Seconds{0.0}), 0.0);
}

TEST(DataTypes, HaveTheSizeThatTheirNameSays) {
  EXPECT_EQ(size_of(DataType::bfloat16), 2);
  for (const DataType type : kValues<DataType>) {
    const std::string name(name_of(type));
    // The first digits of a name are its bits: float8e4m3 has 8.
    const int bits = std::stoi(name.substr(name.find_first_of("0123456789")));
    EXPECT_EQ(size_of(type) * 8, bits) << name;
  }
}

TEST(DataTypes, AreReadBackFromTheirDistinctNames) {
  std::set<std::string_view> names;
  for (const DataType type : kValues<DataType>) {
    EXPECT_EQ(from_name<DataType>(name_of(type)), type);
    names.insert(name_of(type));
  }
  EXPECT_EQ(names.size(), kValues<DataType>.size());
  EXPECT_EQ(names.size(), 12U);
}

TEST(DataTypes, AreReadBackFromTheirNamesInNcclTests) {
  for (const DataType type : kValues<DataType>) {
    EXPECT_EQ(parse_nccl_tests_type(nccl_tests_name(type)), type);
  }
  EXPECT_EQ(nccl_tests_name(DataType::float16), "half");
  EXPECT_EQ(nccl_tests_name(DataType::bfloat16), "bfloat16");
  EXPECT_THROW(parse_nccl_tests_type("float16"), UsageError) << "which is ours";
}

TEST(Reductions, AreReadBackFromTheirNames) {
  for (const Reduction reduction : kValues<Reduction>) {
    EXPECT_EQ(from_name<Reduction>(name_of(reduction)), reduction);
  }
  EXPECT_EQ(name_of(Reduction::avg), "avg");
}

TEST(DataTypesAndReductions, RefuseOtherNamesWithTheNearest) {
  Situations answers;
  answers.refuse_each({"bfloat61", "Float32", ""}, from_name<DataType>);
  answers.refuse_each({"mxa"}, from_name<Reduction>);
  answers.expect_golden("names_refused.txt");
}

TEST(PercentOfDigits, WritesNoExponent) {
  EXPECT_EQ(percent_of_digits(0.0041, 2), "0.41 %");
  EXPECT_EQ(percent_of_digits(0.996, 2), "100 %");
  EXPECT_EQ(percent_of_digits(1.64, 2), "164 %");
}

}  // namespace
}  // namespace linkgain::test
