// safetensors: u64 header length, JSON header, data without holes. Nothing of the header is
// believed.
#include "checkpoint/safetensors.h"

#include <algorithm>
#include <cstring>

#include "checkpoint/expected.h"
#include "checkpoint/json_cursor.h"
#include "checkpoint/obstacle.h"

namespace trine::checkpoint {
namespace {

constexpr int64_t kLengthBytes = 8;
constexpr int64_t kHeadBytes = 200;  ///< what a git-LFS pointer fits in
constexpr size_t kRankMax = 16;
constexpr size_t kTensorsMax = 8'000'000;  ///< of all files together; K3 has 497,220
constexpr const char* kDownloadAgain = "download this file again";

class HeaderParser {
 public:
  HeaderParser(std::string_view header, int64_t data_bytes, const std::string& label,
               int32_t file_index, std::vector<TensorInfo>* tensors, Findings* findings,
               HeaderLosses* losses)
      : cursor_(header),
        data_begin_(kLengthBytes + static_cast<int64_t>(header.size())),
        data_bytes_(data_bytes),
        label_(label),
        file_index_(file_index),
        tensors_(tensors),
        findings_(findings),
        losses_(losses),
        first_(tensors->size()) {}

  void run() {
    std::string name;
    cursor_.enter_object();
    while (cursor_.next_key(&name)) {
      if (tensors_->size() >= kTensorsMax) {
        add("too-many-tensors", name, "more than 8000000 tensors", "a checkpoint of this family");
        losses_->unread = true;
        lost_ = true;
        break;
      }
      if (name == "__metadata__")
        metadata();
      else
        tensor(name);
    }
    if (!lost_ && !cursor_.failed() && !cursor_.at_end())
      add("header-json", "", "text after the header's JSON object", "blanks only");
    else if (cursor_.failed())
      add("header-json", "", cursor_.error(), "a JSON object of name, dtype, shape, data_offsets");
    losses_->unread = losses_->unread || cursor_.failed();
    lost_ = lost_ || cursor_.failed();
    check_layout();
  }

 private:
  struct Entry {
    TensorInfo info;
    std::string dtype;
    int64_t begin = -1;
    int64_t end = -1;
    bool has_shape = false;
  };

  void add(const char* kind, const std::string& tensor, std::string found, std::string expected,
           const char* action = kDownloadAgain) {
    add_finding(findings_, {.kind = kind,
                            .file = label_,
                            .tensor = tensor,
                            .found = std::move(found),
                            .expected = std::move(expected),
                            .action = action});
  }

  void refuse(const std::string& name) {
    losses_->refused.push_back(name);
    lost_ = true;
  }

  void metadata() {
    std::string text;
    if (metadata_seen_) add("duplicate-key", "__metadata__", "the key twice", "each key once");
    metadata_seen_ = true;
    if (cursor_.peek() != '{') {
      add("header-metadata", "__metadata__", "no object", "an object of strings");
      cursor_.skip_value();
      return;
    }
    cursor_.enter_object();
    while (cursor_.next_key(&text)) {
      if (cursor_.peek() == '"') {
        cursor_.read_string(&text);
        continue;
      }
      add("header-metadata", "__metadata__",
          "key " + json::quote(text) + " with a value of another type", "strings only");
      cursor_.skip_value();
    }
  }

  bool read_shape(std::vector<int64_t>* shape) {
    cursor_.enter_array();
    while (cursor_.next_element()) {
      int64_t dim = 0;
      if (!cursor_.read_count(&dim)) return false;
      if (shape->size() <= kRankMax) shape->push_back(dim);
    }
    return !cursor_.failed();
  }

  bool read_offsets(Entry* entry) {
    std::vector<int64_t> offsets;
    if (!read_shape(&offsets)) return false;
    if (offsets.size() == 2) {
      entry->begin = offsets[0];
      entry->end = offsets[1];
    }
    return true;
  }

