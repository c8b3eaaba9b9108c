// A profile of a user's own: a file of options.
#include <CLI/CLI.hpp>

#include "fuzz_target.hpp"
#include "linkgain/cases/option_parsers.hpp"
#include "linkgain/plan/option_file.hpp"

namespace linkgain {
namespace {

void read(std::string_view text) {
  CLI::App app;
  DeferredOptions deferred(app);
  SelectionOptions options;
  add_job_options(deferred, options);
  add_selection_options(deferred, options);
  std::vector<std::string> variants;
  int launches = 0;
  bool color = true;
  std::string profile;
  app.add_option("--variant", variants);
  app.add_option("--launches", launches);
  app.add_option("--profile", profile);
  app.add_flag_callback("--no-color", [&color] { color = false; });
  app.parse(std::vector<std::string>{});
  read_option_file(app, fuzz::scratch_file("profile.toml", text), "profile", require_harmless);
  deferred.read();
  Selection selection;
  selection.sizes = {Bytes{1024}};
  if (!options.operations.empty()) selection.operations = options.operations;
  const BackendKind backend = options.backend.value_or(BackendKind::nccl);
  expand({with_options(selection, options)}, 2, backend);
}

}  // namespace
}  // namespace linkgain
