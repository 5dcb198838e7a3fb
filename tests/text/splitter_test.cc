// The split pattern alternative by alternative, and the hard cuts.
#include "text/splitter.h"

#include <gtest/gtest.h>

#include "text/fixtures.h"
#include "text/utf8.h"

namespace trine::test {
namespace {

const UnicodeClasses& classes() {
  static const UnicodeClasses built = *UnicodeClasses::build();
  return built;
}

using Pieces = std::vector<std::string>;

Pieces split(std::string_view text) {
  Pieces out;
  Chunk chunk;
  decode_chunk(classes(), text, &chunk);
  EXPECT_EQ(chunk.text.size(), text.size());
  for (size_t at = 0; at < chunk.size();) {
    const size_t end = piece_end(chunk, at, chunk.size());
    EXPECT_GT(end, at);
    out.emplace_back(chunk.slice(at, end));
    at = end;
  }
  return out;
}

TEST(Splitter, WordsTakeOneCharacterBeforeThem) {
  EXPECT_EQ(split("Hello world"), (Pieces{"Hello", " world"}));
  EXPECT_EQ(split("(call)"), (Pieces{"(call", ")"}));
  EXPECT_EQ(split("a\nb"), (Pieces{"a", "\n", "b"}));  // but no line break
  EXPECT_EQ(split("1a"), (Pieces{"1", "a"}));          // and no number
}

TEST(Splitter, CapitalsBeforeSmallLettersStayTogetherAndThoseAfterDoNot) {
  EXPECT_EQ(split("HTTPServer"), (Pieces{"HTTPServer"}));
  EXPECT_EQ(split("camelCase"), (Pieces{"camel", "Case"}));
  EXPECT_EQ(split("ABC"), (Pieces{"ABC"}));
  EXPECT_EQ(split("aB"), (Pieces{"a", "B"}));
}

TEST(Splitter, TheCapitalsGiveBackToTheLastLetterOfBothSets) {
  // U+00AA is Lo: both sets. The first alternative ends right after it, although capitals follow.
  EXPECT_EQ(split("A\xC2\xAA"
                  "BC"),
            (Pieces{"A\xC2\xAA", "BC"}));
  EXPECT_EQ(split("A\xC2\xAA"
                  "Bc"),
            (Pieces{"A\xC2\xAA"
                    "Bc"}));
  // A combining mark is a prefix, a capital and a small letter at once.
  EXPECT_EQ(split("\xCC\x81"
                  "A"),
            (Pieces{"\xCC\x81", "A"}));
  EXPECT_EQ(split("\xCC\x81"
                  "Ab"),
            (Pieces{"\xCC\x81"
                    "Ab"}));
}

TEST(Splitter, ContractionsStayWithTheirWordInAnyCase) {
  EXPECT_EQ(split("don't"), (Pieces{"don't"}));
  EXPECT_EQ(split("THEY'RE'VE"), (Pieces{"THEY'RE", "'VE"}));
  EXPECT_EQ(split("it'\xC5\xBF x"), (Pieces{"it'\xC5\xBF", " x"}));  // the long s is an s
  EXPECT_EQ(split("he'lx"), (Pieces{"he", "'lx"}));
  EXPECT_EQ(split("it'"), (Pieces{"it", "'"}));
  EXPECT_EQ(split("I'd've"), (Pieces{"I'd", "'ve"}));
}

TEST(Splitter, HanRunsStandAlone) {
  EXPECT_EQ(split("ab\xE4\xBD\xA0\xE5\xA5\xBD"
                  "c"),
            (Pieces{"ab", "\xE4\xBD\xA0\xE5\xA5\xBD", "c"}));
  // U+3007 is a number and Han: it goes with Han in front and with digits after them.
  EXPECT_EQ(split("\xE3\x80\x87\xE4\xBD\xA0"), (Pieces{"\xE3\x80\x87\xE4\xBD\xA0"}));
  EXPECT_EQ(split("1\xE3\x80\x87"), (Pieces{"1\xE3\x80\x87"}));
  EXPECT_EQ(split("!\xE2\xBA\x80"), (Pieces{"!\xE2\xBA\x80"}));  // a radical after a symbol
}

TEST(Splitter, NumbersComeInThrees) {
  EXPECT_EQ(split("1234567"), (Pieces{"123", "456", "7"}));
  EXPECT_EQ(split(" 12"), (Pieces{" ", "12"}));
}

TEST(Splitter, SymbolsTakeABlankBeforeAndLineBreaksAfter) {
  EXPECT_EQ(split("a !=\r\n\nb"), (Pieces{"a", " !=\r\n\n", "b"}));
  EXPECT_EQ(split("\t!"), (Pieces{"\t", "!"}));
}

TEST(Splitter, BlanksEndAtTheLastLineBreakOrLeaveOneForTheWord) {
  EXPECT_EQ(split("a  \n  \n  b"), (Pieces{"a", "  \n  \n", " ", " b"}));
  EXPECT_EQ(split("a   "), (Pieces{"a", "   "}));
  EXPECT_EQ(split("a   1"), (Pieces{"a", "  ", " ", "1"}));
}

TEST(Splitter, IllFormedBytesAreSplitAsTheReplacementCharacterIs) {
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(split("a " + r + "bc " + r + "!1" + r + r),
            (Pieces{"a", " " + r, "bc", " " + r + "!", "1", r + r}));
  EXPECT_EQ(split("a \xFF"
                  "bc \xE2\x82!1\xFE\xF0\x9F"),
            (Pieces{"a", " \xFF", "bc", " \xE2\x82!", "1", "\xFE\xF0\x9F"}));
}

TEST(Splitter, RunsAreCutAtTheLimitAndCountedAnewAfterTheCut) {
  Chunk chunk;
  const std::string text = repeat("a", kRunCharsMax * 2 + 1) + " " + repeat("b", kRunCharsMax);
  decode_chunk(classes(), text, &chunk);
  EXPECT_EQ(stretch_end(chunk, 0), kRunCharsMax);
  EXPECT_EQ(stretch_end(chunk, kRunCharsMax), kRunCharsMax * 2);
  EXPECT_EQ(stretch_end(chunk, kRunCharsMax * 2), text.size());
}

TEST(Splitter, SeparatorsOfAsciiCountAsBlanksForTheCutOnly) {
  Chunk chunk;
  const std::string text = repeat(" ", kRunCharsMax) + "\x1C" + "x";
  decode_chunk(classes(), text, &chunk);
  EXPECT_EQ(stretch_end(chunk, 0), kRunCharsMax);
  EXPECT_EQ(split("\x1C"
                  "x"),
            (Pieces{"\x1C"
                    "x"}));
}

TEST(Splitter, ChunksHoldAFixedNumberOfCharacters) {
  Chunk chunk;
  const std::string text = repeat("\xE4\xBD\xA0 ", kChunkCharsMax);
  decode_chunk(classes(), text, &chunk);
  EXPECT_EQ(chunk.size(), kChunkCharsMax);
  EXPECT_EQ(chunk.text.size(), kChunkCharsMax * 2);
}

TEST(UnicodeClasses, CharactersNewerThanTheLibraryAreKnown) {
  EXPECT_EQ(classes().of(0x1C89), kLetter | kUpper);
  EXPECT_EQ(classes().of(0x2EBF0) & (kLetter | kHan | kLower), kLetter | kHan);
  EXPECT_EQ(classes().of(0x16130), kNumber);
  EXPECT_EQ(classes().of(0x10FFFF), 0);
}

TEST(Utf8, OneReplacementForEachMaximalPart) {
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(replace_invalid_utf8("a\xE2\x80"
                                 "e"),
            "a" + r + "e");
  EXPECT_EQ(replace_invalid_utf8("\xF0\x9F\x98"), r);
  EXPECT_EQ(replace_invalid_utf8("\xED\xA0\x80"), r + r + r);  // a surrogate
  EXPECT_EQ(replace_invalid_utf8("\xC0\xAF\xFF"), r + r + r);
  EXPECT_EQ(replace_invalid_utf8("\xF4\x90\x80\x80"), r + r + r + r);
  EXPECT_EQ(replace_invalid_utf8("\xF4\x8F\xBF\xBF"), "\xF4\x8F\xBF\xBF");
}

TEST(Utf8, AStreamGivesTheSameWhereverItIsCut) {
  const std::string bytes =
      "x\xE4\xBD\xA0\xF0\x9F\x98\x80\xE2\x82!\xF0\x9F\xC3\xA9\xFF\xED\xA0\x80\xF0\x9F";
  const std::string whole = replace_invalid_utf8(bytes);
  for (size_t a = 0; a <= bytes.size(); ++a)
    for (size_t b = a; b <= bytes.size(); ++b) {
      Utf8Stream stream;
      std::string out;
      for (const auto& part : {bytes.substr(0, a), bytes.substr(a, b - a), bytes.substr(b)})
        stream.push(part, &out);
      stream.finish(&out);
      EXPECT_EQ(out, whole) << a << " " << b;
    }
}

TEST(Utf8, BlankIsWhatPythonStrips) {
  EXPECT_TRUE(is_blank(""));
  EXPECT_TRUE(is_blank(" \n\t\x1C\xC2\xA0\xE3\x80\x80"));
  EXPECT_FALSE(is_blank(" x"));
  EXPECT_FALSE(is_blank("\xE2\x80\x8B"));  // zero width space
  EXPECT_FALSE(is_blank("\xFF"));
}

}  // namespace
}  // namespace trine::test
