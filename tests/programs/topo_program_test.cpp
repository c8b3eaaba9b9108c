#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <limits>
#include <string>

#include "programs.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

/// Requests `linkgain topo` on one of the NVML double's machines.
ProgramRequest topo(const ScratchFolder& folder, const std::string& scenario,
                    const Words& arguments = {}) {
  ProgramRequest request = linkgain(folder, joined({"topo"}, arguments));
  request.environment = {{"CUDA_VISIBLE_DEVICES", std::nullopt},
                         {"CUDA_DEVICE_ORDER", std::nullopt},
                         {"NCCL_P2P_DISABLE", std::nullopt},
                         {"NCCL_P2P_LEVEL", std::nullopt}};
  return on_machine(scenario, request);
}

/// Returns the text of a machine where all is well, or has the problem that the status says.
std::string text_of(const std::string& scenario, int status = 0) {
  const ScratchFolder folder;
  const Outcome outcome = with_status(status, run_program(topo(folder, scenario)));
  EXPECT_THAT(outcome.error, IsEmpty());
  EXPECT_THAT(outcome.output, Not(HasSubstr("\033[")));
  return outcome.output;
}

Json json_of(const ProgramRequest& request, int status = 0) {
  return Json::parse(with_status(status, run_program(request)).output);
}

/// What `linkgain topo` may take; sanitizers slow it down.
#ifdef LINKGAIN_SANITIZED
constexpr double kMostSeconds = 1.0;
#else
constexpr double kMostSeconds = 0.3;
#endif

/// Returns what the output begins with, before the host's name.
std::string answer_of(const std::string& text) {
  std::array<char, HOST_NAME_MAX + 1> host{};
  EXPECT_EQ(::gethostname(host.data(), host.size()), 0);
  return text.substr(0, text.find(std::string("\n\n") + host.data()));
}

TEST(TopoProgram, BeginsWithTheAnswerAndDoctorDoesSoToo) {
  Situations texts;
  const ScratchFolder folder;
  for (const std::string scenario :
       {"h200x2", "h200x8", "rtx3090-nv4", "h100-nvl", "rtx3090-no-bridge", "titan-rtx-nv2",
        "no-nvlink", "rtx4090", "one-link-down", "p2p-refused", "p2p-read-only", "p2p-unknown",
        "no-fields", "lost-gpu"}) {
    texts.add(scenario, answer_of(run_program(topo(folder, scenario)).output));
    ProgramRequest request = topo(folder, scenario);
    request.arguments[1] = "doctor";
    texts.add(scenario + ", doctor", answer_of(run_program(request).output));
  }
  texts.expect_golden("link_answers.txt");
}

TEST(TopoProgram, SaysWhatNcclTakesWithTheVariablesThatAreSet) {
  const ScratchFolder folder;
  for (const std::string command : {"topo", "doctor"}) {
    ProgramRequest request = topo(folder, "rtx4090-p2p");
    request.arguments[1] = command;
    request.environment["NCCL_P2P_DISABLE"] = "1";
    const std::string answer = answer_of(run_program(request).output);
    EXPECT_THAT(answer, AllOf(HasSubstr("granted over PCIe"),
                              HasSubstr("memory: NCCL_P2P_DISABLE=1 forbids P2P."),
                              HasSubstr("unset NCCL_P2P_DISABLE"), Not(HasSubstr("warning:"))));
    request.environment = topo(folder, "rtx4090-p2p").environment;
    request.environment["NCCL_P2P_LEVEL"] = "PXB";
    EXPECT_THAT(answer_of(run_program(request).output), HasSubstr("beyond NCCL_P2P_LEVEL=PXB"));
  }
}

/// Lets neither command pass over what the other calls a problem. Of GPUs that take no bridge topo
/// has said all.
TEST(TopoProgram, JudgesLinksAsDoctorDoes) {
  const ScratchFolder folder;
  for (const std::string scenario :
       {"h200x2", "rtx3090-nv4", "rtx3090-no-bridge", "no-nvlink", "one-link-down", "one-link-slow",
        "p2p-refused", "p2p-read-only", "mig-one", "mig-one-link-down", "h100-nvl"}) {
    const Outcome own = run_program(topo(folder, scenario));
    ProgramRequest request =
        topo(folder, scenario, {"--only", "nvlink-links,nvlink-rate,nvlink-peers,p2p", "--json"});
    request.arguments[1] = "doctor";
    const Outcome doctor = run_program(request);
    const Json counts = Json::parse(doctor.output).at("counts");
    EXPECT_EQ(own.status, doctor.status) << scenario;
    const auto says = [&](const char* verdict) {
      return own.output.find(std::string("\n") + verdict + ": linkgain doctor") !=
             std::string::npos;
    };
    EXPECT_EQ(says("problem"), counts.at("problem") > 0) << scenario;
    const bool is_told = scenario == "no-nvlink";
    EXPECT_EQ(says("warning"), !is_told && counts.at("problem") == 0 && counts.at("warning") > 0)
        << scenario;
  }
}

