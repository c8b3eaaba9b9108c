#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/base/errors.hpp"
#include "linkgain/hardware/link_counters.hpp"
#include "support/golden.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const ErrorCounter kCrc{0, ErrorKind::nvlink_crc_errors, 3, 1};
const ErrorCounter kPcie{1, ErrorKind::pcie_replays, {}, {}};
const ErrorCounter kXid{2, ErrorKind::xid, {}, {}};

TEST(LinkErrors, AreWhatCountersGainBetweenReadings) {
  LinkErrors errors;
  const ErrorCounts begin{{kCrc, 40}, {kPcie, 7}};
  add_reading(errors, {}, begin, 0.5);
  add_reading(errors, begin, {{kCrc, 40}, {kPcie, 9}}, 10.0);
  add_reading(errors, {{kCrc, 40}, {kPcie, 9}}, {{kCrc, 45}, {kPcie, 10}}, 20.0);
  EXPECT_EQ(errors.readings, 3);
  EXPECT_THAT(errors.counters, ElementsAre(CountedErrors{kCrc, 40, 5}, CountedErrors{kPcie, 7, 3}));
  EXPECT_THAT(errors.grown, ElementsAre(ErrorGrowth{10.0, kPcie, 2}, ErrorGrowth{20.0, kCrc, 5},
                                        ErrorGrowth{20.0, kPcie, 1}));
}

TEST(LinkErrors, OfACounterThatWentBackOrAppearedAreNone) {
  LinkErrors errors;
  add_reading(errors, {}, {{kPcie, 7}}, 0.0);
  add_reading(errors, {{kPcie, 7}}, {{kPcie, 2}, {kCrc, 100}}, 1.0);
  EXPECT_THAT(errors.grown, IsEmpty());
  EXPECT_THAT(grown_counters(errors), IsEmpty());
  add_reading(errors, {{kPcie, 2}}, {{kPcie, 3}}, 2.0);
  EXPECT_THAT(errors.counters, ElementsAre(CountedErrors{kPcie, 7, 1}, CountedErrors{kCrc, 100, 0}))
      << "on from where it went back to";
}

TEST(LinkErrors, AreAddedReadingByReadingAndTold) {
  std::optional<LinkErrors> errors;
  ErrorReadings readings;
  EXPECT_THAT(readings.add(errors, {}, 0.0), IsEmpty());
  EXPECT_FALSE(errors) << "no counter";
  EXPECT_THAT(readings.add(errors, {{kCrc, 40}}, 0.5), IsEmpty());
  EXPECT_THAT(readings.add(errors, {{kCrc, 45}}, 10.0), ElementsAre(HasSubstr("5 CRC errors of ")));
  ErrorReadings of_later_part;
  EXPECT_THAT(of_later_part.add(errors, {{kCrc, 50}}, 20.0), IsEmpty()) << "between the parts";
  EXPECT_THAT(of_later_part.add(errors, {{kCrc, 51}}, 30.0), SizeIs(1));
  EXPECT_EQ(errors->readings, 4);
  EXPECT_THAT(errors->counters, ElementsAre(CountedErrors{kCrc, 40, 6}));
}

TEST(LinkErrors, AreNamedByTheirPlace) {
  test::Situations texts;
  texts.add("of an NVLink", errors_text(kCrc, 12));
  texts.add("one, of a link to a switch", errors_text({0, ErrorKind::nvlink_recoveries, 0, {}}, 1));
  texts.add("of one that went down", errors_text({0, ErrorKind::nvlink_outages, 3, 1}, 1));
  texts.add("over PCIe", errors_text(kPcie, 1));
  texts.add("in the kernel's log", errors_text(kXid, 2));
  test::expect_golden(texts.text(), "link_errors.txt");
  for (const ErrorKind kind :
       {ErrorKind::nvlink_replays, ErrorKind::nvlink_recoveries, ErrorKind::nvlink_crc_errors,
        ErrorKind::nvlink_outages, ErrorKind::pcie_replays, ErrorKind::xid}) {
    EXPECT_EQ(from_name<ErrorKind>(name_of(kind)), kind);
  }
  EXPECT_THROW(from_name<ErrorKind>("ecc"), UsageError);
}

}  // namespace
}  // namespace linkgain::test
