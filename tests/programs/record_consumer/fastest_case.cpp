#include <cstdio>
#include <exception>
#include <linkgain/record/journal.hpp>

// Prints the case and variant with the highest bus bandwidth of a record.
int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    const linkgain::Record record = linkgain::read_record(argv[1]);
    const linkgain::CaseResult* fastest = nullptr;
    const linkgain::VariantResult* variant = nullptr;
    for (const linkgain::CaseResult& result : record.cases) {
      for (const linkgain::VariantResult& each : result.variants) {
        if (each.busbw && (variant == nullptr || *each.busbw > *variant->busbw)) {
          fastest = &result;
          variant = &each;
        }
      }
    }
    if (variant == nullptr) return 1;
    std::printf("%s with %s: %.1f GB/s\n", linkgain::case_name(fastest->definition).c_str(),
                variant->variant.c_str(), *variant->busbw);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}
