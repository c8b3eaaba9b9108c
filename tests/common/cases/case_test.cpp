#include "linkgain/cases/case.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "linkgain/cases/case_label.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

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
  for (const Reduction reduction : kValues<Reduction>) {
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
    if (!calls_library(operation)) continue;  // memory_operations_test and training_parameters_test
    for (const DataType type : kValues<DataType>) {
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

TEST(ParseCaseName, RefusesOtherNames) {
  Situations answers;
  answers.about("unknown fields, and the nearest");
  answers.refuse_each(
      {"all_reduc/float32/sum/1GiB/np2", "all_reduce/float23/sum/1GiB/np2",
       "all_reduce/float32/sun/1GiB/np2", "all_reduce/float32/sum/1QiB/np2",
       "all_reduce/float32/sum/1GiB/2", "all_reduce/float32/sum/1GiB/np2/grpah",
       "all_reduce/float32/sum/1GiB/np2/", "send_recv/float32/1GiB/np2/pair=01",
       "send_recv/float32/1GiB/np2/pair=0-1-1", "send_recv/float32/1GiB/np2/pair=-1-0",
       "reduce/float32/sum/1KiB/np2/root=-1", "reduce/float32/sum/1KiB/np2/plain"},
      parse_case_name);
  answers.about("missing fields");
  answers.refuse_each(
      {"", "all_reduce", "all_reduce/float32", "send_recv/float32", "all_reduce/float32/sum/1GiB",
       "send_recv/float32/1GiB/np2/both", "ping_pong/float32/8B/np2"},
      parse_case_name);
  answers.about("other orders and spellings");
  answers.refuse_each(
      {"all_reduce/float32/sum/1GiB/np2/graph/inplace", "send_recv/float32/1GiB/np2/both/pair=0-1",
       "send_recv/float32/1GiB/np2/pair=0-1/graph", "reduce/float32/sum/1KiB/np2/root=1/registered",
       "all_reduce/float32/sum/1024MiB/np2", "all_reduce/float32/sum/8/np2",
       "all_reduce/float32/sum/1GiB/np02", "send_recv/float32/1GiB/np2/pair=0-01",
       "reduce/float32/sum/1KiB/np2/root=01", "reduce/float32/sum/1KiB/np2/root=0"},
      parse_case_name);
  answers.about("fields given twice");
  answers.refuse_each({"all_reduce/float32/sum/1GiB/np2/inplace/inplace",
                       "all_reduce/float32/sum/1GiB/np2/graph/graph",
                       "all_reduce/float32/sum/1KiB/np2/kernel/kernel",
                       "send_recv/float32/1GiB/np2/pair=0-1/pair=1-0",
                       "send_recv/float32/1GiB/np2/pair=0-1/both/both",
                       "reduce/float32/sum/1KiB/np2/registered/registered",
                       "reduce/float32/sum/1KiB/np2/registered/symmetric",
                       "reduce/float32/sum/1KiB/np2/root=1/root=1"},
                      parse_case_name);
  answers.about("sizes that are no whole elements");
  answers.refuse_each({"all_reduce/float32/sum/1001B/np2", "all_reduce/float64/sum/4B/np2",
                       "all_reduce/float64/sum/70368744177663B/np2", "all_gather/float32/16B/np3",
                       "scatter/float64/4KiB/np3", "alltoall/int8/1B/np4",
                       "reduce_scatter/float64/sum/70368744177663B/np8"},
                      parse_case_name);
  answers.about("ranks that cannot be");
  answers.refuse_each({"all_reduce/float32/sum/1GiB/np1", "all_reduce/float32/sum/1GiB/np1025",
                       "send_recv/float32/1GiB/np2/pair=0-2", "send_recv/float32/1GiB/np2/pair=1-1",
                       "ping_pong/float32/8B/np2/pair=0-2", "gather/float32/1KiB/np2/root=2"},
                      parse_case_name);
  answers.about("what the operation lacks");
  answers.refuse_each(
      {"send_recv/float32/sum/1GiB/np2", "broadcast/float32/sum/1KiB/np2",
       "all_reduce/float32/sum/1GiB/np2/pair=0-1", "broadcast/float32/1KiB/np2/pair=0-1",
       "all_reduce/float32/sum/1KiB/np2/root=1", "ping_pong/float32/1GiB/np2/inplace/pair=0-1",
       "ping_pong/float32/8B/np2/pair=0-1/both", "reduce/float32/sum/1KiB/np2/kernel",
       "all_reduce/int32/sum/1KiB/np2/kernel", "all_reduce/float32/max/1KiB/np2/kernel",
       "all_reduce/float32/sum/1KiB/np9/kernel",
       "all_reduce/float32/sum/1KiB/np2/symmetric/kernel"},
      parse_case_name);
  answers.expect_golden("case_names_refused.txt");
}

TEST(ParseCaseName, RefusesWhatMemoryAndProgramsLack) {
  Situations answers;
  answers.about("a product and a norm around it");
  answers.refuse_each(
      {"all_reduce/bfloat16/sum/8KiB/np2/graph/hidden=0",
       "all_reduce/bfloat16/sum/8KiB/np2/graph/hidden=100",
       "all_reduce/bfloat16/sum/6KiB/np2/graph/hidden=4096",
       "all_reduce/bfloat16/sum/8KiB/np2/hidden=4096",
       "all_reduce/float32/sum/16KiB/np2/graph/hidden=4096",
       "all_reduce/bfloat16/max/8KiB/np2/graph/hidden=4096",
       "all_reduce/bfloat16/sum/8KiB/np2/inplace/graph/hidden=4096",
       "send_recv/bfloat16/8KiB/np2/graph/hidden=4096", "product_norm/bfloat16/8KiB/np2/graph"},
      parse_case_name);
  answers.about("work on memory");
  answers.refuse_each(
      {"copy_push/float16/1KiB/np2", "copy_pull/1KiB/np2/graph", "one_to_all/1KiB/np2/registered",
       "all_to_one/1KiB/np9", "host_to_device/24B/np2", "latency/12B/np2/pair=0-1",
       "load_latency/64KiB/np2", "host_to_device/1KiB/np2/pair=0-1", "one_to_all/1KiB/np2/root=2"},
      parse_case_name);
  answers.about("programs");
  answers.refuse_each({"exec", "exec/", "exec/.hidden", "exec/a b",
                       "exec/a234567890123456789012345678901234567890x", "exec/time/higher",
                       "exec/tokens/lower", "exec/tokens/higher/np2"},
                      parse_case_name);
  answers.expect_golden("forms_refused.txt");
}

TEST(ParseCaseName, ReadsAProgramsMetric) {
  for (const char* name : {"exec/time", "exec/start-up", "exec/step", "exec/tokens/higher",
                           "exec/a_b.c+d-1", "exec/a23456789012345678901234567890123456789x"}) {
    EXPECT_EQ(case_name(parse_case_name(name)), name);
    EXPECT_EQ(curve_name(parse_case_name(name)), name) << "it has no size";
  }
  EXPECT_FALSE(parse_case_name("exec/tokens").metric->higher_is_better);
  EXPECT_TRUE(parse_case_name("exec/tokens/higher").metric->higher_is_better);
}

TEST(Validate, AcceptsWhatNamesCanSay) {
  EXPECT_NO_THROW(validate(all_reduce()));
  EXPECT_NO_THROW(validate(send_recv()));
  EXPECT_NO_THROW(validate(send_recv(Pair{1, 0, true})));
  Case in_place = send_recv();
  in_place.in_place = true;
  EXPECT_NO_THROW(validate(in_place)) << "in older records";
}

TEST(Validate, RefusesContradictionsInTheStruct) {
  Situations answers;
  const auto ask = [&](const char* what, Case c, auto change) {
    change(c);
    answers.refuse(what, [&] { validate(c); });
  };
  const auto is_pair = [&](const char* what, Pair pair) {
    ask(what, send_recv(pair), [](Case&) {});
  };
  ask("no bytes", all_reduce(), [](Case& c) { c.size = Bytes{0}; });
  ask("-4 bytes", all_reduce(), [](Case& c) { c.size = Bytes{-4}; });
  ask("6 bytes", all_reduce(), [](Case& c) { c.size = Bytes{6}; });
  ask("1 rank", all_reduce(), [](Case& c) { c.ranks = 1; });
  ask("1025 ranks", all_reduce(), [](Case& c) { c.ranks = 1025; });
  ask("all_reduce of a pair", all_reduce(), [](Case& c) { c.pair = Pair{}; });
  ask("ping_pong in place", send_recv(Pair{0, 1, false}), [](Case& c) {
    c.operation = OperationKind::ping_pong;
    c.in_place = true;
  });
  ask("send_recv's maximum", send_recv(), [](Case& c) { c.reduction = Reduction::max; });
  is_pair("pair -1-0", Pair{-1, 0, false});
  is_pair("pair 0-2", Pair{0, 2, false});
  is_pair("pair 1-1", Pair{1, 1, false});
  ask("root -1", all_reduce(), [](Case& c) {
    c.operation = OperationKind::broadcast;
    c.root = -1;
  });
  ask("a copy of float16", send_recv(), [](Case& c) {
    c.operation = OperationKind::copy_push;
    c.type = DataType::float16;
  });
  ask("all_reduce's metric", all_reduce(), [](Case& c) { c.metric.emplace(); });
  ask("a program without a metric", program_case({}), [](Case& c) { c.metric.reset(); });
  ask("a program on 2 ranks", program_case({}), [](Case& c) { c.ranks = 2; });
  answers.expect_golden("cases_refused.txt");
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

// Roots, kinds of buffers, kernels, ping_pong and sizes that are split over the ranks.

Case case_of(OperationKind operation, std::int64_t size, int ranks = 2) {
  Case c;
  c.operation = operation;
  c.size = Bytes{size};
  c.ranks = ranks;
  return c;
}

TEST(CaseForms, StandInTheNameInTheOneOrder) {
  Case c = case_of(OperationKind::broadcast, 1024, 4);
  EXPECT_EQ(case_name(c), "broadcast/float32/1KiB/np4");
  c.root = 3;
  EXPECT_EQ(case_name(c), "broadcast/float32/1KiB/np4/root=3");
  c.buffers = Buffers::registered;
  c.launch = LaunchMode::graph;
  c.in_place = true;
  EXPECT_EQ(case_name(c), "broadcast/float32/1KiB/np4/inplace/graph/registered/root=3");
  EXPECT_EQ(curve_name(c), "broadcast/float32/np4/inplace/graph/registered/root=3");
  Case kernel = case_of(OperationKind::all_reduce, 1024);
  kernel.kernel = true;
  kernel.launch = LaunchMode::graph;
  EXPECT_EQ(case_name(kernel), "all_reduce/float32/sum/1KiB/np2/graph/kernel");
  Case ping = case_of(OperationKind::ping_pong, 8);
  ping.pair = Pair{1, 0, false};
  ping.buffers = Buffers::symmetric;
  EXPECT_EQ(case_name(ping), "ping_pong/float32/8B/np2/symmetric/pair=1-0");
  ping.buffers = Buffers::allocated;
  EXPECT_EQ(case_name(ping), "ping_pong/float32/8B/np2/allocated/pair=1-0");
}

TEST(CaseForms, AreReadBack) {
  for (const OperationKind operation : kOperations) {
    if (is_training(operation)) continue;  // training_parameters_test has their names
    if (operation == OperationKind::product_norm) continue;
    for (const Buffers buffers : kValues<Buffers>) {
      for (const int root : {0, 1, 3}) {
        for (const bool kernel : {false, true}) {
          Case c = case_of(operation, 4096, 4);
          if (!works_on_memory(operation)) c.buffers = buffers;
          if (has_root(operation)) c.root = root;
          c.kernel = kernel && has_kernel(c);
          if (needs_pair(operation)) c.pair = Pair{3, 1, false};
          EXPECT_EQ(parse_case_name(case_name(c)), c) << case_name(c);
        }
      }
    }
  }
}

TEST(CaseForms, AreAccepted) {
  for (const char* name :
       {"all_reduce/bfloat16/sum/8KiB/np2/graph/hidden=4096",
        "all_reduce/bfloat16/sum/8KiB/np2/graph/hidden=4096/symmetric",
        "all_reduce/bfloat16/sum/8KiB/np2/graph/hidden=4096/kernel",
        "product_norm/bfloat16/64MiB/np8/graph/hidden=8192", "ping_pong/float32/8B/np2/pair=1-0",
        "all_gather/float32/24B/np3", "broadcast/float32/16B/np3",
        "alltoall/float32/1KiB/np2/inplace" /* in older records */}) {
    EXPECT_EQ(case_name(parse_case_name(name)), name);
  }
}

TEST(CaseForms, AProductBeforeAnOperationIsARanksPartOfADecoders) {
  const Case c = parse_case_name("all_reduce/bfloat16/sum/512KiB/np2/graph/hidden=4096");
  EXPECT_EQ(c.tokens(), 64);
  EXPECT_EQ(product_inner(c), 7168);
  EXPECT_EQ(product_inner(parse_case_name("product_norm/bfloat16/512KiB/np3/graph/hidden=4096")),
            4784);
}

TEST(CaseForms, ASplitSizeHasWholeElementsForEveryRank) {
  EXPECT_EQ(size_granule(case_of(OperationKind::gather, 64, 8)), 32);
  EXPECT_EQ(size_granule(case_of(OperationKind::reduce, 64, 8)), 4);
  EXPECT_EQ(case_of(OperationKind::gather, 64, 8).elements_per_rank(), 2);
}

TEST(BuffersNames, AreReadBack) {
  for (const Buffers buffers : kValues<Buffers>)
    EXPECT_EQ(from_name<Buffers>(name_of(buffers)), buffers);
}

TEST(CurveLabel, NamesWhatIsNotTheDefault) {
  Case definition;
  EXPECT_EQ(curve_label(definition), "all_reduce");
  EXPECT_EQ(spoken_operation(definition), "all-reduce");
  definition.operation = OperationKind::send_recv;
  definition.type = DataType::float16;
  definition.pair = Pair{0, 1, false};
  EXPECT_EQ(curve_label(definition), "send_recv float16 0->1");
  definition.pair->both = true;
  EXPECT_EQ(curve_label(definition), "send_recv float16 0<->1");
  Case ping;
  ping.operation = OperationKind::ping_pong;
  ping.pair = Pair{1, 0, false};
  EXPECT_EQ(curve_label(ping), "ping_pong 1<->0");
  Case gather;
  gather.operation = OperationKind::gather;
  gather.buffers = Buffers::symmetric;
  gather.root = 2;
  EXPECT_EQ(curve_label(gather), "gather symmetric root 2");
  Case kernel;
  kernel.kernel = true;
  EXPECT_EQ(curve_label(kernel), "all_reduce kernel");
  Case other;
  other.reduction = Reduction::max;
  other.launch = LaunchMode::graph;
  EXPECT_EQ(curve_label(other), "all_reduce max graph");
  Case in_place;
  in_place.in_place = true;
  EXPECT_EQ(curve_label(in_place), "all_reduce in place");
  EXPECT_EQ(curve_label(parse_case_name("latency/8B/np2/pair=0-1")), "latency 0<->1");
  EXPECT_EQ(curve_label(parse_case_name("load_latency/64KiB/np2/pair=0-1")), "load_latency 0->1");
}

TEST(CaseLabel, HasTheSizeOfWhatHasOne) {
  EXPECT_EQ(case_label(parse_case_name("all_gather/float32/1GiB/np2")), "all_gather 1 GiB");
  EXPECT_EQ(case_label(parse_case_name("gpt2_step/bf16/gpt2/np2/zero2/batch=8")),
            "gpt2_step bf16 gpt2 zero2 batch=8");
  EXPECT_EQ(case_label(program_case({.name = "loss"})), "loss");
}

TEST(SpokenCase, IsAPhrase) {
  Situations said;
  for (const char* name :
       {"all_reduce/float32/sum/1GiB/np2", "all_reduce/bfloat16/sum/1KiB/np2/inplace/graph/kernel",
        "send_recv/float32/8B/np4/pair=1-3", "copy_push/256MiB/np2/pair=0-1/both",
        "latency/8B/np2/pair=0-1", "gpt2_step/bf16/gpt2/np2/zero2/batch=8",
        "gpt2_step/bf16/gpt2/np2/none"}) {
    said.add(name, spoken_case(parse_case_name(name), "GPU"));
  }
  const Case stream = parse_case_name("all_gather/bfloat16/1KiB/np2/inplace");
  said.add("a stream beside graphs", spoken_case(stream, "GPU", true));
  said.add("its curve", spoken_curve(stream, "GPU", true));
  said.expect_golden("spoken_cases.txt");
  EXPECT_EQ(spoken_case(program_case({.name = "loss"})), "loss");
}

TEST(ReadableResult, IsATimeUnlessAProgramPrintedANumber) {
  EXPECT_EQ(readable_result(Case{}, Seconds{0.039}), "39.00 ms");
  EXPECT_EQ(readable_result(program_case({.name = "loss"}), Seconds{0.039}), "0.039");
  EXPECT_EQ(readable_result(program_case({}), Seconds{0.039}), "39.00 ms");
}

TEST(SpokenOperation, OfAProgramAndOfATrainingIsNoName) {
  EXPECT_EQ(spoken_operation(program_case({})), "program");
  EXPECT_EQ(spoken_operation(parse_case_name("gpt2_step/fp32/gpt2/np2")), "training");
}

TEST(CommandForLaunches, OfAProgramAsksForRounds) {
  EXPECT_EQ(command_for_launches(Case{}), "linkgain run --launches 8");
  EXPECT_EQ(command_for_launches(program_case({})), "linkgain exec --rounds 8");
}

TEST(ReadablePlan, HasWhatIsKnown) {
  EXPECT_EQ(readable_plan({"RING", "LL"}), "RING LL");
  EXPECT_EQ(readable_plan({"", "SIMPLE"}), "SIMPLE");
  EXPECT_EQ(readable_plan({"NVLS", ""}), "NVLS");
  EXPECT_EQ(readable_plan({}), "");
}

TEST(TrainingSentence, NamesModelStrategyAndBuckets) {
  Situations sentences;
  for (const char* name :
       {"gpt2_step/fp32/gpt2/np2", "gpt2_step/fp64/tiny/np2/zero2", "gpt2_step/bf16/gpt2/np4/zero3",
        "gpt2_step/fp32/gpt2/np2/none", "gpt2_step/fp32/gpt2/np2/buckets=legacy",
        "gpt2_step/tf32/gpt2/np8/bucket-mb=50/batch=8/sequence=512/dropout=0",
        "gpt2_step/fp32/gpt2/np2/buckets=legacy/bucket-mb=5"}) {
    sentences.add(name, training_sentence(parse_case_name(name)));
  }
  sentences.expect_golden("training_sentences.txt");
}

}  // namespace
}  // namespace linkgain::test
