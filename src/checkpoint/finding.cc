// Findings as text and JSON.
#include "checkpoint/finding.h"

#include <algorithm>
#include <map>

namespace trine::checkpoint {

std::string printable(std::string_view text) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string safe;
  safe.reserve(text.size());
  const auto add_hex = [&safe](unsigned char byte) {
    safe += "\\x";
    safe += kDigits[byte >> 4];
    safe += kDigits[byte & 15];
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    if (byte == '\n') {
      safe += "\\n";
    } else if (byte == '\r') {
      safe += "\\r";
    } else if (byte == '\t') {
      safe += "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
      add_hex(byte);
    } else if (byte == 0xC2 && next >= 0x80 && next <= 0x9F) {  // C1: 0x9B starts a sequence too
      add_hex(byte);
      add_hex(next);
      ++i;
    } else {
      safe += text[i];
    }
  }
  return safe;
}

std::string Finding::to_string() const {
  std::string text = file;
  if (!tensor.empty()) text += (text.empty() ? "" : ": ") + tensor;
  if (!found.empty()) text += (text.empty() ? "found " : ": found ") + found;
  if (!expected.empty()) text += ", expected " + expected;
  if (!action.empty()) text += "; " + action;
  return printable(text);
}

json::Value Finding::to_json() const {
  json::Value value = json::Value::object();
  value.set("severity", severity == Severity::kError ? "error" : "note");
  value.set("kind", kind);
  value.set("file", file);
  value.set("tensor", tensor);
  value.set("found", found);
  value.set("expected", expected);
  value.set("action", action);
  return value;
}

bool has_errors(const Findings& findings) {
  for (const Finding& finding : findings)
    if (finding.severity == Severity::kError) return true;
  return false;
}

void add_finding(Findings* findings, Finding finding) {
  const auto count = static_cast<int64_t>(findings->size());
  if (count < kFindingsMax) {
    findings->push_back(std::move(finding));
  } else if (count == kFindingsMax) {
    findings->push_back({.kind = "too-many-findings",
                         .found = "more than " + std::to_string(kFindingsMax) + " findings",
                         .expected = "a checkpoint that is nearly whole",
                         .action = "mend those listed and inspect again; the rest is not listed"});
  }
}

namespace {

std::map<std::string, int64_t> count_kinds(const Findings& findings, Severity least) {
  std::map<std::string, int64_t> count;
  for (const Finding& finding : findings)
    if (finding.severity >= least) ++count[finding.kind];
  return count;
}

}  // namespace

int64_t left_out_of_summary(const Findings& findings, Severity least, int64_t per_kind) {
  int64_t left_out = 0;
  for (const auto& [kind, count] : count_kinds(findings, least))
    left_out += std::max<int64_t>(0, count - per_kind);
  return left_out;
}

std::string summarise(const Findings& findings, Severity least, int64_t per_kind) {
  std::map<std::string, int64_t> count = count_kinds(findings, least);
  std::string text;
  std::map<std::string, int64_t> written;
  for (const Severity severity : {Severity::kError, Severity::kNote}) {
    if (severity < least) continue;
    for (const Finding& finding : findings) {
      if (finding.severity != severity) continue;
      const int64_t n = ++written[finding.kind];
      const std::string label = severity == Severity::kError ? "error" : "note";
      if (n <= per_kind)
        text += label + " [" + finding.kind + "] " + finding.to_string() + "\n";
      else if (n == per_kind + 1)
        text += label + " [" + finding.kind + "] ... and " +
                std::to_string(count[finding.kind] - per_kind) + " more of this kind\n";
    }
  }
  return text;
}

}  // namespace trine::checkpoint
