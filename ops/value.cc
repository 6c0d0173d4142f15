#include "ops/value.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace proa::inline v0 {
namespace {

struct Printer {
  std::string operator()(std::monostate) const { return "None"; }
  std::string operator()(const Tensor& t) const { return Describe(t); }
  std::string operator()(const std::vector<Tensor>& ts) const {
    return absl::StrCat("[",
                        absl::StrJoin(ts, ", ",
                                      [](std::string* out, const Tensor& t) {
                                        absl::StrAppend(out, Describe(t));
                                      }),
                        "]");
  }
  std::string operator()(bool b) const { return b ? "True" : "False"; }
  std::string operator()(int64_t i) const { return absl::StrCat(i); }
  std::string operator()(double d) const { return Scalar(d).ToString(); }
  std::string operator()(const std::string& s) const {
    return absl::StrCat("'", s, "'");
  }
  std::string operator()(const std::vector<int64_t>& v) const {
    return absl::StrCat("[", absl::StrJoin(v, ", "), "]");
  }
  std::string operator()(const std::vector<double>& v) const {
    return absl::StrCat("[",
                        absl::StrJoin(v, ", ",
                                      [](std::string* out, double d) {
                                        absl::StrAppend(out,
                                                        Scalar(d).ToString());
                                      }),
                        "]");
  }
  std::string operator()(const IntArray& a) const {
    if (a.is_symbolic()) return Describe(a.tensor());
    return absl::StrCat("[", absl::StrJoin(a.values(), ", "), "]");
  }
  std::string operator()(const Scalar& s) const { return s.ToString(); }
  std::string operator()(DType t) const {
    return absl::StrCat(absl::string_view(Name(t).data(), Name(t).size()));
  }
  std::string operator()(Place p) const { return proa::ToString(p); }
};

}  // namespace

std::string ToString(const Value& v) { return std::visit(Printer(), v); }

}  // namespace proa::inline v0
