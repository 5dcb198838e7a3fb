// Text in aligned columns.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace trine {

class TextTable {
 public:
  /// The first column is aligned left, the others right.
  explicit TextTable(std::vector<std::string> head);
  void align_left(size_t column) { left_[column] = true; }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  /// Lines end without trailing blanks.
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<bool> left_;
};

}  // namespace trine
