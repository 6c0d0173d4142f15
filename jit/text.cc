#include "jit/text.h"

#include <cmath>
#include <cstdio>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace proa::inline v0::jit {
namespace {

absl::string_view View(std::string_view s) { return {s.data(), s.size()}; }

// Shortest text that reads back as the same double, always recognisable as a
// float.
std::string FloatText(double d) {
  if (std::isnan(d)) return "nan";
  if (std::isinf(d)) return d > 0 ? "inf" : "-inf";
  char buffer[32];
  for (int precision = 1; precision <= 17; ++precision) {
    std::snprintf(buffer, sizeof buffer, "%.*g", precision, d);
    if (std::strtod(buffer, nullptr) == d) break;
  }
  std::string text = buffer;
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string Quoted(const std::string& s) {
  return absl::StrCat("\"", absl::CEscape(s), "\"");
}

struct Literal {
  std::string operator()(std::monostate) const { return "None"; }
  std::string operator()(const Tensor&) const { return "None"; }
  std::string operator()(const std::vector<Tensor>&) const { return "[]"; }
  std::string operator()(bool b) const { return b ? "true" : "false"; }
  std::string operator()(int64_t i) const { return absl::StrCat(i); }
  std::string operator()(double d) const { return FloatText(d); }
  std::string operator()(const std::string& s) const { return Quoted(s); }
  std::string operator()(const std::vector<int64_t>& v) const {
    return absl::StrCat("[", absl::StrJoin(v, ", "), "]");
  }
  std::string operator()(const std::vector<double>& v) const {
    return absl::StrCat("[",
                        absl::StrJoin(v, ", ",
                                      [](std::string* out, double d) {
                                        absl::StrAppend(out, FloatText(d));
                                      }),
                        "]");
  }
  std::string operator()(const IntArray& a) const {
    return absl::StrCat("[", absl::StrJoin(a.values(), ", "), "]");
  }
  std::string operator()(const Scalar& s) const {
    if (s.is_bool()) return (*this)(s.to<bool>());
    if (s.is_integer()) return (*this)(s.to<int64_t>());
    if (s.is_float()) return (*this)(s.to<double>());
    const auto z = s.to<complex128>();
    return absl::StrCat("complex(", FloatText(z.real()), ", ",
                        FloatText(z.imag()), ")");
  }
  std::string operator()(DType t) const { return absl::StrCat(View(Name(t))); }
  std::string operator()(Place p) const { return Quoted(proa::ToString(p)); }
};

std::string Ref(ValueId id) {
  return id == kNoValue ? "None" : absl::StrCat("%", id);
}

std::string ArgumentText(const Argument& a) {
  if (const auto* ref = std::get_if<ValueRef>(&a)) return Ref(ref->id);
  if (const auto* refs = std::get_if<std::vector<ValueRef>>(&a)) {
    return absl::StrCat("[",
                        absl::StrJoin(*refs, ", ",
                                      [](std::string* out, ValueRef r) {
                                        absl::StrAppend(out, Ref(r.id));
                                      }),
                        "]");
  }
  return std::visit(Literal(), std::get<Value>(a));
}

std::string MetaText(const TensorMeta& m) {
  std::string text = absl::StrCat(ToString(m.shape), " ", View(Name(m.dtype)));
  if (!m.place.is_cpu()) absl::StrAppend(&text, " @", ToString(m.place));
  return text;
}

std::string Results(const Operation& o) {
  std::vector<std::string> groups;
  for (size_t i = 0; i < o.results.size(); ++i) {
    std::vector<std::string> ids;
    for (ValueId id : o.results[i]) ids.push_back(Ref(id));
    const std::string list = absl::StrJoin(ids, ", ");
    const bool is_list = o.op->outputs[i].is_list;
    groups.push_back(is_list ? absl::StrCat("(", list, ")") : list);
  }
  return absl::StrJoin(groups, ", ");
}

std::string Metas(const Program& p, const Operation& o) {
  std::vector<std::string> metas;
  for (const auto& ids : o.results) {
    for (ValueId id : ids) metas.push_back(MetaText(p.value(id).meta));
  }
  return absl::StrJoin(metas, ", ");
}

std::string Call(const Operation& o) {
  std::vector<std::string> args;
  for (size_t i = 0; i < o.args.size(); ++i) {
    const std::string text = ArgumentText(o.args[i]);
    const bool is_tensor = o.op->params[i].type == ParamType::kTensor ||
                           o.op->params[i].type == ParamType::kTensorList;
    args.push_back(is_tensor ? text
                             : absl::StrCat(o.op->params[i].name, "=", text));
  }
  return absl::StrCat(o.op->name, "(", absl::StrJoin(args, ", "), ")");
}

std::string Head(const Operation& o) {
  const std::string results = Results(o);
  return results.empty() ? Call(o) : absl::StrCat(results, " = ", Call(o));
}

void Print(const Program& p, const Block& block, int indent, std::string* out);

void Print(const Program& p, const Operation& o, int indent, std::string* out) {
  const std::string pad(indent, ' ');
  absl::StrAppend(out, pad, Head(o));
  for (const auto& region : o.regions) {
    absl::StrAppend(out, " {\n");
    for (ValueId id : region->arguments) {
      absl::StrAppend(out, pad, "  ", Ref(id),
                      " = argument : ", MetaText(p.value(id).meta), "\n");
    }
    Print(p, *region, indent + 2, out);
    std::vector<std::string> ids;
    for (ValueId id : region->returns) ids.push_back(Ref(id));
    absl::StrAppend(out, pad, "  return ", absl::StrJoin(ids, ", "), "\n", pad,
                    "}");
  }
  const std::string metas = Metas(p, o);
  if (!metas.empty()) absl::StrAppend(out, " : ", metas);
  out->push_back('\n');
}

void Print(const Program& p, const Block& block, int indent, std::string* out) {
  for (const Operation& o : block.operations) Print(p, o, indent, out);
}

}  // namespace

std::string ToText(const Program& program) {
  std::string out = "program {\n";
  for (size_t i = 0; i < program.values().size(); ++i) {
    const ValueInfo& v = program.values()[i];
    const bool input = v.kind == ValueKind::kInput;
    if (!input && v.kind != ValueKind::kCaptured) continue;
    absl::StrAppend(&out, "  %", i, " = ", input ? "input " : "captured ",
                    Quoted(v.name), " : ", MetaText(v.meta), "\n");
  }
  Print(program, program.block(), 2, &out);
  absl::StrAppend(&out, "}\n");
  return out;
}

std::string CallText(const Operation& o) { return Call(o); }

std::string AttributeText(const Value& attribute) {
  return std::visit(Literal(), attribute);
}

std::string OperationText(const Program& program, const Operation& o) {
  const std::string metas = Metas(program, o);
  return metas.empty() ? Head(o) : absl::StrCat(Head(o), " : ", metas);
}

}  // namespace proa::inline v0::jit
