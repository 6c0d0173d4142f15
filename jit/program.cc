#include "jit/program.h"

#include <atomic>
#include <utility>

namespace proa::inline v0::jit {

ValueId Program::AddValue(ValueInfo info) {
  // Each unknown dim gets a name that no other value of any program has.
  static std::atomic<int64_t> names{1};
  for (int64_t& d : info.meta.shape.dims()) {
    if (d == kUnknownDim) d = NamedDim(names++);
  }
  ++version_;
  const auto id = static_cast<ValueId>(values_.size());
  if (info.kind == ValueKind::kCaptured && info.captured.defined()) {
    captures_.emplace(info.captured.impl(), id);
  }
  values_.push_back(std::move(info));
  return id;
}

void Program::NoteCopyOf(const std::shared_ptr<const Program>& original) {
  const auto n = static_cast<ValueId>(values_.size());
  originals_ = original->originals_;
  originals_.push_back({original, n});
}

bool Program::Shares(const std::shared_ptr<const Program>& other,
                     ValueId id) const {
  if (other.get() == this) return true;
  for (const Original& o : originals_) {
    if (o.program.lock() == other && id < o.values) return true;
  }
  return false;
}

std::shared_ptr<Program::Attachment> Program::attachment() const {
  const std::lock_guard lock(attachment_mutex_);
  return attachment_;
}

void Program::Attach(std::shared_ptr<Attachment> attachment) const {
  const std::lock_guard lock(attachment_mutex_);
  attachment_.swap(attachment);
}

void Program::SetCaptured(ValueId id, Tensor tensor) {
  ++version_;
  const auto at = captures_.find(values_[id].captured.impl());
  if (at != captures_.end() && at->second == id) captures_.erase(at);
  captures_.emplace(tensor.impl(), id);
  values_[id].captured = std::move(tensor);
}

ValueId Program::Capture(const Tensor& tensor, std::string name) {
  // The handle in `values_` keeps the TensorImpl alive, so that its address
  // names it.
  if (auto it = captures_.find(tensor.impl()); it != captures_.end()) {
    return it->second;
  }
  ValueInfo info;
  info.kind = ValueKind::kCaptured;
  info.meta = {tensor.shape(), tensor.dtype(), tensor.place()};
  info.name = std::move(name);
  info.captured = tensor;
  return AddValue(std::move(info));
}

ValueId Program::FindCaptured(const Tensor& tensor) const {
  const auto it = captures_.find(tensor.impl());
  return it == captures_.end() ? kNoValue : it->second;
}

namespace {

std::vector<ValueId> OfKind(const std::vector<ValueInfo>& values,
                            ValueKind kind) {
  std::vector<ValueId> ids;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].kind == kind) ids.push_back(static_cast<ValueId>(i));
  }
  return ids;
}

}  // namespace

std::vector<ValueId> Program::inputs() const {
  return OfKind(values_, ValueKind::kInput);
}

std::vector<ValueId> Program::captured() const {
  return OfKind(values_, ValueKind::kCaptured);
}

ValueId Program::Find(const std::string& name) const {
  for (size_t i = 0; i < values_.size(); ++i) {
    const bool outer = values_[i].kind == ValueKind::kInput ||
                       values_[i].kind == ValueKind::kCaptured;
    if (outer && values_[i].name == name) return static_cast<ValueId>(i);
  }
  return kNoValue;
}

void Program::NameResult(ValueId id, std::string name) {
  if (values_[id].kind == ValueKind::kResult) {
    values_[id].name = std::move(name);
  }
}

ValueId Program::FindAny(const std::string& name) const {
  for (size_t i = values_.size(); i-- > 0;) {
    if (values_[i].name == name) return static_cast<ValueId>(i);
  }
  return kNoValue;
}

}  // namespace proa::inline v0::jit
