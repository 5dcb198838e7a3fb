// Peak loops do the operations they claim, and the read loop touches every byte.
#include "kernels/peak.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/peak_table.h"
#include "platform/cpu.h"

namespace trine::kernels {
namespace {

TEST(Peak, EveryLoopPerformsTheOperationsItClaims) {
  for (const Isa isa : supported_isas()) {
    const PeakTable& table = peak_table(isa);
    for (const PeakLoop* loop :
         {&table.f32, &table.bf16, &table.int8, &table.amx_bf16, &table.amx_int8}) {
      if (loop->run == nullptr) continue;
      SCOPED_TRACE(std::string(isa_name(isa)) + " " + loop->name);
      for (const int64_t rounds : {0, 1, 7, 1000})
        EXPECT_EQ(loop->run(rounds), static_cast<double>(rounds * loop->operations / 2));
    }
  }
}

TEST(Peak, ALevelKeepsTheLoopsOfTheLevelsBelow) {
  for (const Isa isa : supported_isas()) EXPECT_NE(peak_table(isa).f32.run, nullptr);
  if (best_isa() >= Isa::kAvx512Bf16) {
    EXPECT_NE(peak_table(best_isa()).bf16.run, nullptr);
    EXPECT_EQ(peak_table(Isa::kAvx2).bf16.run, nullptr);
  }
}

TEST(Peak, TheReadLoopSeesEveryByte) {
  std::vector<uint8_t> data(4096);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<uint8_t>(i * 37 >> 3);
  for (const Isa isa : supported_isas()) {
    SCOPED_TRACE(isa_name(isa));
    const uint64_t before = peak_table(isa).read(data.data(), 4096);
    EXPECT_EQ(before, peak_table(Isa::kScalar).read(data.data(), 4096));
    for (const size_t at : {size_t{0}, size_t{63}, size_t{1027}, size_t{4095}}) {
      data[at] ^= 1;
      EXPECT_NE(peak_table(isa).read(data.data(), 4096), before) << "byte " << at;
      data[at] ^= 1;
    }
  }
}

}  // namespace
}  // namespace trine::kernels
