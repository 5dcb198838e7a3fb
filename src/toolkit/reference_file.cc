// Reference tensors.
#include "toolkit/reference_file.h"

#include <bit>
#include <cstring>
#include <limits>

#include "base/json.h"
#include "base/try.h"
#include "checkpoint/safetensors.h"
#include "tensor/float_formats.h"

namespace trine::toolkit {
namespace {

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (const int64_t n : shape) text += (text.size() > 1 ? "," : "") + std::to_string(n);
  return text + "]";
}

template <typename T>
T element(const std::vector<std::byte>& bytes, size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

// False for types that hold no plain numbers.
bool to_float(DType dtype, const std::vector<std::byte>& bytes, size_t i, float* out) {
  switch (dtype) {
    case DType::kF32: *out = element<float>(bytes, i); return true;
    case DType::kF64: *out = static_cast<float>(element<double>(bytes, i)); return true;
    case DType::kBf16: *out = bf16_to_float(element<uint16_t>(bytes, i)); return true;
    case DType::kF16: *out = f16_to_float(element<uint16_t>(bytes, i)); return true;
    case DType::kU8: *out = static_cast<float>(element<uint8_t>(bytes, i)); return true;
    case DType::kI16: *out = static_cast<float>(element<int16_t>(bytes, i)); return true;
    case DType::kU16: *out = static_cast<float>(element<uint16_t>(bytes, i)); return true;
    case DType::kI32: *out = static_cast<float>(element<int32_t>(bytes, i)); return true;
    case DType::kI64: *out = static_cast<float>(element<int64_t>(bytes, i)); return true;
    default: return false;
  }
}

// The metadata's ids, if any; the header itself was checked before.
Result<std::string> metadata_ids(const File& file) {
  unsigned char length[8];
  TRINE_RETURN_IF_ERROR(file.read_at(0, length, 8));
  uint64_t bytes = 0;
  for (size_t i = 8; i-- > 0;) bytes = (bytes << 8) | length[i];
  std::string header(static_cast<size_t>(bytes), '\0');
  TRINE_RETURN_IF_ERROR(file.read_at(8, header.data(), static_cast<int64_t>(bytes)));
  TRINE_ASSIGN_OR_RETURN(const json::Value root, json::parse(header, file.path()));
  const json::Value* metadata = root.find("__metadata__");
  const json::Value* ids = metadata != nullptr ? metadata->find("ids") : nullptr;
  return ids != nullptr ? ids->as_string() : std::string();
}

}  // namespace

Result<ReferenceFile> ReferenceFile::open(const std::string& path) {
  ReferenceFile reference;
  TRINE_ASSIGN_OR_RETURN(reference.file_, File::open(path));
  checkpoint::Findings findings;
  checkpoint::read_shard_header(reference.file_, path, 0, &reference.tensors_, &findings);
  std::string wrong;
  for (const checkpoint::Finding& finding : findings) {
    if (finding.severity != checkpoint::Severity::kError) continue;
    wrong += (wrong.empty() ? "" : "\n") + finding.to_string();
  }
  if (!wrong.empty()) return Status(Code::kCorrupt, wrong);
  TRINE_ASSIGN_OR_RETURN(reference.ids_text_, metadata_ids(reference.file_));
  return reference;
}

const checkpoint::TensorInfo* ReferenceFile::find(const std::string& name) const {
  for (const checkpoint::TensorInfo& tensor : tensors_) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

Result<const checkpoint::TensorInfo*> ReferenceFile::require(
    const std::string& name, const std::vector<int64_t>& shape) const {
  const checkpoint::TensorInfo* tensor = find(name);
  if (tensor == nullptr) {
    std::string names;
    for (const checkpoint::TensorInfo& other : tensors_) names += " " + other.name;
    return Status(Code::kInvalidArgument,
                  path() + ": no tensor " + name + "; it has" + names + "; see --prefix");
  }
  if (tensor->shape != shape) {
    return Status(Code::kCorrupt, path() + ": " + name + ": found shape " +
                                      shape_text(tensor->shape) + ", expected " +
                                      shape_text(shape) +
                                      "; was it written for this model and this prompt?");
  }
  return tensor;
}

Result<std::vector<float>> ReferenceFile::read(const checkpoint::TensorInfo& tensor, int64_t first,
                                               int64_t count) const {
  const int64_t size = dtype_bytes(tensor.dtype);
  std::vector<std::byte> bytes(static_cast<size_t>(count * size));
  TRINE_RETURN_IF_ERROR(file_.read_at(tensor.offset + first * size, bytes.data(), count * size));
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    if (to_float(tensor.dtype, bytes, i, &values[i])) continue;
    return Status(Code::kUnsupported, path() + ": " + tensor.name + ": found type " +
                                          dtype_name(tensor.dtype) +
                                          ", expected numbers such as F32 or I32");
  }
  return values;
}

Result<std::vector<int32_t>> ReferenceFile::ids() const {
  if (ids_text_.empty()) {
    return Status(Code::kInvalidArgument,
                  path() + ": its metadata has no \"ids\"; give the prompt by --ids");
  }
  TRINE_ASSIGN_OR_RETURN(const json::Value root, json::parse(ids_text_, path() + ": ids"));
  std::vector<int32_t> ids;
  if (root.is_array()) {
    for (const json::Value& value : root.as_array()) {
      int64_t id = -1;
      if (!value.to_int64(&id) || id < 0 || id > std::numeric_limits<int32_t>::max()) break;
      ids.push_back(static_cast<int32_t>(id));
    }
    if (!ids.empty() && ids.size() == root.as_array().size()) return ids;
  }
  return Status(Code::kCorrupt, path() + ": metadata \"ids\": expected a JSON array of token ids");
}

}  // namespace trine::toolkit