TEST(TopoProgram, DrawsGpusBelowItsAnswerInAFile) {
  const ScratchFolder folder;
  const Outcome drawn = run_program(topo(folder, "rtx3090-no-bridge", {"--format", "svg"}));
  EXPECT_EQ(drawn.status, 0);
  EXPECT_TRUE(drawn.output.starts_with("<svg xmlns=")) << drawn.output;
  EXPECT_THAT(drawn.output, AllOf(HasSubstr(">0 of 4 links<"), HasSubstr("not connected"),
                                  HasSubstr("2 x NVIDIA GeForce RTX 3090. ")));
  std::array<char, HOST_NAME_MAX + 1> host{};
  EXPECT_EQ(::gethostname(host.data(), host.size()), 0);
  EXPECT_THAT(drawn.output, Not(HasSubstr(std::string(">") + host.data() + ": ")));
}

TEST(TopoProgram, DrawsGpusOnItsPageAsDoctorDoes) {
  const ScratchFolder folder;
  for (const std::string command : {"topo", "doctor"}) {
    for (const auto& [scenario, words] : {std::pair{"h200x8", "every pair: NVLink NV18, 478 GB/s"},
                                          {"p2p-refused", "NVLink NV4 without P2P"},
                                          {"h100-nvl", ">12 links<"},
                                          {"no-nvlink", "these GPUs: PHB without P2P"}}) {
      ProgramRequest request = topo(folder, scenario, {"--format", "html"});
      request.arguments[1] = command;
      const std::string page = run_program(request).output;
      EXPECT_THAT(page, AllOf(HasSubstr("<svg"), HasSubstr(words), HasSubstr("scroll heat")))
          << command << scenario;
    }
  }
}

TEST(TopoProgram, IsQuick) {
  const ScratchFolder folder;
  for (const std::string scenario : {"h200x2", "h200x8", "lost-gpu"}) {
    double quickest = std::numeric_limits<double>::infinity();
    for (int run = 0; run < 3; ++run) {  // The machine may be busy with something else.
      quickest = std::min(quickest, run_program(topo(folder, scenario)).seconds);
    }
    EXPECT_LT(quickest, kMostSeconds) << scenario;
  }
}

TEST(TopoProgram, ShowsMatrixAndRatesOfASwitch) {
  EXPECT_THAT(text_of("h200x2"),
              AllOf(HasSubstr("\n  GPU0   X    NV18  "), HasSubstr("\n  GPU1  NV18   X    "),
                    HasSubstr("18 of 18      a switch"), HasSubstr("26.5625   478.12     956.25"),
                    HasSubstr(" 450.0\n"), HasSubstr("gen 5 x16")));
}

TEST(TopoProgram, ShowsBridgesAsTheGuideCalculates) {
  EXPECT_THAT(text_of("rtx3090-nv4"),
              AllOf(HasSubstr("NV4"), HasSubstr("4 of 4        GPUs directly"),
                    HasSubstr("14.0625    56.25     112.50"), HasSubstr("is not public")));
  EXPECT_THAT(text_of("titan-rtx-nv2"), AllOf(HasSubstr("NV2"), HasSubstr("2 of 2")));
}

TEST(TopoProgram, SumsLinksThatDiffer) {
  EXPECT_THAT(text_of("one-link-slow"),
              AllOf(HasSubstr("< 26.5625   464.84     929.69"), HasSubstr(" 437.5\n"),
                    HasSubstr("GPU0: link 3 has 13.2812 GB/s\n"),
                    HasSubstr("GPU1: link 3 has 13.2812 GB/s\n")));
}

