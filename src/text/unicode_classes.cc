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
    case U_TITLECASE_LETTER: return kLetter | kUpper;
    case U_LOWERCASE_LETTER: return kLetter | kLower;
    case U_MODIFIER_LETTER:
    case U_OTHER_LETTER: return kLetter | kUpper | kLower;
    case U_NON_SPACING_MARK:
    case U_ENCLOSING_MARK:
    case U_COMBINING_SPACING_MARK: return kUpper | kLower;
    case U_DECIMAL_DIGIT_NUMBER:
    case U_LETTER_NUMBER:
    case U_OTHER_NUMBER: return kNumber;
    default: return 0;
  }
}

UBool U_CALLCONV mark_category(const void* context, UChar32 first, UChar32 limit, UCharCategory category) {
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
