// Every coding: what the builder meant is what the reader says, bit for bit.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "support/checkpoint_builder.h"
#include "support/temp_dir.h"

namespace trine::testing {
namespace {

using checkpoint::Checkpoint;
using checkpoint::ExpectedTensor;
using checkpoint::Linear;
using checkpoint::Role;

struct Case {
  std::string name;
  ModuleCoding coding;
};

ModuleCoding with(ModuleCoding coding, void (*change)(ModuleCoding*)) {
  change(&coding);
  return coding;
}

std::vector<Case> cases() {
  const auto zero = [](ModuleCoding* c) { c->zero_point = true; };
  const auto order = [](ModuleCoding* c) { c->g_idx = true; };
  const auto tensor = [](ModuleCoding* c) { c->per_tensor = true; };
  const auto half = [](ModuleCoding* c) { c->scale_dtype = DType::kF16; };
  const auto brain = [](ModuleCoding* c) { c->scale_dtype = DType::kBf16; };
  const auto group16 = [](ModuleCoding* c) { c->group = 16; };
  const auto inverse = [](ModuleCoding* c) { c->scale_inv = true; };
  return {{"bf16", bf16()},
          {"f16", plain(DType::kF16)},
          {"f32", plain(DType::kF32)},
          {"e4m3", plain(DType::kF8E4M3)},
          {"e5m2", plain(DType::kF8E5M2)},
          {"mxfp4", mxfp4()},
          {"nvfp4", nvfp4()},
          {"mxfp8", mxfp8()},
          {"int4_group32", int4(32)},
          {"int4_group16_f16", with(with(int4(16), half), zero)},
          {"int4_channel", int4(0)},
          {"int4_channel_zero", with(int4(0), zero)},
          {"int4_tensor", with(int4(0), tensor)},
          {"int4_order", with(with(int4(16), order), brain)},
          {"int4_zero_order", with(with(int4(32), order), zero)},
          {"int8_packed_group32", int8_packed(32)},
          {"int8_packed_channel_zero", with(int8_packed(0), zero)},
          {"int8_channel", int8()},
          {"int8_tensor", with(int8(), tensor)},
          {"int8_group_zero", with(with(int8(), group16), zero)},
          {"fp8_channel", fp8()},
          {"fp8_tensor", with(fp8(), tensor)},
          {"fp8_blocks", fp8_blocks()},
          {"fp8_blocks_inverse", with(with(fp8_blocks(), inverse), brain)},
          {"fp8_group", with(fp8(), group16)}};
}

class Coding : public ::testing::TestWithParam<Case> {};

bool fits(const ModuleCoding& coding, int64_t in) {
  return coding.group == 0 || in % coding.group == 0;
}

void compare_all(const Checkpoint& checkpoint, const CheckpointBuilder& builder) {
  for (const ExpectedTensor& expected : checkpoint::expected_parameters(checkpoint.config())) {
    if (!expected.quantisable()) {
      std::vector<float> floats(static_cast<size_t>(expected.elements()));
      ASSERT_TRUE(checkpoint.read_floats(expected.name, floats.data(), expected.elements()).ok());
      ASSERT_EQ(builder.values(expected.name), floats) << expected.name;
      continue;
    }
    const std::string module = expected.name.substr(0, expected.name.size() - 7);
    Result<Linear> linear = checkpoint.linear(module);
    ASSERT_TRUE(linear.ok()) << linear.status().to_string();
    ASSERT_EQ(linear->out, expected.shape[0]);
    ASSERT_EQ(linear->in, expected.shape[1]);
    // In three uneven pieces: rows must not depend on where a read begins.
    std::vector<float> rows(static_cast<size_t>(expected.elements()));
    const int64_t cuts[4] = {0, linear->out / 3, linear->out - 1, linear->out};
    for (int i = 0; i < 3; ++i)
      ASSERT_TRUE(
          checkpoint
              .dequantise_rows(*linear, cuts[i], cuts[i + 1], rows.data() + cuts[i] * linear->in)
              .ok());
    ASSERT_EQ(builder.values(module), rows) << module;
  }
}

TEST_P(Coding, MeansWhatTheWriterMeant) {
  for (const bool flat : {false, true}) {
    TempDir folder;
    CheckpointBuilder builder(flat ? small_linear_config() : small_k3_config(), 7);
    builder.choose([](const ExpectedTensor& t) {
      return fits(GetParam().coding, t.shape[1]) ? GetParam().coding : bf16();
    });
    builder.build().write(folder.path(), flat ? 1 : 3);
    Result<Checkpoint> checkpoint = Checkpoint::open(folder.path());
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().to_string();
    ASSERT_TRUE(checkpoint->require_whole().ok())
        << summarise(checkpoint->findings(), checkpoint::Severity::kError, 5);
    compare_all(*checkpoint, builder);
  }
}

std::string case_name(const ::testing::TestParamInfo<Case>& coding) { return coding.param.name; }
INSTANTIATE_TEST_SUITE_P(All, Coding, ::testing::ValuesIn(cases()), case_name);

TEST(Coding, MayDifferFromModuleToModule) {
  const std::vector<Case> all = cases();
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    TempDir folder;
    CheckpointBuilder builder(small_k3_config(), seed);
    size_t next = seed;
    builder.choose([&](const ExpectedTensor& t) {
      do next = (next + 1) % all.size();
      while (!fits(all[next].coding, t.shape[1]));
      return all[next].coding;
    });
    builder.build().write(folder.path(), 2);
    Result<Checkpoint> checkpoint = Checkpoint::open(folder.path());
    ASSERT_TRUE(checkpoint.ok());
    ASSERT_TRUE(checkpoint->require_whole().ok())
        << "seed " << seed << "\n"
        << summarise(checkpoint->findings(), checkpoint::Severity::kError, 5);
    compare_all(*checkpoint, builder);
  }
}

}  // namespace
}  // namespace trine::testing