TEST(TopoProgram, ShowsWhatIsMissing) {
  EXPECT_THAT(text_of("titan-rtx-phb"), AllOf(HasSubstr("PHB"), HasSubstr("0 of 2")));
  EXPECT_THAT(text_of("one-link-down", 1), AllOf(HasSubstr("NV17"), HasSubstr("17 of 18")));
  EXPECT_THAT(text_of("no-nvlink"), AllOf(HasSubstr("PHB"), HasSubstr("NVLink: none")));
  EXPECT_THAT(text_of("p2p-refused", 1), AllOf(HasSubstr("NV4"), HasSubstr("chipset not supported"),
                                               HasSubstr("  no access")));
  EXPECT_THAT(text_of("lost-gpu"), HasSubstr("GPU is lost"));
  EXPECT_THAT(text_of("pcie-trained-down"), AllOf(HasSubstr("gen 1 x4"), HasSubstr("gen 3 x16")));
}

TEST(TopoProgram, OfADriverThatTellsNothingNamesWhatItLacks) {
  const ScratchFolder folder;
  ProgramRequest request = topo(folder, "");
  request.environment["LINKGAIN_NVML_LIBRARY"] = NVML_DOUBLE_MINIMAL;
  const Outcome outcome = run_program(request);
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("2 x GPU"), HasSubstr("has no nvmlDeviceGetCurrPcieLinkGeneration"),
                    Not(HasSubstr("not answer"))));
}

TEST(TopoProgram, PrintsTheSameAsJson) {
  const ScratchFolder folder;
  const Json json = json_of(topo(folder, "h200x8", {"--json"}));
  EXPECT_EQ(json.at("schema"), "linkgain.topology/1");
  ASSERT_THAT(json.at("gpus"), SizeIs(8));
  ASSERT_THAT(json.at("pairs"), SizeIs(56));
  for (const Json& pair : json.at("pairs")) EXPECT_EQ(pair.at("label"), "NV18");
  EXPECT_EQ(json.at("gpus").at(7).at("cuda_index"), 7);
  EXPECT_EQ(json.at("gpus").at(7).at("nvlink").at("links_active"), 18);
}

TEST(TopoProgram, FollowsCudaVisibleDevices) {
  const ScratchFolder folder;
  const std::string uuid = "GPU-00000000-0000-0000-0000-00000000000";
  for (const std::string list : {"1,0", "GPU-00000000-0000-0000-0000-000000000001", "1"}) {
    ProgramRequest request = topo(folder, "h200x2", {"--json"});
    request.environment["CUDA_VISIBLE_DEVICES"] = list;
    const Json json = json_of(request);
    EXPECT_EQ(json.at("gpus").at(0).at("uuid"), uuid + "0");
    EXPECT_EQ(json.at("gpus").at(1).at("uuid"), uuid + "1");
    EXPECT_EQ(json.at("gpus").at(1).at("cuda_index"), 0) << list;
    const Json hidden = {{"not_measured", "hidden by CUDA_VISIBLE_DEVICES"}};
    EXPECT_EQ(json.at("gpus").at(0).at("cuda_index"), list == "1,0" ? Json(1) : hidden) << list;
  }
}

TEST(TopoProgram, WithoutGpusSaysWhyAndWhatToDo) {
  const ScratchFolder folder;
  ProgramRequest no_library = topo(folder, "h200x2");
  no_library.environment["LINKGAIN_NVML_LIBRARY"] = "/nowhere/libnvidia-ml.so.1";
  for (const auto& [request, advice] :
       {std::pair(no_library, "install NVIDIA's driver"),
        std::pair(topo(folder, "no-driver"), "modprobe nvidia"),
        std::pair(topo(folder, "driver-mismatch"), "restart the machine")}) {
    const Outcome outcome = run_program(request);
    EXPECT_EQ(outcome.status, 3);
    EXPECT_THAT(outcome.output, IsEmpty());
    ASSERT_THAT(lines_of(outcome.error), SizeIs(2)) << outcome.error;
    EXPECT_THAT(outcome.error, AllOf(StartsWith("linkgain: no GPU: "), HasSubstr(advice)));
  }
  const Json json = json_of(topo(folder, "no-driver", {"--json"}), 3);
  EXPECT_THAT(json.at("gpus"), IsEmpty());
  EXPECT_THAT(json.at("no_gpus").get<std::string>(), Not(IsEmpty()));
}

}  // namespace
}  // namespace linkgain::test