  void tensor(const std::string& name) {
    Entry entry;
    std::string key;
    if (cursor_.peek() != '{') {
      add("header-entry", name, "an entry that is no object", "dtype, shape and data_offsets");
      refuse(name);
      cursor_.skip_value();
      return;
    }
    cursor_.enter_object();
    while (cursor_.next_key(&key)) {
      if (key == "dtype") {
        if (!entry.dtype.empty()) add("duplicate-key", name, "dtype twice", "each key once");
        cursor_.read_string(&entry.dtype);
      } else if (key == "shape") {
        if (entry.has_shape) add("duplicate-key", name, "shape twice", "each key once");
        entry.has_shape = true;
        entry.info.shape.clear();
        read_shape(&entry.info.shape);
      } else if (key == "data_offsets") {
        if (entry.begin >= 0) add("duplicate-key", name, "data_offsets twice", "each key once");
        read_offsets(&entry);
      } else {
        add("header-entry", name, "unknown key " + json::quote(key),
            "dtype, shape and data_offsets");
        cursor_.skip_value();
      }
    }
    if (cursor_.failed()) return;
    entry.info.name = name;
    if (!accept(std::move(entry))) refuse(name);
  }

  // Checks one entry by itself; check_layout() compares the entries with each other.
  bool accept(Entry entry) {
    const std::string& name = entry.info.name;
    if (entry.dtype.empty() || !entry.has_shape || entry.begin < 0) {
      add("header-entry", name, "an incomplete entry",
          "dtype, shape and data_offsets [begin, end]");
      return false;
    }
    if (!parse_dtype(entry.dtype, &entry.info.dtype)) {
      add("dtype-unknown", name, "dtype " + json::quote(entry.dtype),
          "a type of the safetensors format", "convert the tensor to BF16 or F32");
      return false;
    }
    if (entry.end < entry.begin) {
      add("offsets-out-of-order", name, offsets_text(entry), "begin <= end");
      return false;
    }
    if (entry.info.shape.size() > kRankMax) {
      add("shape-absurd", name, "more than 16 dimensions", "at most 16");
      return false;
    }
    int64_t bytes = dtype_bytes(entry.info.dtype);
    bool overflow = false;
    for (const int64_t dim : entry.info.shape)
      overflow |= __builtin_mul_overflow(bytes, dim, &bytes);
    if (overflow) {
      add("shape-absurd", name, "shape " + shape_text(entry.info.shape), "fewer than 2^63 bytes");
      return false;
    }
    if (bytes != entry.end - entry.begin) {
      add("shape-bytes", name,
          entry.dtype + " " + shape_text(entry.info.shape) + " in " +
              std::to_string(entry.end - entry.begin) + " bytes",
          std::to_string(bytes) + " bytes");
      return false;
    }
    if (entry.end > INT64_MAX - data_begin_) {
      add("shape-absurd", name, offsets_text(entry), "offsets inside the file");
      return false;
    }
    entry.info.file = file_index_;
    entry.info.offset = data_begin_ + entry.begin;
    entry.info.bytes = bytes;
    tensors_->push_back(std::move(entry.info));
    return true;
  }

  static std::string offsets_text(const Entry& entry) {
    return "data_offsets [" + std::to_string(entry.begin) + ", " + std::to_string(entry.end) + "]";
  }

