#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/html/heat_map.hpp"
#include "linkgain/html/page.hpp"
#include "linkgain/html/plot.hpp"
#include "linkgain/html/row_chart.hpp"
#include "support/golden.hpp"
#include "svg.hpp"

namespace linkgain::test {
namespace {

using namespace linkgain::test;
using testing::HasSubstr;
using testing::Not;

Plot bandwidths() {
  return {.title = "all_reduce: bus bandwidth",
          .x = {"message size", Quantity::bytes, Spacing::logarithmic},
          .y = {"GB/s", Quantity::bandwidth, Spacing::logarithmic},
          .series = {{"p2p",
                      {{1 << 20, 69.0, Interval{60.0, 80.0}}, {1 << 24, 216.3}, {1 << 30, 324.3}}},
                     {"<host>", {{1 << 20, 16.3}, {1 << 24, 24.3}}}},
          .limits = {{"limit, NVLink payload", 450.0}, {"limit, host copy", 440.0}}};
}

TEST(Plot, ShowsSeriesIntervalsAndLimits) {
  expect_golden(figure(picture_of(bandwidths()), "plot"), "plot.html");
}

TEST(Plot, LeavesOutWhatALogarithmicAxisHasNoPlaceFor) {
  Plot plot = bandwidths();
  plot.series.front().points[0].y = 0.0;
  plot.series.front().points[1].interval = Interval{0.0, 300.0};
  const std::string svg = picture_of(plot).content;
  for (const char* word : {"inf", "nan"}) EXPECT_THAT(svg, Not(HasSubstr(word)));
  EXPECT_THAT(svg, Not(HasSubstr("p2p, 1 MiB")));
  EXPECT_THAT(svg, HasSubstr("p2p, 16 MiB"));
}

TEST(Plot, MarksSomePointsOfALongSeries) {
  Plot plot{.title = "t", .x = {"x"}, .y = {"y"}, .series = {{"s"}}};
  for (int i = 0; i < 150; ++i) plot.series.front().points.push_back({double(i), 1.0});
  const std::string content = picture_of(plot).content;
  const std::string svg = content.substr(content.find("</g>"));  // behind the legend
  std::size_t marks = 0;
  for (std::size_t at = svg.find("class=\"m "); at != std::string::npos;
       at = svg.find("class=\"m ", at + 1)) {
    ++marks;
  }
  EXPECT_GE(marks, 5U);
  EXPECT_LE(marks, 40U);
}

TEST(Plot, SeriesDifferWithoutColour) {
  Plot plot{.title = "t", .x = {"x"}, .y = {"y"}};
  for (std::size_t i = 0; i < kSeriesStyles; ++i) {
    plot.series.push_back({std::to_string(i), {{1.0, double(i)}}});
  }
  const std::string content = picture_of(plot).content;
  const std::string svg = content.substr(content.rfind("class=\"axis"));  // behind the legend
  std::vector<std::string> shapes;
  for (std::size_t at = svg.find("class=\"m "); at != std::string::npos;
       at = svg.find("class=\"m ", at + 1)) {
    const std::size_t begin = svg.find('m', svg.find("d=\"M", at) + 4);
    shapes.push_back(svg.substr(begin, svg.find('"', begin) - begin));
  }
  ASSERT_EQ(shapes.size(), kSeriesStyles);
  std::ranges::sort(shapes);
  EXPECT_EQ(std::ranges::adjacent_find(shapes), shapes.end());
}

TEST(RowChart, ShowsPartsAndValues) {
  const RowChart steps{
      .title = "Time of a training step",
      .axis = {"time of a step", Quantity::seconds, Spacing::linear},
      .rows = {{.label = "p2p",
                .parts = {{"computing", 0.078},
                          {"exposed communication", 0.002, Interval{0.0015, 0.0025}}},
                .text = "80.00 ms"},
               {.label = "host", .parts = {{"computing", 0.086}}, .text = "86.00 ms"}}};
  const RowChart changes{.title = "Speed-up",
                         .axis = {"times as fast", Quantity::ratio, Spacing::logarithmic},
                         .rows = {{.label = "all_reduce <8 B>",
                                   .value = 1.3,
                                   .interval = Interval{1.1, 1.5},
                                   .text = "1.3x faster"}},
                         .reference = 1.0};
  expect_golden(figures({picture_of(steps), picture_of(changes)}, "charts"), "row_chart.html");
  EXPECT_EQ(figures({}, "none"), "");
}

TEST(RowChart, DrawsBandsUpToTheEndsOfTheAxis) {
  constexpr double kNoEnd = std::numeric_limits<double>::infinity();
  const RowChart chart{.title = "t",
                       .axis = {"times", Quantity::ratio, Spacing::logarithmic},
                       .rows = {{.label = "a", .value = 1.1, .band = Interval{0.0, kNoEnd}}}};
  const std::string svg = picture_of(chart).content;
  EXPECT_THAT(svg, HasSubstr("class=\"band\""));
  for (const char* word : {"inf", "nan"}) EXPECT_THAT(svg, Not(HasSubstr(word)));
}

TEST(Plot, HasALogarithmicFormWhereBandwidthsBeginAtZero) {
  Plot plot = bandwidths();
  EXPECT_EQ(picture_of(plot).logarithmic, "");
  plot.y.spacing = Spacing::linear;
  const Picture picture = picture_of(plot);
  EXPECT_THAT(picture.content, HasSubstr(">0</text>"));
  EXPECT_EQ(picture.logarithmic, picture_of(bandwidths()).content);
  EXPECT_THAT(figure(picture, "plot"), HasSubstr("type=\"checkbox\""));
}

TEST(HeatMap, ShadesByValue) {
  const HeatMap map{.caption = "Pairs",
                    .corner = "from \\ to",
                    .columns = {"GPU0", "GPU1"},
                    .rows = {"GPU0", "GPU1"},
                    .cells = {{{"–"}, {"360.1", 360.1, "NV18"}}, {{"36.6", 36.6, "PHB"}, {"–"}}}};
  expect_golden(heat_map_table(map), "heat_map.html");
}

TEST(HeatMap, CompactKeepsItsValuesForThoseWhoDoNotSeeTheShades) {
  const HeatMap map{.caption = "c",
                    .corner = "Case",
                    .columns = {"node1"},
                    .rows = {"all_reduce"},
                    .cells = {{{"1.20x", 1.2}}},
                    .full = 1.2,
                    .none = 1.0,
                    .is_compact = true};
  EXPECT_THAT(heat_map_table(map),
              HasSubstr("<td class=\"h5\" title=\"node1: 1.20x\"><span>1.20x</span></td>"));
}

TEST(HeatMap, LeavesLikeValuesPale) {
  HeatMap map{.caption = "c",
              .corner = "r",
              .columns = {"a", "b"},
              .rows = {"x"},
              .cells = {{{"1.00x", 1.0}, {"1.01x", 1.01}}}};
  map.none = 1.0;
  map.full = 1.2;
  EXPECT_THAT(heat_map_table(map), Not(HasSubstr("h5")));
  map.cells[0][0].value = 1.12;
  map.cells[0][1].value = 9.0;
  const std::string beside_an_outlier = heat_map_table(map);
  EXPECT_THAT(beside_an_outlier, HasSubstr("h5"));
  EXPECT_THAT(beside_an_outlier, HasSubstr("h3")) << "the scale ends at full";
}

TEST(PlotPicture, NamesALimitWhereNoCurveGoesThroughTheName) {
  const auto anchor_with = [](double first, double middle, double last) {
    const Plot plot{.title = "busbw",
                    .x = {"message size", Quantity::bytes, Spacing::logarithmic},
                    .y = {"GB/s", Quantity::bandwidth, Spacing::linear},
                    .series = {{"p2p", {{1024.0, first}, {32768.0, middle}, {1048576.0, last}}}},
                    .limits = {{"limit", 52.6}}};
    const std::string content = picture_of(plot).content;
    const std::size_t name = content.find(">limit: 52.6 GB/s");
    const std::size_t begin = content.rfind("text-anchor=\"", name);
    return content.substr(begin + 13, content.find('"', begin + 13) - begin - 13);
  };
  EXPECT_EQ(anchor_with(1.0, 30.0, 70.0), "start") << "the curve ends where the name would stand";
  EXPECT_EQ(anchor_with(70.0, 200.0, 300.0), "end");
}

}  // namespace
}  // namespace linkgain::test
