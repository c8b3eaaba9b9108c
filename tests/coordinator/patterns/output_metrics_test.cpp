#include "linkgain/patterns/output_metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "support/process_support.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using Clock = OutputReader::Clock;

constexpr Clock::time_point kStart{std::chrono::seconds(100)};

Clock::time_point after(double seconds) {
  return kStart +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

OutputRequest request_of(const std::vector<std::string>& metrics, MetricUse use = MetricUse::last,
                         int skip = 0) {
  OutputRequest request{.metrics = {}, .use = use, .skip = skip};
  for (const std::string& each : metrics) request.metrics.push_back(parse_metric(each));
  return request;
}

/// Reads one metric from a text that came at once.
MetricValues values_of(const std::string& metric, const std::string& text,
                       MetricUse use = MetricUse::last, int skip = 0) {
  const OutputRequest request = request_of({"it=" + metric}, use, skip);
  OutputReader reader(request, kStart);
  reader.read(false, text, after(1.0));
  reader.finish();
  return reader.values().at("it");
}

TEST(ParseNumber, KnowsWhatProgramsWrite) {
  EXPECT_EQ(parse_number("1.2e3"), 1200.0);
  EXPECT_EQ(parse_number("+7"), 7.0);
  EXPECT_EQ(parse_number("-0.5"), -0.5);
  EXPECT_EQ(parse_number(".25"), 0.25);
  EXPECT_EQ(parse_number("1,234"), 1234.0);
  EXPECT_EQ(parse_number("12,345,678.5"), 12345678.5);
  EXPECT_EQ(parse_number("-123,456"), -123456.0);
}

TEST(ParseNumber, TakesNothingElse) {
  for (const char* text :
       {"",    "fast",   "1.2.3", "12s",      "nan",     "inf",       "1e999",
        "1,2", "1,2345", ",1",    "1234,567", "1.5,000", "1,",        "0x10",
        " 1",  "1,23a",  "0,312", "-0,312",   "00,312",  "0,312,000", "012,345.5"}) {
    EXPECT_EQ(parse_number(text), std::nullopt) << text;
  }
}

TEST(ParseNumber, KnowsTheUnitOfTheLastDigit) {
  for (const auto& [text, unit] : std::vector<std::pair<std::string, double>>{{"3", 1.0},
                                                                              {"3.", 1.0},
                                                                              {"3.49", 0.01},
                                                                              {"-3.490", 0.001},
                                                                              {".5", 0.1},
                                                                              {"1,234", 1.0},
                                                                              {"1,234.5", 0.1},
                                                                              {"1e3", 1e3},
                                                                              {"1.2e3", 1e2},
                                                                              {"1.25E-05", 1e-7},
                                                                              {"+2.5e+02", 10.0}}) {
    EXPECT_TRUE(parse_number(text)) << text;
    EXPECT_NEAR(unit_of_last_digit(text) / unit, 1.0, 1e-12) << text;
  }
}

TEST(OutputReader, KnowsHowFinelyNumbersWerePrinted) {
  const auto resolution = [](MetricUse use) {
    return values_of("it ([0-9.]+)", "it 2.0\nit 4.0\nit 5\n", use).resolution;
  };
  EXPECT_DOUBLE_EQ(resolution(MetricUse::last), 1.0 / 5.0);
  EXPECT_DOUBLE_EQ(resolution(MetricUse::median), 0.1 / 4.0);
  EXPECT_DOUBLE_EQ(resolution(MetricUse::all), 0.1 / 4.0);
  EXPECT_DOUBLE_EQ(resolution(MetricUse::sum), 1.2 / 11.0) << "all may be rounded alike";
}

TEST(OutputReader, ReadsColouredLines) {
  const OutputRequest request{.metrics = {parse_metric("loss: ([0-9.]+)$")},
                              .step = LinePattern("^step [0-9]+$", "--step")};
  OutputReader reader(request, kStart);
  reader.read(false, "\033[1;32mloss\033[0m: \033[36m2.5\033[0m\n\033[2mstep\033[0m 1\n",
              after(1.0));
  reader.read(false, "\033]8;;file://x\033\\step 2\033]8;;\033\\\n", after(2.0));
  reader.finish();
  EXPECT_THAT(reader.values().at("loss").samples, ElementsAre(2.5));
  EXPECT_THAT(reader.values().at("step").samples, ElementsAre(DoubleNear(1.0, 1e-9)));
}

TEST(ParseMetric, IsNamedByItsBeginningOrByName) {
  EXPECT_EQ(parse_metric("train_runtime.*?([0-9.]+)").metric.name, "train_runtime");
  EXPECT_EQ(parse_metric("loss_: (.*)").metric.name, "loss");
  EXPECT_EQ(parse_metric("speeds? ([0-9]+)").metric.name, "speed");
  const MetricRequest named = parse_metric("tokens.s=speed = ([0-9.]+) tok/s");
  EXPECT_EQ(named.metric, (ProgramMetric{"tokens.s", false}));
  EXPECT_EQ(named.pattern.text(), "speed = ([0-9.]+) tok/s");
}

TEST(ParseMetric, HasANameInFrontOfAPatternThatSaysWhatItLooksFor) {
  for (const auto& [name, pattern] :
       std::vector<std::pair<std::string, std::string>>{{"loss", "loss: ([0-9.]+)"},
                                                        {"tokens", "tok/s: ([0-9.]+)"},
                                                        {"tokens", ".*?([0-9.]+) tok/s"},
                                                        {"a+b", "^\\[sum\\] ([0-9]+)"},
                                                        {"loss", "(?:Loss|loss)[=:](.*)"},
                                                        {"loss", "(?i)loss (.*)"},
                                                        {"rate", "\xe9\x80\x9f ([0-9]+)"}}) {
    const MetricRequest request = parse_metric(name + "=" + pattern);
    EXPECT_EQ(request.metric.name, name);
    EXPECT_EQ(request.pattern.text(), pattern);
  }
}

TEST(ParseMetric, IsAllPatternWhereAKeyAndItsValueAreMeant) {
  for (const std::string text :
       {"throughput=([0-9.]+)", "throughput=([0-9.]+) tok/s", "throughput=([a-z0-9]+)",
        "throughput=\\s*([0-9.]+)ms", "throughput=\\[([0-9.]+)\\]", "throughput=.*?([0-9.]+)",
        "throughput=[[:space:]]*(?:[a-z]*)([0-9.]+)", "throughput=(?<number>[0-9.]+)ms"}) {
    const MetricRequest request = parse_metric(text);
    EXPECT_EQ(request.metric.name, "throughput");
    EXPECT_EQ(request.pattern.text(), text);
  }
  EXPECT_EQ(parse_metric("train-loss=(.*)").metric.name, "train-loss");
}

TEST(ParseMetric, RefusesWhatCannotBeMeant) {
  Situations said;
  said.refuse_each({"loss", "loss=([0-9]+) of ([0-9]+)", "loss=([0-9]+", "time=took (.*)",
                    "step=now ([0-9]+)", "-x=at (.*)", "x=[z-a](.)"},
                   [](const char* text) { parse_metric(text); });
  said.refuse_each({"mean", ""}, [](const char* text) { from_name<MetricUse>(text); });
  said.expect_golden("metrics_refused.txt");
}

TEST(OutputReader, UsesMatchesAsAskedFor) {
  const std::string text = "it 4\nnothing\nit 1 it 7\nit 10";
  EXPECT_THAT(values_of("it ([0-9]+)", text).samples, ElementsAre(10.0));
  EXPECT_THAT(values_of("it ([0-9]+)", text, MetricUse::median).samples, ElementsAre(5.5));
  EXPECT_THAT(values_of("it ([0-9]+)", text, MetricUse::sum).samples, ElementsAre(22.0));
  EXPECT_THAT(values_of("it ([0-9]+)", text, MetricUse::all).samples,
              ElementsAre(4.0, 1.0, 7.0, 10.0));
  EXPECT_THAT(values_of("it ([0-9]+)", text, MetricUse::all, 3).samples, ElementsAre(10.0));
  EXPECT_THAT(values_of("it ([0-9]+)", text, MetricUse::sum, 2).samples, ElementsAre(17.0));
}

TEST(OutputReader, ReadsTheValueOfItsKeyAlone) {
  const OutputRequest request = request_of({"throughput=([0-9.]+)", "wait=([0-9.]+)ms"});
  OutputReader reader(request, kStart);
  reader.read(false, "throughput=123.4 wait=2.5ms read=0.5ms\nelapsed 5.5 s\n", after(1.0));
  reader.finish();
  EXPECT_THAT(reader.values().at("throughput").samples, ElementsAre(123.4));
  EXPECT_THAT(reader.values().at("wait").samples, ElementsAre(2.5));
}

TEST(OutputReader, SaysWhyThereIsNoNumber) {
  EXPECT_EQ(values_of("it ([0-9]+)", "other\n").missing, "no line matched");
  EXPECT_THAT(values_of("it ([0-9]+)", "it 5\n", MetricUse::last, 1).missing,
              testing::AllOf(testing::HasSubstr("1 match "), testing::HasSubstr("--skip 1 ")));
  EXPECT_THAT(values_of("it (.*)", "it 5\nit five\n").missing, testing::HasSubstr("five"));
  EXPECT_THAT(values_of("it (.*)", "it 0\n").missing, testing::HasSubstr("above 0"));
  EXPECT_THAT(values_of("it (.*)", "it -3\n").missing, testing::HasSubstr("above 0"));
}

TEST(OutputReader, TakesNoPartOfANumberForIt) {
  const std::string text = "tok/s: 57.33, lr 1e-05 1,234.5\n";
  for (const char* pattern : {"tok.*([0-9.]+), lr", "lr ([0-9.]+)", " ([0-9.]+),234",
                              "tok/s: .*([0-9]+), lr", "([0-9])7.33"}) {
    EXPECT_THAT(values_of(pattern, text).missing, testing::HasSubstr("part of")) << pattern;
  }
  EXPECT_THAT(values_of("tok.*?([0-9.]+)", text).samples, ElementsAre(57.33));
  EXPECT_THAT(values_of("lr ([^ ]+)", text).samples, ElementsAre(1e-05));
  EXPECT_THAT(values_of("lr [^ ]+ ([^ ]+)", text).samples, ElementsAre(1234.5));
  EXPECT_THAT(values_of("took ([0-9.]+)", "took 57.\n").samples, ElementsAre(57.0));
  EXPECT_THAT(values_of("of ([0-9]+)", "3.2 of 4,5\n").samples, ElementsAre(4.0)) << "of a list";
}

/// Covers lines as llama.cpp writes them.
TEST(OutputReader, KnowsTheWordsBehindItsNumber) {
  const std::string line =
      "eval time = 9.6 ms / 1 run ( 9.64 ms per token, 103.68 tokens per second)";
  EXPECT_EQ(values_of("run.*?([0-9.]+)", line).words, " ms per token");
  EXPECT_EQ(values_of("token, +([0-9.]+)", line).words, " tokens per second");
  EXPECT_EQ(values_of("tion: ([0-9.]+)", "[ Generation: 103.7 t/s | 8 s ]").words, " t/s ");
  for (const char* next : {"loss 8.55 tokens/s: 409600.0", "loss 8.5\ttokens/s: 4",
                           "loss 4.1 it/s=3", "loss 4.1 throughput 40"}) {
    EXPECT_EQ(values_of("loss ([0-9.]+)", next).words, "") << next;
  }
  EXPECT_EQ(values_of("a ([0-9]+)", "a 1").words, "");
}

TEST(OutputReader, SaysHowANameIsWrittenThatIsPartOfThePattern) {
  const OutputRequest request = request_of({"rate=([0-9.]+) tok/s"});
  OutputReader reader(request, kStart);
  reader.read(false, "5.5 tok/s\n", after(1.0));
  EXPECT_THAT(reader.values().at("rate").missing, testing::HasSubstr(" rate=.*?([0-9.]+) tok/s"));
}

TEST(OutputReader, HasNoNumberOfWhichARatioWouldNotBeFinite) {
  EXPECT_THAT(values_of("it (.*)", "it 1e308\nit 1e308\n", MetricUse::sum).missing,
              testing::HasSubstr("1e+100"));
  for (const char* text : {"it 1e101\n", "it 1e-101\n", "it 1e-310\n"}) {
    EXPECT_THAT(values_of("it (.*)", text).missing, testing::HasSubstr("1e+100")) << text;
  }
  EXPECT_THAT(values_of("it (.*)", "it 1e100\nit 1e-100\n", MetricUse::all).samples,
              ElementsAre(1e100, 1e-100));
}

TEST(OutputReader, TakesLinesFromBothStreamsWhateverTheyAreCutInto) {
  const OutputRequest request = request_of({"a=a ([0-9]+)", "b=b ([0-9]+)"});
  OutputReader reader(request, kStart);
  for (const char* part : {"a ", "1", "2\r", "10% |###\r", "x"}) {
    reader.read(false, part, after(1.0));
    reader.read(true, part[0] == 'a' ? "b 3" : "4", after(1.0));
  }
  reader.finish();
  EXPECT_THAT(reader.values().at("a").samples, ElementsAre(12.0));
  EXPECT_THAT(reader.values().at("b").samples, ElementsAre(34444.0));
}

TEST(OutputReader, LivesWithALineOfTenMegabytes) {
  const OutputRequest request = request_of({"it=(?:a|b|c)*it ([0-9]+)", "end=end ([0-9]+)"});
  OutputReader reader(request, kStart);
  const std::string chunk(1 << 16, 'a');
  reader.read(false, "it 5 ", after(0.5));
  for (int i = 0; i < 160; ++i) reader.read(false, chunk, after(1.0));
  reader.read(false, " it 6\nend 7\n", after(2.0));
  reader.finish();
  EXPECT_THAT(reader.values().at("end").samples, ElementsAre(7.0));
  // What is beyond the longest line was not read.
  EXPECT_THAT(reader.values().at("it").samples, Not(testing::Contains(6.0)));
}

TEST(OutputReader, HasNoNumberWhereTheSearchOfALineWasGivenUp) {
  const std::string line = "the total: 5\n" + std::string(46, 'a') + "; the total: 7\n";
  const MetricValues values = values_of("(?:\\w+ ?)+ total: ([0-9]+)", line);
  EXPECT_THAT(values.missing, testing::HasSubstr("match limit"));
  EXPECT_THAT(values.samples, IsEmpty()) << "the last number may be in that line";
  OutputRequest request;
  request.step.emplace("(?:\\w+ ?)+ total", "--step");
  OutputReader reader(request, kStart);
  reader.read(false, line + line, after(1.0));
  EXPECT_THAT(reader.values().at("step").missing, testing::HasSubstr("match limit"));
}

TEST(OutputReader, SearchesNoMoreLinesForAMetricThatIsLost) {
  OutputRequest request;
  request.metrics.push_back(parse_metric("total=(?:\\w+ ?)+ total: ([0-9]+)"));
  OutputReader reader(request, kStart);
  const std::string given_up = std::string(46, 'a') + "; the total: 7\n";
  reader.read(false, given_up + "the total: 5\nthe total: 6\n", after(1.0));
  EXPECT_FALSE(reader.values().contains("start-up")) << "no line matched after that";
}

TEST(OutputReader, FindsANumberBehindThousandsOfRepeats) {
  std::string line = "v 1 k=1 end v 3\n";
  for (int i = 0; i < 50'000; ++i) line += "k=1, ";
  const MetricValues values = values_of("(?:\\w+=[\\d.]+,? )+end v ([0-9.]+)", line + "end v 7\n");
  EXPECT_THAT(values.samples, ElementsAre(7.0));
}

TEST(OutputReader, TimesStepsFromTheFirstThatCountsToTheLast) {
  OutputRequest request = request_of({}, MetricUse::last, 2);
  request.step.emplace("^step", "--step");
  OutputReader reader(request, kStart);
  double time = 3.0;
  for (const double step : {5.0, 2.0, 1.0, 1.5, 0.5}) {
    time += step;
    reader.read(false, "step\nother\n", after(time));
  }
  reader.finish();
  const MetricValues steps = reader.values().at("step");
  EXPECT_THAT(steps.samples, ElementsAre(DoubleNear(1.0, 1e-6)));
  EXPECT_EQ(steps.count, 2);
  EXPECT_THAT(reader.values().at("start-up").samples, ElementsAre(DoubleNear(8.0, 1e-6)));
}

TEST(OutputReader, TimesStepsThatCameByTheBuffer) {
  OutputRequest request;
  request.skip = 2;
  request.step.emplace("step", "--step");
  OutputReader reader(request, kStart);
  reader.read(false, "step\nstep\nstep\nstep\n", after(4.0));
  reader.read(false, "step\nstep\nstep\nstep\n", after(8.0));
  const MetricValues steps = reader.values().at("step");
  EXPECT_THAT(steps.samples, ElementsAre(DoubleNear(1.0, 1e-6)));
  EXPECT_EQ(steps.count, 4);
}

TEST(OutputReader, TimesNoStepsThatCameAtOnce) {
  OutputRequest request;
  request.step.emplace("step", "--step");
  OutputReader reader(request, kStart);
  reader.read(false, "step 1\n", after(1.0));
  EXPECT_THAT(reader.values().at("step").missing, testing::StartsWith("1 line that counts,"));
  reader.read(false, "step 2\nstep 3\n", after(1.0));
  EXPECT_THAT(reader.values().at("step").missing, testing::HasSubstr("buffers"));
}

TEST(OutputReader, CallsNothingStartUpThatComesOnce) {
  const OutputRequest request = request_of({"runtime=runtime ([0-9.]+)"});
  OutputReader reader(request, kStart);
  reader.read(false, "runtime 17\n", after(17.0));
  EXPECT_FALSE(reader.values().contains("start-up"));
  reader.read(false, "runtime 18\n", after(18.0));
  EXPECT_THAT(reader.values().at("start-up").samples, ElementsAre(DoubleNear(17.0, 1e-6)));
}

TEST(OutputReader, KeepsTheLastLines) {
  const OutputRequest request;
  OutputReader reader(request, kStart);
  for (int i = 0; i < 100; ++i) reader.read(false, std::to_string(i) + "\n", after(1.0));
  EXPECT_EQ(reader.last_lines().size(), 12U);
  EXPECT_EQ(reader.last_lines().back(), "99");
}

TEST(OutputReader, KeepsUpWithAProgramThatWritesALot) {
  OutputRequest request = request_of({"loss=loss=([0-9.]+)"});
  request.step.emplace("^step", "--step");
  OutputReader reader(request, kStart);
  std::string chunk;
  while (chunk.size() < (1 << 16)) chunk += std::string(999, 'x') + "\n";
  EXPECT_LT(seconds_of([&] {
              for (int i = 0; i < 500; ++i) reader.read(false, chunk, after(1.0));
            }),
            3.0)
      << "of 32 MB";
}

TEST(OutputReader, TakesLinesThatEndInAnyMix) {
  const OutputRequest request;
  OutputReader reader(request, kStart);
  for (const char* part : {"\na\r\rb\n\nc", "\r", "d\n", "e\rf", "\n", "g"}) {
    reader.read(false, part, after(1.0));
  }
  reader.finish();
  EXPECT_THAT(reader.last_lines(), ElementsAre("a", "b", "c", "d", "e", "f", "g"));
}

}  // namespace
}  // namespace linkgain::test
