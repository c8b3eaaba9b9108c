#include "linkgain/gpt2/parameter_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "linkgain/gpt2/training_parameters.hpp"

namespace linkgain::test {
namespace {

const ParameterTable& gpt2_table() {
  static const ParameterTable table(gpt2_config(ModelSize::gpt2));
  return table;
}

TEST(ParameterTable, HasTheTensorsOfGpt2) {
  EXPECT_EQ(gpt2_table().tensors().size(), 148U);
  EXPECT_EQ(gpt2_table().count(), 124'439'808);
  EXPECT_EQ(gpt2_table().segments(), 14);
  for (int block = 1; block <= 12; ++block) {
    EXPECT_EQ(gpt2_table().segment_range(block).count * 4, 28'351'488) << block;
  }
  EXPECT_EQ(gpt2_table().segment_range(0), (ParameterRange{0, (50257 + 1024) * 768}));
  EXPECT_EQ(gpt2_table().segment_range(13), (ParameterRange{124'439'808 - 2 * 768, 2 * 768}));
}

TEST(ParameterTable, HasAsManyParametersAsCasesAreSizedBy) {
  for (const ModelSize size : kModelSizes) {
    EXPECT_EQ(ParameterTable(gpt2_config(size)).count(), parameter_count(size)) << name_of(size);
  }
}

TEST(ParameterTable, HasPyTorchsNamesInItsOrder) {
  EXPECT_EQ(gpt2_table().tensors()[0].name, "transformer.wte.weight");
  EXPECT_EQ(gpt2_table().tensors()[1].name, "transformer.wpe.weight");
  EXPECT_EQ(gpt2_table().tensors()[2].name, "transformer.h.0.ln_1.weight");
  EXPECT_EQ(gpt2_table().tensors()[4].name, "transformer.h.0.attn.c_attn.weight");
  EXPECT_EQ(gpt2_table().tensors()[145].name, "transformer.h.11.mlp.c_proj.bias");
  EXPECT_EQ(gpt2_table().tensors()[147].name, "transformer.ln_f.bias");
  std::set<std::string> names;
  for (const ParameterTensor& tensor : gpt2_table().tensors()) names.insert(tensor.name);
  EXPECT_EQ(names.size(), 148U);
}

TEST(ParameterTable, LeavesNoGapsAndDividesBetweenTwoFourAndEight) {
  std::int64_t end = 0;
  for (const ParameterTensor& tensor : gpt2_table().tensors()) {
    EXPECT_EQ(tensor.offset, end);
    EXPECT_EQ(tensor.count() % 8, 0) << tensor.name;
    end = tensor.range().end();
  }
}

TEST(ParameterTable, FindsTensorsByKindAndBlock) {
  for (std::size_t i = 0; i < gpt2_table().tensors().size(); ++i) {
    const ParameterTensor& tensor = gpt2_table().tensors()[i];
    EXPECT_EQ(gpt2_table().index_of(tensor.kind, tensor.segment - 1), static_cast<int>(i));
  }
  const ParameterTensor& tensor = gpt2_table().tensor(TensorKind::contraction_weight, 3);
  EXPECT_EQ(tensor.name, "transformer.h.3.mlp.c_proj.weight");
  EXPECT_EQ(tensor.rows, 3072);
  EXPECT_EQ(tensor.columns, 768);
}

TEST(ParameterTable, SegmentsCoverAllParameters) {
  std::int64_t end = 0;
  for (int segment = 0; segment < gpt2_table().segments(); ++segment) {
    EXPECT_EQ(gpt2_table().segment_range(segment).offset, end);
    end = gpt2_table().segment_range(segment).end();
  }
  EXPECT_EQ(end, gpt2_table().count());
}

TEST(ParameterTable, TheTokenEmbeddingIsReadAtBothEndsAndReadyLast) {
  for (int segment = 0; segment < 14; ++segment) {
    EXPECT_EQ(gpt2_table().reads_token_embedding(segment), segment == 0 || segment == 13);
  }
  ASSERT_EQ(gpt2_table().ready_order().size(), 148U);
  EXPECT_EQ(gpt2_table().ready_order().front(), 147);
  EXPECT_EQ(gpt2_table().ready_order().back(), 0);
  EXPECT_EQ(gpt2_table().tensors()[0].kind, TensorKind::token_embedding);
}

}  // namespace
}  // namespace linkgain::test
