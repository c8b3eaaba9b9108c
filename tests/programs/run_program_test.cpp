#include <algorithm>

#include "programs.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Eq;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;
using testing::UnorderedElementsAre;

/// Returns arguments of a run that is soon done.
Words quick(const std::string& sizes, const Words& more = {}) {
  return joined({"--only", "all_reduce", "--sizes", sizes, "--budget", "60", "--ci-width", "0.5"},
                more);
}

Words names_in(const std::filesystem::path& folder) {
  Words names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename());
  }
  std::ranges::sort(names);
  return names;
}

/// `linkgain run` from the prompt to the table.
class RunProgram : public MpiTest {
 protected:
  Outcome run(const Words& arguments) {
    Program program(run_request(folder_, arguments));
    const Outcome outcome = program.finish();
    EXPECT_THAT(program.processes(), IsEmpty()) << "left behind";
    return outcome;
  }

  std::string file(const std::string& name) const { return read_text(folder_ / "out" / name); }

  std::string report(const Words& options = {}) {
    return with_status(0, run_linkgain(folder_, joined({"report", "out/record.json"}, options)))
        .output;
  }

  ScratchFolder folder_;
};

TEST_F(RunProgram, AVariantHasAWorkerOfItsOwn) {
  std::filesystem::create_directories(folder_ / "other");
  const auto other = std::filesystem::canonical(folder_ / "other") / "linkgain-bench";
  write_executable(other, "#!/bin/sh\necho \"$@\" >> '" + other.string() +
                              ".started'\nexec " LINKGAIN_BENCH " \"$@\"\n");
  const Outcome outcome = with_status(
      0, run(quick("64K", {"--variant", "tcp", "--variant", "other:tcp,worker=other"})));
  EXPECT_EQ(lines_of(read_text(other.string() + ".started")).size(), 2U) << "of each rank";
  const Json settings = read_record(folder_).at("settings");
  EXPECT_EQ(settings.at("variants")[1].at("worker"), other.string());
  EXPECT_EQ(settings.at("variants")[1].at("environment"),
            settings.at("variants")[0].at("environment"));
  EXPECT_NE(settings.at("software_in_force")[1].at("linkgain"), "");
  EXPECT_THAT(file("report.md"), HasSubstr("  - linkgain-bench: `" + other.string() + "`, "));
}

class RunOnRanks : public RunProgram, public testing::WithParamInterface<int> {};

TEST_P(RunOnRanks, PrintsTheTableAndKeepsEverything) {
  const std::string ranks = std::to_string(GetParam());
  const Outcome outcome = with_status(0, run(quick("64,64K", {"--np", ranks, "--launches", "2"})));
  const Words lines = lines_of(outcome.output);
  // 64 B or 64 KiB, whichever changed more.
  EXPECT_THAT(lines, Contains(StartsWith("  all_reduce 64 ")));
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr("Speed-up"), HasSubstr("95 % CI"))));
  EXPECT_THAT(lines, Contains(HasSubstr("MPI in CPU memory (no GPU figures)")));
  EXPECT_THAT(lines_of(file("report.md")),
              Contains(StartsWith("| Operation         | shared-memory | ")));

  // The jobs are started anew for each launch; a machine with other work may need more launches
  // than were asked for.
  EXPECT_THAT(names_in(folder_ / "out"),
              UnorderedElementsAre(".linkgain", "record.json", "report.md", "report.html",
                                   "run.log", "jobs"));
  EXPECT_THAT(
      names_in(folder_ / "out" / "jobs"),
      IsSupersetOf({"shared-memory-1.log", "shared-memory-2.log", "tcp-1.log", "tcp-2.log"}));
  EXPECT_EQ(file("report.md"), report());
  EXPECT_EQ(file("report.html"), report({"--format", "html"}));
  EXPECT_THAT(lines_of(report({"--format", "csv"})), SizeIs(1 + 2 * 2));
  EXPECT_THAT(report({"--format", "csv"}), StartsWith("case,operation,"));

  const Json record = read_record(folder_);
  EXPECT_EQ(record.at("status"), "complete");
  EXPECT_EQ(record.at("exit_code"), 0);
  EXPECT_EQ(record.at("settings").at("launches"), 2);
  EXPECT_THAT(record.at("samples").at("launch"), AllOf(Contains(0), Contains(1)));
  EXPECT_THAT(record.at("machine").at("ranks"), SizeIs(GetParam()));
  ASSERT_THAT(record.at("cases"), SizeIs(2));
  for (const Json& result : record.at("cases")) {
    EXPECT_THAT(result.at("stopped"),
                testing::AnyOf("converged", "launches differ", "out of time"));
    for (const Json& variant : result.at("variants")) {
      EXPECT_GT(variant.at("busbw_gb_per_s"), 0.0);
      EXPECT_EQ(variant.at("verification").at("wrong"), 0);
      EXPECT_GT(variant.at("verification").at("checked"), 0);
    }
    EXPECT_EQ(result.at("variants")[0].at("path"), "host-memory");
    EXPECT_EQ(result.at("variants")[1].at("path"), "network");
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, RunOnRanks, testing::Values(2, 4));

