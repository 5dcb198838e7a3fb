// The bundled model and all golden checkpoints are whole, and their numbers are read as stored.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/expected.h"
#include "tensor/float_formats.h"

namespace trine::checkpoint {
namespace {

std::vector<std::string> golden_folders() {
  std::vector<std::string> folders{std::string(TRINE_SOURCE_DIR) + "/models/k3-nano"};
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(TRINE_SOURCE_DIR) + "/tests/golden"))
    if (std::filesystem::exists(entry.path() / "model"))
      folders.push_back((entry.path() / "model").string());
  std::sort(folders.begin(), folders.end());
  return folders;
}

class GoldenCheckpoint : public testing::TestWithParam<std::string> {};

TEST_P(GoldenCheckpoint, IsWhole) {
  Result<Checkpoint> checkpoint = Checkpoint::open(GetParam());
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().to_string();
  EXPECT_TRUE(checkpoint->require_whole().ok())
      << summarise(checkpoint->findings(), Severity::kNote, 10);
  EXPECT_TRUE(checkpoint->scales_scanned());
  EXPECT_GT(checkpoint->tensors().size(), 50u);
}

// Every module, so that each group, padding and last row is met; compared with the bits in the
// file.
TEST_P(GoldenCheckpoint, DequantisesEveryModuleAsItsBytesSay) {
  Result<Checkpoint> opened = Checkpoint::open(GetParam());
  ASSERT_TRUE(opened.ok());
  int64_t modules = 0;
  int64_t mxfp4 = 0;
  for (const ExpectedTensor& expected : expected_parameters(opened->config())) {
    if (!expected.quantisable()) continue;
    const std::string module = expected.name.substr(0, expected.name.size() - 7);
    Result<Linear> linear = opened->linear(module);
    ASSERT_TRUE(linear.ok()) << linear.status().to_string();
    ASSERT_EQ(expected.shape, (std::vector<int64_t>{linear->out, linear->in})) << module;
    std::vector<float> row(static_cast<size_t>(linear->in));
    const int64_t o = linear->out - 1;
    ASSERT_TRUE(opened->dequantise_rows(*linear, o, o + 1, row.data()).ok());
    std::vector<uint8_t> codes(static_cast<size_t>(linear->codes->bytes));
    ASSERT_TRUE(opened->read(*linear->codes, 0, codes.data(), linear->codes->bytes).ok());
    ++modules;
    if (linear->coding == WeightCoding::kMxfp4) {
      ++mxfp4;
      std::vector<uint8_t> scales(static_cast<size_t>(linear->scales->bytes));
      ASSERT_TRUE(opened->read(*linear->scales, 0, scales.data(), linear->scales->bytes).ok());
      for (int64_t i = 0; i < linear->in; ++i) {
        const int byte = codes[static_cast<size_t>((o * linear->in + i) / 2)];
        const float code = e2m1_to_float(static_cast<uint8_t>(i % 2 == 0 ? byte & 15 : byte >> 4));
        const int exponent = scales[static_cast<size_t>((o * linear->in + i) / 32)] - 127;
        ASSERT_EQ(std::ldexp(code, exponent), row[static_cast<size_t>(i)]) << module << " " << i;
      }
    } else {
      ASSERT_EQ(linear->coding, WeightCoding::kPlain);
      for (int64_t i = 0; i < linear->in; ++i) {
        uint16_t bits = 0;
        std::memcpy(&bits, codes.data() + 2 * (o * linear->in + i), 2);
        ASSERT_EQ(bf16_to_float(bits), row[static_cast<size_t>(i)]) << module << " " << i;
      }
    }
  }
  EXPECT_GT(modules, 20);
  const bool has_mxfp4 = GetParam().find("bf16") == std::string::npos &&
                         GetParam().find("linear") == std::string::npos;
  EXPECT_EQ(has_mxfp4, mxfp4 > 0);
}

std::string case_name(const testing::TestParamInfo<std::string>& folder) {
  std::filesystem::path path(folder.param);
  if (path.filename() == "model") path = path.parent_path();
  std::string name = path.filename().string();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, GoldenCheckpoint, testing::ValuesIn(golden_folders()), case_name);

}  // namespace
}  // namespace trine::checkpoint