  // The data are covered exactly once, from the first byte to the last.
  void check_layout() {
    std::vector<const TensorInfo*> order;
    for (size_t i = first_; i < tensors_->size(); ++i) order.push_back(&(*tensors_)[i]);
    std::sort(order.begin(), order.end(), [](const TensorInfo* a, const TensorInfo* b) {
      return a->offset != b->offset ? a->offset < b->offset : a->bytes < b->bytes;
    });
    int64_t covered = data_begin_;
    const TensorInfo* before = nullptr;
    for (const TensorInfo* tensor : order) {
      if (tensor->offset < covered)
        add("offsets-overlap", tensor->name,
            "byte " + std::to_string(tensor->offset - data_begin_) +
                " of the data, which belongs to " +
                (before != nullptr ? before->name : std::string("the header")),
            "offsets from " + std::to_string(covered - data_begin_));
      else if (tensor->offset > covered && !lost_)
        add("offsets-hole", tensor->name,
            std::to_string(tensor->offset - covered) + " bytes that belong to no tensor before it",
            "data without holes");
      if (tensor->offset + tensor->bytes > covered) before = tensor;
      covered = std::max(covered, tensor->offset + tensor->bytes);
    }
    const int64_t declared = covered - data_begin_;
    if (declared > data_bytes_)
      add("truncated", "",
          std::to_string(data_bytes_) + " bytes of data, " +
              std::to_string(declared - data_bytes_) + " bytes are missing",
          std::to_string(declared) + " bytes as its header says",
          "incomplete download: download this file again");
    else if (declared < data_bytes_ && !lost_)
      add("trailing-bytes", "",
          std::to_string(data_bytes_ - declared) + " bytes after the last tensor",
          "a file that ends with its last tensor");
  }

  JsonCursor cursor_;
  int64_t data_begin_;
  int64_t data_bytes_;
  const std::string& label_;
  int32_t file_index_;
  std::vector<TensorInfo>* tensors_;
  Findings* findings_;
  HeaderLosses* losses_;
  size_t first_;
  bool metadata_seen_ = false;
  bool lost_ = false;  ///< some entry was refused: holes then say nothing new
};

}  // namespace

void parse_shard_header(std::string_view header, int64_t data_bytes, const std::string& label,
                        int32_t file_index, std::vector<TensorInfo>* tensors, Findings* findings,
                        HeaderLosses* losses) {
  HeaderLosses unused;
  HeaderParser(header, data_bytes, label, file_index, tensors, findings,
               losses != nullptr ? losses : &unused)
      .run();
}

void read_shard_header(const File& file, const std::string& label, int32_t file_index,
                       std::vector<TensorInfo>* tensors, Findings* findings, HeaderLosses* losses) {
  const auto refuse = [&](const char* kind, std::string found, std::string expected) {
    if (losses != nullptr) losses->unread = true;
    add_finding(findings, {.kind = kind,
                           .file = label,
                           .found = std::move(found),
                           .expected = std::move(expected),
                           .action = kDownloadAgain});
  };
  const auto stop = [&](const Status& why) {
    if (losses != nullptr) losses->unread = true;
    add_finding(findings, obstacle(label, file.path(), why));
  };
  char head[kHeadBytes];
  const int64_t head_bytes = std::min(file.size(), kHeadBytes);
  if (Status status = file.read_at(0, head, head_bytes); !status.ok()) return stop(status);
  if (Status pointer = lfs_pointer({head, static_cast<size_t>(head_bytes)}); !pointer.ok())
    return stop(pointer);
  if (file.size() < kLengthBytes)
    return refuse("truncated", "a file of " + std::to_string(file.size()) + " bytes",
                  "a safetensors file (at least a header)");
  uint64_t length = 0;
  std::memcpy(&length, head, sizeof length);
  const int64_t after = file.size() - kLengthBytes;
  if (length > static_cast<uint64_t>(kHeaderBytesMax))
    return refuse("header-length", "a header of " + std::to_string(length) + " bytes",
                  "at most " + std::to_string(kHeaderBytesMax) + " (is this a safetensors file?)");
  if (static_cast<int64_t>(length) > after)
    return refuse("header-length",
                  "a header of " + std::to_string(length) + " bytes in a file of " +
                      std::to_string(file.size()) + " bytes",
                  "a header inside the file");
  std::string header(static_cast<size_t>(length), '\0');
  if (Status status = file.read_at(kLengthBytes, header.data(), static_cast<int64_t>(length));
      !status.ok())
    return stop(status);
  parse_shard_header(header, after - static_cast<int64_t>(length), label, file_index, tensors,
                     findings, losses);
}

}  // namespace trine::checkpoint