TEST_F(RunProgram, ShowsPairsAsMatrices) {
  const Outcome outcome =
      with_status(0, run({"--only", "send_recv", "--pattern", "one-way", "--sizes", "4K", "--np",
                          "3", "--launches", "1", "--budget", "60", "--ci-width", "0.5"}));
  for (const std::string& text : {report(), file("report.md")}) {
    const Words lines = lines_of(text);
    EXPECT_THAT(lines, Contains("### send_recv/float32/4KiB/np3, every pair"));
    // In us, or in ms on a host that is busy otherwise.
    EXPECT_THAT(lines, Contains(HasSubstr("s with shared-memory:")));
    EXPECT_THAT(lines, Contains(HasSubstr("s with tcp:")));
    EXPECT_THAT(lines, Contains(StartsWith("| rank 2    | ")).Times(2));
    EXPECT_THAT(lines, Contains(testing::AnyOf(HasSubstr("with tcp: rank "),
                                               HasSubstr("50 % with tcp: "))));
    EXPECT_THAT(lines, Contains(StartsWith("| 2 → 1 | ")));
    const Words rows = lines_of(file("report.md"));
    EXPECT_THAT(rows, Contains(StartsWith("| Operation            | shared-memory | ")))
        << "on top";
  }
}

TEST_F(RunProgram, RecordsExactVariablesAndNoOthers) {
  ProgramRequest request = run_request(folder_, quick("64K"));
  request.environment["MY_TOKEN"] = "hunter2-of-the-test";
  request.environment["AWS_SECRET_ACCESS_KEY"] = "hunter3-of-the-test";
  request.environment["OMPI_MCA_btl_base_warn_component_unused"] = "0";
  const Outcome outcome = with_status(0, run_program(request));
  const Json settings = read_record(folder_).at("settings");
  const Json& variants = settings.at("variants");
  EXPECT_THAT(variants[0].at("environment"),
              Eq(Json{{"OMPI_MCA_pml", "ob1"}, {"OMPI_MCA_btl", "self,vader"}}));
  EXPECT_THAT(variants[1].at("environment"), Eq(Json{{"OMPI_MCA_pml", "ob1"},
                                                     {"OMPI_MCA_btl", "self,tcp"},
                                                     {"OMPI_MCA_btl_tcp_if_include", "lo"}}));
  for (std::size_t i = 0; i < 2; ++i) {
    const Json& in_force = settings.at("environment_in_force")[i];
    EXPECT_EQ(in_force.at("OMPI_MCA_btl"), variants[i].at("environment").at("OMPI_MCA_btl"));
    EXPECT_EQ(in_force.at("OMPI_MCA_btl_base_warn_component_unused"), "0");
    for (const auto& [name, value] : in_force.items()) {
      EXPECT_THAT(name,
                  testing::AnyOf(StartsWith("NCCL_"), StartsWith("OMPI_MCA_"), StartsWith("CUDA_"),
                                 StartsWith("CUBLAS"), "NVIDIA_TF32_OVERRIDE"));
    }
  }
  for (const std::string& name : names_in(folder_ / "out")) {
    EXPECT_THAT(file(name), AllOf(Not(HasSubstr("of-the-test")), Not(HasSubstr("MY_TOKEN"))))
        << name;
  }
}

TEST_F(RunProgram, PrintsTheRecordAsJson) {
  const Outcome outcome = with_status(0, run(quick("64K", {"--json"})));
  const Json printed = Json::parse(outcome.output);
  const Json record = read_record(folder_);
  EXPECT_FALSE(printed.contains("samples"));
  EXPECT_EQ(printed.at("cases"), record.at("cases"));
  EXPECT_EQ(printed.at("status"), "complete");
}

TEST_F(RunProgram, IsQuietWhenAsked) {
  const Outcome outcome = with_status(0, run(quick("64K", {"--quiet"})));
  EXPECT_THAT(outcome.error, IsEmpty());
  EXPECT_THAT(file("run.log"), HasSubstr("all_reduce/float32/sum/64KiB/np2"));
}

