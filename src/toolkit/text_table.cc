// Column widths and padding.
#include "toolkit/text_table.h"

#include <algorithm>

namespace trine {

TextTable::TextTable(std::vector<std::string> head) : left_(head.size(), false) {
  left_[0] = true;
  rows_.push_back(std::move(head));
}

std::string TextTable::text() const {
  std::vector<size_t> width(left_.size(), 0);
  for (const auto& row : rows_)
    for (size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string fill(width[c] - row[c].size(), ' ');
      line += (c == 0 ? "" : "  ") + (left_[c] ? row[c] + fill : fill + row[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace trine
