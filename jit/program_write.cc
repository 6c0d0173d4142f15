#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "jit/program.pb.h"
#include "jit/program_format.h"
#include "jit/program_proto.h"
#include "ops/extension/origin.h"
#include "tensor/error.h"

namespace proa::inline v0::jit {
namespace {

namespace file = ::proa_program_file;

std::string ToStdString(std::string_view s) { return std::string(s); }

void Write(const TensorMeta& m, file::Meta* out) {
  for (int64_t d : m.shape) out->add_dims(IsUnknown(d) ? kUnknownDim : d);
  out->set_dtype(ToStdString(Name(m.dtype)));
  if (!m.place.is_cpu()) out->set_place(ToString(m.place));
}

void Write(const std::vector<ValueRef>& refs, file::ValueList* out) {
  for (ValueRef r : refs) out->add_ids(static_cast<uint32_t>(r.id));
}

struct AttributeWriter {
  file::Argument* out;

  void operator()(std::monostate) const { out->set_none(true); }
  void operator()(const Tensor&) const { out->set_none(true); }
  void operator()(const std::vector<Tensor>&) const { out->set_none(true); }
  void operator()(bool b) const { out->set_b(b); }
  void operator()(int64_t i) const { out->set_i(i); }
  void operator()(double d) const { out->set_f(d); }
  void operator()(const std::string& s) const { out->set_s(s); }
  void operator()(const std::vector<int64_t>& v) const {
    out->mutable_int_list()->mutable_values()->Assign(v.begin(), v.end());
  }
  void operator()(const std::vector<double>& v) const {
    out->mutable_float_list()->mutable_values()->Assign(v.begin(), v.end());
  }
  void operator()(const IntArray& a) const {
    out->mutable_int_list()->mutable_values()->Assign(a.values().begin(),
                                                      a.values().end());
  }
  void operator()(const Scalar& s) const {
    file::Scalar* to = out->mutable_scalar();
    if (s.is_bool()) return to->set_b(s.to<bool>());
    if (s.is_integer()) return to->set_i(s.to<int64_t>());
    if (s.is_float()) return to->set_f(s.to<double>());
    const auto z = s.to<complex128>();
    to->mutable_c()->set_re(z.real());
    to->mutable_c()->set_im(z.imag());
  }
  void operator()(DType t) const { out->set_dtype(ToStdString(Name(t))); }
  void operator()(Place p) const { out->set_place(ToString(p)); }
};

void Write(const Argument& a, file::Argument* out) {
  if (const auto* ref = std::get_if<ValueRef>(&a)) {
    if (ref->id == kNoValue) return out->set_none(true);
    return out->set_value(static_cast<uint32_t>(ref->id));
  }
  if (const auto* refs = std::get_if<std::vector<ValueRef>>(&a)) {
    return Write(*refs, out->mutable_value_list());
  }
  std::visit(AttributeWriter{out}, std::get<Value>(a));
}

bool IsDefault(const ParamInfo& p, const file::Argument& written) {
  if (written.has_none() && p.type == ParamType::kTensor) return p.optional;
  return p.default_value != nullptr &&
         DefaultOf(p).SerializeAsString() == written.SerializeAsString();
}

void Write(const Block& block, file::Block* out);

void WriteResult(const char* name, const std::vector<ValueId>& ids,
                 file::Operation* out) {
  file::Result* result = out->add_results();
  result->set_name(name);
  for (ValueId id : ids) result->add_ids(static_cast<uint32_t>(id));
}

void WriteCall(const Operation& o, file::Operation* out) {
  out->set_op(o.op->name);
  out->set_version(static_cast<uint32_t>(o.op->version));
  if (const char* extension = ops::OriginOf(*o.op)) {
    out->set_extension(extension);
  }
  for (size_t i = 0; i < o.args.size(); ++i) {
    file::Argument written;
    Write(o.args[i], &written);
    if (IsDefault(o.op->params[i], written)) continue;
    written.set_name(o.op->params[i].name);
    *out->add_args() = std::move(written);
  }
  for (size_t i = 0; i < o.results.size(); ++i) {
    WriteResult(o.op->outputs[i].name, o.results[i], out);
  }
}

void Write(const Operation& o, file::Operation* out) {
  WriteCall(o, out);
  for (const auto& region : o.regions) Write(*region, out->add_regions());
}

void Write(const Block& block, file::Block* out) {
  for (ValueId id : block.arguments)
    out->add_arguments(static_cast<uint32_t>(id));
  for (const Operation& o : block.operations) Write(o, out->add_operations());
  for (ValueId id : block.returns) out->add_returns(static_cast<uint32_t>(id));
}

}  // namespace

file::Argument DefaultOf(const ParamInfo& p) {
  file::Argument out;
  Write(Argument(p.default_value()), &out);
  return out;
}

std::vector<Tensor> CapturedTensors(const Module& module) {
  std::vector<Tensor> tensors;
  for (ValueId id : module.program->captured()) {
    tensors.push_back(module.program->value(id).captured);
  }
  if (module.training == nullptr) return tensors;
  const Program& training = *module.training->program;
  for (ValueId id : training.captured()) {
    const Tensor& t = training.value(id).captured;
    if (module.program->FindCaptured(t) == kNoValue) tensors.push_back(t);
  }
  return tensors;
}

namespace {

using Offsets = std::map<const TensorImpl*, uint64_t>;

file::Module ToFile(const Module& module, const Offsets& offsets) {
  file::Module out;
  out.set_format(kFormat);
  out.set_producer(kProducer);
  for (const ValueInfo& v : module.program->values()) {
    file::Value* to = out.add_values();
    to->set_kind(static_cast<file::Value::Kind>(v.kind));
    Write(v.meta, to->mutable_meta());
    to->set_name(v.name);
    if (v.kind == ValueKind::kCaptured) {
      to->set_offset(offsets.at(v.captured.impl()));
      to->set_bytes(static_cast<uint64_t>(v.captured.bytes()));
    }
  }
  Write(module.program->block(), out.mutable_block());
  for (ValueId id : module.inputs) out.add_inputs(static_cast<uint32_t>(id));
  for (ValueId id : module.outputs) out.add_outputs(static_cast<uint32_t>(id));
  for (const std::string& n : module.output_names) out.add_output_names(n);
  if (module.trainable.has_value()) {
    file::Flags* flags = out.mutable_flags();
    for (const std::string& n : *module.trainable) flags->add_trainable(n);
  }
  for (const auto& [name, value] : module.context) {
    file::Setting* to = out.add_context();
    to->set_name(name);
    to->set_value(value);
  }
  return out;
}

}  // namespace

absl::StatusOr<std::string> SerializeModule(const Module& module,
                                            uint64_t alignment,
                                            uint64_t parameter_bytes,
                                            uint32_t parameter_crc) {
  if (absl::Status s = VerifyModule(module); !s.ok()) return s;
  Offsets offsets;
  uint64_t offset = 0;
  for (const Tensor& t : CapturedTensors(module)) {
    offset = (offset + alignment - 1) / alignment * alignment;
    offsets[t.impl()] = offset;
    offset += static_cast<uint64_t>(t.bytes());
  }
  file::Module out = ToFile(module, offsets);
  std::string bytes;
  bool written = true;
  if (module.training != nullptr) {
    if (absl::Status s = VerifyModule(*module.training); !s.ok()) return s;
    written = ToFile(*module.training, offsets).SerializeToString(&bytes);
    out.set_training(bytes);
  }
  out.set_parameter_bytes(parameter_bytes);
  out.set_parameter_crc(parameter_crc);
  if (!written || !out.SerializeToString(&bytes)) {
    return absl::ResourceExhaustedError("the program is larger than 2 GiB");
  }
  return bytes;
}

}  // namespace proa::inline v0::jit