TEST_F(RunProgram, TellsItsProgressInPlainLines) {
  const Outcome outcome = run(quick("64,64K"));
  EXPECT_THAT(outcome.error + outcome.output, AllOf(Not(HasSubstr("\033")), Not(HasSubstr("\r"))));
  Words lines = lines_of(outcome.error);
  std::erase_if(lines, [](const std::string& line) { return line.starts_with("warning: "); });
  ASSERT_THAT(lines, SizeIs(3)) << outcome.error;
  EXPECT_THAT(lines[0], HasSubstr("2 ranks, 2 cases"));
  EXPECT_THAT(lines[1], StartsWith("[  1/2] all_reduce/float32/sum/64KiB/np2: shared-memory "));
  EXPECT_THAT(lines[2], StartsWith("[  2/2] all_reduce/float32/sum/64B/np2: shared-memory "));
}

TEST_F(RunProgram, HoldsThreeVariantsAgainstTheFirst) {
  const Outcome outcome = with_status(
      0, run(quick("64K", {"--variant", "tcp", "--variant", "shared-memory", "--variant",
                           "eager:OMPI_MCA_pml=ob1,OMPI_MCA_btl=self,vader,"
                           "OMPI_MCA_btl_vader_eager_limit=65536"})));
  const Json record = read_record(folder_);
  const Json& variants = record.at("settings").at("variants");
  ASSERT_THAT(variants, SizeIs(3));
  EXPECT_THAT(variants[2], Eq(Json{{"name", "eager"},
                                   {"environment",
                                    {{"OMPI_MCA_pml", "ob1"},
                                     {"OMPI_MCA_btl", "self,vader"},
                                     {"OMPI_MCA_btl_vader_eager_limit", "65536"}}}}));
  EXPECT_EQ(
      record.at("settings").at("environment_in_force")[2].at("OMPI_MCA_btl_vader_eager_limit"),
      "65536");
  for (const Json& result : record.at("cases")) {
    ASSERT_THAT(result.at("ratios"), SizeIs(2));
    EXPECT_EQ(result.at("ratios")[0].at("variant"), "shared-memory");
    EXPECT_EQ(result.at("ratios")[1].at("variant"), "eager");
  }
}

TEST_F(RunProgram, HasTheJobsOfAllLaunchesUpTogether) {
  Program program(run_request(folder_, quick("64,4K", {"--launches", "3"})));
  EXPECT_TRUE(comes_true([&] { return program.processes_named("mpirun").size() == 6; }, 30.0));
  with_status(0, program.finish());
  EXPECT_THAT(program.processes(), IsEmpty()) << "left behind";
  const Json record = read_record(folder_);
  EXPECT_THAT(record.at("samples").at("launch"), AllOf(Contains(0), Contains(1), Contains(2)));
}

TEST_F(RunProgram, RunsOneJobAfterTheOtherWhenAsked) {
  const Outcome outcome = with_status(0, run(quick("64K", {"--schedule", "sequential"})));
  const Json record = read_record(folder_);
  EXPECT_EQ(record.at("settings").at("schedule"), "sequential");
  EXPECT_THAT(record.at("cases")[0].at("ratios"), SizeIs(1));
}

TEST_F(RunProgram, WrongDataHasItsOwnExitStatus) {
  const Outcome outcome = with_status(
      4, run(quick("64K",
                   {"--variant", "shared-memory", "--variant",
                    "bent:OMPI_MCA_pml=ob1,OMPI_MCA_btl=self,tcp,LINKGAIN_TEST_FAULT=corrupt@1"})));
  EXPECT_THAT(outcome.output, HasSubstr("1 of 262144")) << "eight operations";
  const Json record = read_record(folder_);
  EXPECT_EQ(record.at("exit_code"), 4);
  EXPECT_EQ(record.at("cases")[0].at("variants")[0].at("verification").at("wrong"), 0);
  EXPECT_EQ(record.at("cases")[0].at("variants")[1].at("verification").at("wrong"), 1);
}

TEST_F(RunProgram, RecordsBytesThatAreNoText) {
  with_status(0, run(quick("64K", {"--variant", "shared-memory", "--variant",
                                   "odd:OMPI_MCA_pml=ob1,LINKGAIN_ODD=\xff\xfe"})));
  EXPECT_EQ(read_record(folder_).at("status"), "complete");
}

TEST_F(RunProgram, ChoosesADirectoryWhereNoneIsGiven) {
  const Outcome outcome = with_status(
      0,
      run_linkgain(folder_, joined({"run", "--backend", "mpi", "--launches", "1"}, quick("64K"))));
  const Words names = names_in(folder_ / "results");
  ASSERT_THAT(names, SizeIs(1));
  EXPECT_THAT(names[0], testing::MatchesRegex("[0-9]+T[0-9]+Z_.+_mpi-np2"));
  EXPECT_THAT(outcome.output, HasSubstr("Details: linkgain report results/" + names[0] + "\n"));
}

}  // namespace
}  // namespace linkgain::test
