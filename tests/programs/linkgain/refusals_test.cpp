#include <gmock/gmock.h>

#include "linkgain/base/text.hpp"
#include "parsing.hpp"
#include "support/golden.hpp"
#include "support/situations.hpp"

/// Command lines that cannot be meant, of every subcommand.
namespace linkgain::test {
namespace {

using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

const std::vector<std::vector<std::string>> kCommandLines{
    {"rum"},
    {"topology"},
    {"docter"},
    {"hlep"},
    {"help", "toop"},
    {"help", "everything"},
    {"help", "run", "topo"},
    {"--verison"},
    {"run", "--dry"},
    {"run", "--size", "8"},
    {"run", "--ops", "all_reduce"},
    {"run", "--iters=20"},
    {"run", "--rounds", "6"},
    {"run", "--varaint=p2p"},
    {"run", "quick"},
    {"run", "all-reduce"},
    {"run", "host"},
    {"run", "nothing"},
    {"run", "sh", "-c", "train.sh"},
    {"sh", "train.sh"},
    {"--", "sh", "train.sh"},
    {"topo", "--junit", "x"},
    {"topo", "--tolerance", "5%"},
    {"run", "--backend", "ncl"},
    {"run", "--backend", "gpu"},
    {"run", "--profile", "ful"},
    {"run", "--only", "all_reduc"},
    {"run", "--only", "AllReduce"},
    {"run", "--type", "fp16"},
    {"run", "--type", "float23"},
    {"run", "--reduction", "mx"},
    {"run", "--launch-mode", "grpah"},
    {"run", "--launch", "graph"},
    {"run", "--precision", "5%"},
    {"run", "--deadline", "5m"},
    {"run", "--ci-width", "0.6"},
    {"run", "--timeout", "2 days"},
    {"run", "--budget", "0"},
    {"run", "--budget", "8d"},
    {"run", "--pattern", "one_way"},
    {"run", "--schedule", "pair"},
    {"run", "--sizes", "0"},
    {"run", "--sizes", "-8"},
    {"run", "--sizes", "1Q"},
    {"run", "--sizes", ""},
    {"run", "--gpus", "0,x"},
    {"run", "--gpus", ""},
    {"run", "--pair", "0+1"},
    {"run", "--np", "two"},
    {"run", "--launches", "2.5"},
    {"run", "--only", "gpt2_step", "--batch", "1.5"},
    {"run", "--only", "gpt2_step", "--batch", "99999999999999999999"},
    {"run", "--only", "gpt2_step", "--batch", ""},
    {"run", "--only", "gpt2_step", "--bucket-mb", "2.5x"},
    {"run", "--only", "gpt2_step", "--bucket-mb", ""},
    {"run", "--only", "gpt2_step", "--steps", "many"},
    {"run", "--only", "gpt2_step", "--steps", ""},
    {"run", "--only", "gpt2_step", "--sequence", "12x"},
    {"run", "--only", "gpt2_step", "--sequence", ""},
    {"run", "--only", "gpt2_step", "--dropout", "half"},
    {"run", "--only", "gpt2_step", "--dropout", ""},
    {"run", "--only", "gpt2_step", "--tokens", ""},
    {"run", "-b", "8", "-e", "128M", "-f", "2", "-g", "2"},
    {"run", "-e", "1G"},
    {"run", "-n", "20"},
    {"run", "--schedule", "parallel"},
    {"run", "-q"},
    {"topo", "--jsno"},
    {"topo", "-m"},
    {"topo", "all"},
    {"doctor", "--laod"},
    {"doctor", "now"},
    {"doctor", "--prove", "--only", "xid"},
    {"doctor", "--only", "p2p-delivery"},
    {"doctor", "--only", "nvlink-bandwidth"},
    {"doctor", "--junit", "p", "--prometheus", "./p"},
    {"doctor", "--junit", "/dev/null", "--prometheus", "/dev/null"},
    {"compare"},
    {"compare", "a"},
    {"compare", "a", "b", "--metric", "busw"},
    {"compare", "a", "b", "--format", "mdd"},
    {"compare", "a", "b", "--threshold", "5%"},
    {"compare", "a", "b", "--tolerance", "80%"},
    {"compare", "a", "b", "--tolerance", "few"},
    {"baseline", "-o", "b.json"},
    {"baseline", "a"},
    {"baseline", "a", "-o", ""},
    {"baseline", "a", "-o", "b", "--tolerance", "5"},
    {"check", "a"},
    {"check", "--baseline", "b"},
    {"check", "a", "--baseline", ""},
    {"check", "a", "--baseline", "b", "--format", "xml"},
    {"check", "a", "--baseline", "b", "--tolerance", "-5%"},
    {"check", "a", "--baseline", "b", "--juint", "c"},
    {"fleet"},
    {"fleet", "a", "--expect", "n[1-"},
    {"fleet", "a", "--expect", ""},
    {"fleet", "a", "--tolerance", "0"},
    {"report", "r", "--format", "cvs"},
    {"report", "r", "--csv"},
};

TEST(CommandLine, RefusalsSayWhatIsAccepted) {
  Situations refusals;
  for (const std::vector<std::string>& words : kCommandLines) {
    std::string command = "linkgain";
    for (const std::string& word : words) command += " " + (word.empty() ? "''" : word);
    EXPECT_NE(refusal(words), "accepted") << command;
    refusals.add(command, refusal_of<UsageError>([&] { parse(words); }));
  }
  expect_golden(refusals.text(), "refusals.txt");
}

/// Lists the options that a command's help names with a value behind them, as "--out DIR".
std::vector<std::string> options_with_values(const std::string& command) {
  std::vector<std::string> options;
  for (const std::string& line : split(options_of<TextRequest>({command, "--help"}).text, '\n')) {
    const std::size_t name = line.find("--");
    const std::size_t end = line.find_first_of(" [", name);
    if (!line.starts_with("  -") || end == std::string::npos || line[end] == '[') continue;
    if (end + 1 < line.size() && line[end + 1] != ' ') {
      options.push_back(line.substr(name, end - name));
    }
  }
  return options;
}

/// Covers what `--expect "$SLURM_JOB_NODELIST"` gives where there is no such variable.
TEST(CommandLine, RefusesAnEmptyValueOfEachOption) {
  for (const std::vector<std::string>& begin : {std::vector<std::string>{"run"},
                                                {"doctor"},
                                                {"report"},
                                                {"fleet", "a"},
                                                {"baseline", "a"},
                                                {"compare", "a", "b"},
                                                {"check", "a", "--baseline", "b"}}) {
    const std::vector<std::string> options = options_with_values(begin.front());
    EXPECT_THAT(options, Not(IsEmpty())) << begin.front();
    for (const std::string& option : options) {
      std::vector<std::string> words = begin;
      words.insert(words.end(), {option, ""});
      EXPECT_THAT(refusal(words), StartsWith(option)) << begin.front();
    }
  }
}

}  // namespace
}  // namespace linkgain::test
