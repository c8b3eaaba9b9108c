#include "linkgain/hardware/mpi_version.hpp"

#include <gmock/gmock.h>

namespace linkgain::test {
namespace {

using ::testing::HasSubstr;

/// Returns "Open MPI 4.1.4", or why not.
std::string found_in(const std::string& text) {
  const Reading<MpiVersion> version = mpi_version_in(text);
  return version.measured() ? version_text(version.value()) : version.reason();
}

TEST(MpiVersion, OfLaunchers) {
  EXPECT_EQ(found_in("mpirun (Open MPI) 4.1.4\n\nReport bugs to "
                     "http://www.open-mpi.org/community/help/\n"),
            "Open MPI 4.1.4");
  EXPECT_EQ(found_in("mpirun (Open MPI) 5.1.0rc2"), "Open MPI 5.1.0");
  EXPECT_EQ(found_in("HYDRA build details:\n    Version:                                 4.0.2\n"
                     "    Release Date:                            Thu Apr  7 12:34:45 CDT 2022\n"),
            "MPICH 4.0.2");
  EXPECT_EQ(found_in("Intel(R) MPI Library for Linux* OS, Version 2021.8 Build 20221129\n"
                     "Copyright 2003-2022, Intel Corporation.\n"),
            "Intel MPI 2021.8");
}

TEST(MpiVersion, OfLibraries) {
  EXPECT_EQ(found_in("Open MPI v4.1.4"), "Open MPI 4.1.4");
  EXPECT_EQ(found_in("MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7\n"), "MPICH 4.0.2");
  EXPECT_EQ(found_in("MVAPICH2 Version      :\t2.3.7\n"), "MVAPICH 2.3.7");
}

TEST(MpiVersion, MajorPart) {
  EXPECT_EQ(mpi_version_in(std::string("mpirun (Open MPI) 4.1.4")).value().major_part, 4);
  EXPECT_EQ(mpi_version_in(std::string("Open MPI v10.0.1")).value().major_part, 10);
}

TEST(MpiVersion, WhatNamesNoneIsMissing) {
  EXPECT_THAT(found_in("this is mpirun\nversion 4.1.4"), HasSubstr("'this is mpirun'"));
  EXPECT_THAT(found_in("mpirun (Open MPI) four"), HasSubstr("names no version"));
  EXPECT_THAT(found_in(""), HasSubstr("names no version"));
  EXPECT_EQ(mpi_version_in(Missing{"it hangs"}).reason(), "it hangs");
}

TEST(MpiVersion, IsFitToStartRanksOnThisHost) {
  const MpiVersion usual{"Open MPI", 4, "4.1.4"};
  const std::string longest(56, 'a');
  EXPECT_EQ(why_mpirun_is_unfit(usual, longest), "");
  EXPECT_THAT(why_mpirun_is_unfit(usual, longest + "a"), HasSubstr("57"));
  EXPECT_EQ(why_mpirun_is_unfit({"Open MPI", 5, "5.0.3"}, longest + "a"), "") << "not known to";
  EXPECT_THAT(why_mpirun_is_unfit({"MPICH", 4, "4.0.2"}, "node"), HasSubstr("MPICH 4.0.2"));
}

}  // namespace
}  // namespace linkgain::test
