// Builds the class table. The only file that includes ICU.
#include "text/unicode_classes.h"

#include <unicode/uchar.h>
#include <unicode/uscript.h>
#include <unicode/uset.h>

#include <map>
#include <memory>
#include <string>

namespace trine {
namespace {

constexpr uint32_t kCodePoints = 0x110000;

constexpr uint8_t kCapital = kLetter | kUpper;
constexpr uint8_t kSmall = kLetter | kLower;
constexpr uint8_t kOther = kLetter | kUpper | kLower;
constexpr uint8_t kMark = kUpper | kLower;

struct NewRange {
  uint32_t first;
  uint32_t last;
  uint8_t bits;
};

// Letters, marks and numbers that Unicode 15.1 and 16.0 added. An older ICU does not know them, and
// ids must not depend on the distribution: the reference tokenizer has Unicode 16.
constexpr NewRange kUnicode16[] = {
    {0x897, 0x897, kMark},       {0x1C89, 0x1C89, kCapital},  {0x1C8A, 0x1C8A, kSmall},
    {0xA7CB, 0xA7CC, kCapital},  {0xA7CD, 0xA7CD, kSmall},    {0xA7DA, 0xA7DA, kCapital},
    {0xA7DB, 0xA7DB, kSmall},    {0xA7DC, 0xA7DC, kCapital},  {0x105C0, 0x105F3, kOther},
    {0x10D40, 0x10D49, kNumber}, {0x10D4A, 0x10D4F, kOther},  {0x10D50, 0x10D65, kCapital},
    {0x10D69, 0x10D6D, kMark},   {0x10D6F, 0x10D6F, kOther},  {0x10D70, 0x10D85, kSmall},
    {0x10EC2, 0x10EC4, kOther},  {0x10EFC, 0x10EFC, kMark},   {0x11380, 0x11389, kOther},
    {0x1138B, 0x1138B, kOther},  {0x1138E, 0x1138E, kOther},  {0x11390, 0x113B5, kOther},
    {0x113B7, 0x113B7, kOther},  {0x113B8, 0x113C0, kMark},   {0x113C2, 0x113C2, kMark},
    {0x113C5, 0x113C5, kMark},   {0x113C7, 0x113CA, kMark},   {0x113CC, 0x113D0, kMark},
    {0x113D1, 0x113D1, kOther},  {0x113D2, 0x113D2, kMark},   {0x113D3, 0x113D3, kOther},
    {0x113E1, 0x113E2, kMark},   {0x116D0, 0x116E3, kNumber}, {0x11BC0, 0x11BE0, kOther},
    {0x11BF0, 0x11BF9, kNumber}, {0x11F5A, 0x11F5A, kMark},   {0x13460, 0x143FA, kOther},
    {0x16100, 0x1611D, kOther},  {0x1611E, 0x1612F, kMark},   {0x16130, 0x16139, kNumber},
    {0x16D40, 0x16D6C, kOther},  {0x16D70, 0x16D79, kNumber}, {0x18CFF, 0x18CFF, kOther},
    {0x1CCF0, 0x1CCF9, kNumber}, {0x1E5D0, 0x1E5ED, kOther},  {0x1E5EE, 0x1E5EF, kMark},
    {0x1E5F0, 0x1E5F0, kOther},  {0x1E5F1, 0x1E5FA, kNumber}, {0x2EBF0, 0x2EE5D, kLetter | kHan},
};

struct UsetCloser {
  void operator()(USet* set) const { uset_close(set); }
};

// Sets `bit` for every code point whose property has the value.
Status mark(UProperty property, int32_t value, uint8_t bit, std::vector<uint8_t>* classes) {
  const std::unique_ptr<USet, UsetCloser> set(uset_openEmpty());
  UErrorCode error = U_ZERO_ERROR;
  uset_applyIntPropertyValue(set.get(), property, value, &error);
  const int32_t ranges = error > U_ZERO_ERROR ? 0 : uset_getItemCount(set.get());
  for (int32_t i = 0; i < ranges && error <= U_ZERO_ERROR; ++i) {
    UChar32 first = 0;
    UChar32 last = -1;
    uset_getItem(set.get(), i, &first, &last, nullptr, 0, &error);
    for (UChar32 c = first; c <= last; ++c) (*classes)[static_cast<size_t>(c)] |= bit;
  }
  if (error > U_ZERO_ERROR || ranges == 0)
    return Status(Code::kInternal, std::string("ICU has no data of a Unicode property: ") +
                                       u_errorName(error) + "; is libicu installed whole?");
  return Status();
}

uint8_t class_of_category(UCharCategory category) {
  switch (category) {
    case U_UPPERCASE_LETTER:
    case U_TITLECASE_LETTER: return kCapital;
    case U_LOWERCASE_LETTER: return kSmall;
    case U_MODIFIER_LETTER:
    case U_OTHER_LETTER: return kOther;
    case U_NON_SPACING_MARK:
    case U_ENCLOSING_MARK:
    case U_COMBINING_SPACING_MARK: return kMark;
    case U_DECIMAL_DIGIT_NUMBER:
    case U_LETTER_NUMBER:
    case U_OTHER_NUMBER: return kNumber;
    default: return 0;
  }
}

UBool U_CALLCONV mark_category(const void* context, UChar32 first, UChar32 limit,
                               UCharCategory category) {
  auto* classes = *static_cast<std::vector<uint8_t>* const*>(context);
  for (UChar32 c = first; c < limit; ++c)
    (*classes)[static_cast<size_t>(c)] |= class_of_category(category);
  return 1;
}

}  // namespace

Result<UnicodeClasses> UnicodeClasses::build() {
  std::vector<uint8_t> classes(kCodePoints, 0);
  std::vector<uint8_t>* target = &classes;
  u_enumCharTypes(mark_category, &target);
  if (Status s = mark(UCHAR_SCRIPT, USCRIPT_HAN, kHan, &classes); !s.ok()) return s;
  if (Status s = mark(UCHAR_WHITE_SPACE, 1, kSpace | kRunSpace, &classes); !s.ok()) return s;
  for (const NewRange& range : kUnicode16)
    for (uint32_t c = range.first; c <= range.last; ++c)
      if (u_charType(static_cast<UChar32>(c)) == U_UNASSIGNED) classes[c] |= range.bits;
  for (const char c : {'\r', '\n'}) classes[static_cast<size_t>(c)] |= kNewline;
  for (size_t c = 0x1C; c <= 0x1F; ++c) classes[c] |= kRunSpace;

  UnicodeClasses out;
  constexpr size_t kPage = size_t{1} << kPageBits;
  std::map<std::string, uint16_t> known;
  for (size_t start = 0; start < classes.size(); start += kPage) {
    std::string page;
    for (size_t i = start; i < start + kPage; ++i) {
      if ((classes[i] & kHan) != 0) classes[i] &= static_cast<uint8_t>(~(kUpper | kLower));
      page += static_cast<char>(classes[i]);
    }
    const auto [at, is_new] = known.emplace(page, static_cast<uint16_t>(known.size()));
    if (is_new) out.pages_.insert(out.pages_.end(), &classes[start], &classes[start] + kPage);
    out.page_of_.push_back(at->second);
  }
  return out;
}

}  // namespace trine
