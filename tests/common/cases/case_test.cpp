#include "linkgain/cases/case.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "linkgain/base/errors.hpp"

namespace linkgain {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr Bytes kGibibyte{std::int64_t{1} << 30};

Case all_reduce() {
  Case c;
  c.size = kGibibyte;
  return c;
}

Case send_recv(std::optional<Pair> pair = std::nullopt) {
  Case c;
  c.operation = OperationKind::send_recv;
  c.size = kGibibyte;
  c.pair = pair;
  return c;
}

std::string refusal(std::string_view name) {
  try {
    parse_case_name(name);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

std::string invalidity(const Case& c) {
  try {
    validate(c);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "valid";
}

TEST(CaseName, LeavesOutDefaultsAndFieldsThatTheOperationLacks) {
  EXPECT_EQ(case_name(all_reduce()), "all_reduce/float32/sum/1GiB/np2");
  EXPECT_EQ(case_name(send_recv()), "send_recv/float32/1GiB/np2");
  EXPECT_EQ(case_name(send_recv(Pair{0, 1, false})), "send_recv/float32/1GiB/np2/pair=0-1");
  EXPECT_EQ(case_name(send_recv(Pair{0, 1, true})), "send_recv/float32/1GiB/np2/pair=0-1/both");
}

TEST(CaseName, HasOptionsInTheOneOrder) {
  Case c = all_reduce();
  c.type = DataType::bfloat16;
  c.reduction = Reduction::avg;
  c.size = Bytes{1000};
  c.ranks = 8;
  c.in_place = true;
  c.launch = LaunchMode::graph;
  EXPECT_EQ(case_name(c), "all_reduce/bfloat16/avg/1000B/np8/inplace/graph");
  Case p = send_recv(Pair{3, 0, true});
  p.ranks = 4;
  p.launch = LaunchMode::graph;
  EXPECT_EQ(case_name(p), "send_recv/float32/1GiB/np4/graph/pair=3-0/both");
}

TEST(CurveName, IsTheNameWithoutItsSize) {
  Case c = all_reduce();
  c.in_place = true;
  EXPECT_EQ(curve_name(c), "all_reduce/float32/sum/np2/inplace");
  EXPECT_EQ(curve_name(send_recv(Pair{1, 0, false})), "send_recv/float32/np2/pair=1-0");
}

std::vector<Case> every_form(Case base) {
  std::vector<Case> cases;
  const bool reduces = has_reduction(base.operation);
  std::vector<std::optional<Pair>> pairs{std::nullopt};
  if (base.operation == OperationKind::ping_pong) pairs = {Pair{0, 1, false}, Pair{1, 0, false}};
  if (base.operation == OperationKind::send_recv) {
    pairs = {std::nullopt, Pair{0, 1, false}, Pair{1, 0, true}};
  }
  for (const Reduction reduction : kReductions) {
    if (!reduces && reduction != Reduction::sum) continue;
    for (const LaunchMode launch : {LaunchMode::stream, LaunchMode::graph}) {
      for (const bool in_place : {false, true}) {
        if (in_place && !has_in_place_form(base.operation)) continue;
        for (const std::optional<Pair>& pair : pairs) {
          base.reduction = reduction;
          base.launch = launch;
          base.in_place = in_place;
          base.pair = pair;
          cases.push_back(base);
        }
      }
    }
  }
  return cases;
}

TEST(ParseCaseName, IsTheInverseOfCaseName) {
  int seen = 0;
  for (const OperationKind operation : kOperations) {
    if (!has_type(operation)) continue;  // memory_operations_test and training_parameters_test
    for (const DataType type : kDataTypes) {
      for (const std::int64_t elements : {1, 250, 1 << 20}) {
        for (const int ranks : {2, 3, 1024}) {
          const bool split = is_split_over_ranks(operation);
          const Bytes size{elements * size_of(type) * (split ? ranks : 1)};
          Case base{operation, type, Reduction::sum, size, ranks, false, {}, std::nullopt};
          for (const Case& c : every_form(base)) {
            EXPECT_EQ(parse_case_name(case_name(c)), c) << case_name(c);
            ++seen;
          }
        }
      }
    }
  }
  // Reductions, launch modes, places; else pairs.
  const int forms = 3 * 6 * 2 * 2 + 5 * 2 * 2 + 2 * 2 * 3 + 2 * 2;
  EXPECT_EQ(seen, 12 * 3 * 3 * forms);
}

TEST(ParseCaseName, NamesTheUnknownFieldAndTheNearest) {
  EXPECT_EQ(refusal("all_reduc/float32/sum/1GiB/np2"),
            "case 'all_reduc/float32/sum/1GiB/np2': unknown operation 'all_reduc': did you mean "
            "all_reduce? (" +
                operation_names() + ")");
  EXPECT_THAT(refusal("all_reduce/float23/sum/1GiB/np2"),
              HasSubstr("unknown data type 'float23': did you mean float32?"));
  EXPECT_THAT(refusal("all_reduce/float32/sun/1GiB/np2"),
              HasSubstr("unknown reduction 'sun': did you mean sum?"));
  EXPECT_THAT(refusal("all_reduce/float32/sum/1QiB/np2"), HasSubstr("size '1QiB'"));
  EXPECT_THAT(refusal("all_reduce/float32/sum/1GiB/2"),
              HasSubstr("number of ranks '2': write np2 to np1024"));
  EXPECT_THAT(refusal("all_reduce/float32/sum/1GiB/np2/grpah"),
              HasSubstr("unknown field 'grpah': did you mean graph?"));
  EXPECT_THAT(refusal("all_reduce/float32/sum/1GiB/np2/"), HasSubstr("unknown field ''"));
  EXPECT_THAT(refusal("send_recv/float32/1GiB/np2/pair=01"), HasSubstr("field 'pair=01'"));
  EXPECT_THAT(refusal("send_recv/float32/1GiB/np2/pair=0-1-1"), HasSubstr("field 'pair=0-1-1'"));
  EXPECT_THAT(refusal("send_recv/float32/1GiB/np2/pair=-1-0"), HasSubstr("field 'pair=-1-0'"));
}

TEST(ParseCaseName, NamesTheMissingField) {
  EXPECT_THAT(refusal(""), HasSubstr("the operation is missing"));
  EXPECT_THAT(refusal("all_reduce"), HasSubstr("the data type is missing"));
  EXPECT_THAT(refusal("all_reduce/float32"), HasSubstr("the reduction is missing"));
  EXPECT_THAT(refusal("send_recv/float32"), HasSubstr("the size is missing"));
  EXPECT_THAT(refusal("all_reduce/float32/sum/1GiB"), HasSubstr("the number of ranks is missing"));
  EXPECT_THAT(refusal("send_recv/float32/1GiB/np2/both"), HasSubstr("'both' needs a field pair"));
}

TEST(ParseCaseName, RefusesOtherOrdersAndSpellingsWithTheValidName) {
  const auto meant = [](std::string_view field, std::string_view valid) {
    return AllOf(HasSubstr("field '" + std::string(field) + "'"),
                 HasSubstr("did you mean " + std::string(valid) + "?"));
  };
  EXPECT_THAT(refusal("all_reduce/float32/sum/1GiB/np2/graph/inplace"),
              meant("graph", "all_reduce/float32/sum/1GiB/np2/inplace/graph"));
  EXPECT_THAT(refusal("send_recv/float32/1GiB/np2/both/pair=0-1"),
              meant("both", "send_recv/float32/1GiB/np2/pair=0-1/both"));
  EXPECT_THAT(refusal("send_recv/float32/1GiB/np2/pair=0-1/graph"),
              meant("pair=0-1", "send_recv/float32/1GiB/np2/graph/pair=0-1"));
  EXPECT_THAT(refusal("all_reduce/float32/sum/1024MiB/np2"),
              meant("1024MiB", "all_reduce/float32/sum/1GiB/np2"));
  EXPECT_THAT(refusal("all_reduce/float32/sum/8/np2"), meant("8", "all_reduce/float32/sum/8B/np2"));
  EXPECT_THAT(refusal("all_reduce/float32/sum/1GiB/np02"),
              meant("np02", "all_reduce/float32/sum/1GiB/np2"));
  EXPECT_THAT(refusal("send_recv/float32/1GiB/np2/pair=0-01"),
              meant("pair=0-01", "send_recv/float32/1GiB/np2/pair=0-1"));
}

TEST(ParseCaseName, RefusesFieldsGivenTwice) {
  const std::string reduce = "all_reduce/float32/sum/1GiB/np2";
  const std::string pair = "send_recv/float32/1GiB/np2/pair=0-1";
  EXPECT_THAT(refusal(reduce + "/inplace/inplace"), HasSubstr("inplace was given before"));
  EXPECT_THAT(refusal(reduce + "/graph/graph"), HasSubstr("graph was given before"));
  EXPECT_THAT(refusal(pair + "/pair=1-0"), HasSubstr("pair was given before"));
  EXPECT_THAT(refusal(pair + "/both/both"), HasSubstr("both was given before"));
}

TEST(ParseCaseName, RefusesContradictions) {
  EXPECT_THAT(refusal("all_reduce/float32/sum/1001B/np2"),
              HasSubstr("size 1001B: no multiple of the 4 bytes of float32, the nearest is 1000B"));
  EXPECT_THAT(refusal("all_reduce/float64/sum/4B/np2"), HasSubstr("the nearest is 8B"));
  EXPECT_THAT(refusal("all_reduce/float64/sum/9223372036854775807B/np2"),
              HasSubstr("the nearest is 9223372036854775800B"));
  EXPECT_THAT(refusal("all_reduce/float32/sum/1GiB/np1"), HasSubstr("from np2 to np1024"));
  EXPECT_THAT(refusal("all_reduce/float32/sum/1GiB/np1025"), HasSubstr("from np2 to np1024"));
  EXPECT_THAT(refusal("send_recv/float32/1GiB/np2/pair=0-2"), HasSubstr("ranks of np2 are 0 to 1"));
  EXPECT_THAT(refusal("send_recv/float32/1GiB/np2/pair=1-1"), HasSubstr("must differ"));
  EXPECT_THAT(refusal("ping_pong/float32/1GiB/np2/inplace/pair=0-1"), HasSubstr("field 'inplace'"));
  EXPECT_THAT(refusal("send_recv/float32/sum/1GiB/np2"),
              HasSubstr("field 'sum': send_recv has no reduction"));
  EXPECT_THAT(refusal("all_reduce/float32/sum/1GiB/np2/pair=0-1"), HasSubstr("field 'pair'"));
}

TEST(Validate, AcceptsWhatNamesCanSay) {
  EXPECT_EQ(invalidity(all_reduce()), "valid");
  EXPECT_EQ(invalidity(send_recv()), "valid");
  EXPECT_EQ(invalidity(send_recv(Pair{1, 0, true})), "valid");
}

TEST(Validate, RefusesContradictionsInTheStruct) {
  const auto with = [](Case c, auto change) {
    change(c);
    return invalidity(c);
  };
  EXPECT_THAT(with(all_reduce(), [](Case& c) { c.size = Bytes{0}; }), HasSubstr("at least one"));
  EXPECT_THAT(with(all_reduce(), [](Case& c) { c.size = Bytes{-4}; }), HasSubstr("at least one"));
  EXPECT_THAT(with(all_reduce(), [](Case& c) { c.size = Bytes{6}; }), HasSubstr("no multiple"));
  EXPECT_THAT(with(all_reduce(), [](Case& c) { c.ranks = 1; }), HasSubstr("np2 to np1024"));
  EXPECT_THAT(with(all_reduce(), [](Case& c) { c.ranks = 1025; }), HasSubstr("np2 to np1024"));
  EXPECT_THAT(with(all_reduce(), [](Case& c) { c.pair = Pair{}; }), HasSubstr("'pair'"));
  EXPECT_THAT(with(send_recv(), [](Case& c) { c.in_place = true; }), "valid") << "in older records";
  EXPECT_THAT(with(send_recv(Pair{0, 1, false}),
                   [](Case& c) {
                     c.operation = OperationKind::ping_pong;
                     c.in_place = true;
                   }),
              HasSubstr("'inplace'"));
  EXPECT_THAT(with(send_recv(), [](Case& c) { c.reduction = Reduction::max; }),
              HasSubstr("reduction 'max'"));
  EXPECT_THAT(invalidity(send_recv(Pair{-1, 0, false})), HasSubstr("0 to 1"));
  EXPECT_THAT(invalidity(send_recv(Pair{0, 2, false})), HasSubstr("0 to 1"));
  EXPECT_THAT(invalidity(send_recv(Pair{1, 1, false})), HasSubstr("must differ"));
}

TEST(LaunchModes, AreReadBackFromTheirNames) {
  EXPECT_EQ(parse_launch_mode("stream"), LaunchMode::stream);
  EXPECT_EQ(parse_launch_mode("graph"), LaunchMode::graph);
  EXPECT_EQ(name_of(LaunchMode::stream), "stream");
  EXPECT_EQ(name_of(LaunchMode::graph), "graph");
  EXPECT_THROW(parse_launch_mode("grpah"), UsageError);
}

TEST(Bandwidth, IsSizeOverTimeAndTheBusTheFactorTimesThat) {
  Case c = all_reduce();
  c.size = Bytes{4'000'000'000};
  c.ranks = 4;
  EXPECT_DOUBLE_EQ(algorithm_bandwidth(c, Seconds{2.0}), 2.0);
  EXPECT_DOUBLE_EQ(bus_bandwidth(c, Seconds{2.0}), 3.0);
  c.operation = OperationKind::send_recv;
  EXPECT_DOUBLE_EQ(bus_bandwidth(c, Seconds{2.0}), 2.0);
}

TEST(Case, CountsElements) {
  Case c = all_reduce();
  c.type = DataType::float64;
  EXPECT_EQ(c.elements(), 134217728);
}

}  // namespace
}  // namespace linkgain
