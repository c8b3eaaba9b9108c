#pragma once

#include "linkgain/cases/option_parsers.hpp"

namespace linkgain {

/// Adds the options that choose trainings to a CLI::App, which both programs' command lines have.
/// `texts` must outlive its parsing.
template <typename App>
void add_training_options(App& app, SelectionTexts& texts) {
  app.add_option("--model-size", texts.models, "gpt2_step: gpt2 (124M), tiny")
      ->delimiter(',')
      ->type_name("SIZE,...");
  app.add_option("--strategy", texts.strategies,
                 "gpt2_step: ddp, zero2, zero3; the step without communication is measured beside "
                 "them")
      ->delimiter(',')
      ->type_name("NAME,...");
  app.add_option("--training-precision", texts.training_precisions,
                 "gpt2_step: fp32, tf32, bf16 (mpi backend: fp64)")
      ->delimiter(',')
      ->type_name("NAME,...");
  app.add_option("--batch", texts.samples, "gpt2_step: sequences of each rank, 4 unless given")
      ->type_name("B");
  app.add_option("--sequence", texts.length,
                 "gpt2_step: tokens of a sequence, 1024 of gpt2 unless given")
      ->type_name("T");
  app.add_option("--dropout", texts.dropout, "gpt2_step: probability, 0.1 unless given")
      ->type_name("P");
  app.add_option("--buckets", texts.bucket_rule,
                 "gpt2_step: gradients in buckets as PyTorch groups them now (current) or did in "
                 "2020 (legacy)")
      ->type_name("RULE");
  app.add_option(
         "--bucket-mb", texts.bucket_mib,
         "gpt2_step: size of a bucket in MiB, 0.01 to 4096; PyTorch's 1 and 25 unless given")
      ->type_name("MIB");
}

}  // namespace linkgain
