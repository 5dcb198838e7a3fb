// Readable expectations about the findings of an audit.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "checkpoint/finding.h"

namespace trine::testing {

/// Number of findings of a kind whose text contains `part`.
inline int64_t count_findings(const checkpoint::Findings& findings, const std::string& kind,
                              const std::string& part = "") {
  return std::count_if(findings.begin(), findings.end(), [&](const checkpoint::Finding& f) {
    return f.kind == kind && f.to_string().find(part) != std::string::npos;
  });
}

inline std::string all_findings(const checkpoint::Findings& findings) {
  return "findings:\n" + summarise(findings, checkpoint::Severity::kNote, 10);
}

/// Each error says where, what and what to do.
inline void expect_explained(const checkpoint::Findings& findings) {
  for (const checkpoint::Finding& f : findings) {
    EXPECT_FALSE(f.kind.empty());
    EXPECT_FALSE(f.found.empty()) << f.kind;
    EXPECT_FALSE(f.file.empty() && f.tensor.empty() && f.kind != "no-weights") << f.kind;
    if (f.severity == checkpoint::Severity::kError) {
      EXPECT_FALSE(f.expected.empty()) << f.kind;
      EXPECT_FALSE(f.action.empty()) << f.kind;
    }
  }
}

}  // namespace trine::testing
