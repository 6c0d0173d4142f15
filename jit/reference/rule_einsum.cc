// einsum: products of tensors by the letters of their dims, and sums over the
// letters that the result has not.
#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "jit/reference/rule_run.h"
#include "ops/definition.h"
#include "tensor/error.h"
#include "tensor/tensor.h"

namespace proa::inline v0::jit::reference {
namespace {

Tensor Made(const char* op, const std::vector<NamedArgument>& args) {
  return *CallOp(*FindOp(op), args).As<Tensor>();
}

// A tensor with a letter for each dim.
struct Lettered {
  Tensor t;
  std::string letters;

  RuleValue Size(char letter) const {
    return SizeOf(t, static_cast<int>(letters.find(letter)));
  }
};

bool Has(const std::string& letters, char c) {
  return letters.find(c) != std::string::npos;
}

// The letters of `of` that are in all of `in` and in none of `out`.
std::string Among(const std::string& of, const std::vector<std::string>& in,
                  const std::vector<std::string>& out = {}) {
  std::string found;
  for (const char c : of) {
    if (std::ranges::all_of(in, [&](auto& s) { return Has(s, c); }) &&
        std::ranges::none_of(out, [&](auto& s) { return Has(s, c); })) {
      found += c;
    }
  }
  return found;
}

Lettered Summed(const Lettered& x, const std::string& over) {
  if (over.empty()) return x;
  RuleList axes;
  for (const char c : over)
    axes.push_back(static_cast<int64_t>(x.letters.find(c)));
  return {Made("sum", {{"", x.t}, {"", axes}}), Among(x.letters, {}, {over})};
}

Lettered InOrder(const Lettered& x, const std::string& letters) {
  if (x.letters == letters) return x;
  RuleList order;
  for (const char c : letters)
    order.push_back(static_cast<int64_t>(x.letters.find(c)));
  return {Made("transpose", {{"", x.t}, {"", order}}), letters};
}

RuleValue Product(const Lettered& x, const std::string& letters) {
  RuleValue product = int64_t{1};
  for (const char c : letters) {
    const RuleValue size = x.Size(c);
    if (product.is_number() && size.is_number()) {
      product = product.integer() * size.integer();
    } else if (product.is_number() && product.integer() == 1) {
      product = size;
    } else {
      const Tensor* a = product.As<Tensor>();
      const Tensor like = a != nullptr ? *a : *size.As<Tensor>();
      product = Made("multiply", {{"", AsTensor(product, like)},
                                  {"", AsTensor(size, like)}});
    }
  }
  return product;
}

// As [batch..., rows, columns].
Tensor AsMatrices(const Lettered& x, const std::string& batch,
                  const std::string& rows, const std::string& columns) {
  const Lettered turned = InOrder(x, batch + rows + columns);
  if (rows.size() == 1 && columns.size() == 1) return turned.t;
  RuleList sizes;
  for (const char c : batch) sizes.push_back(turned.Size(c));
  sizes.push_back(Product(turned, rows));
  sizes.push_back(Product(turned, columns));
  return Made("reshape", {{"", turned.t}, {"", sizes}});
}

// The product of two, without letters that are not in `wanted`.
Lettered Joined(Lettered a, Lettered b, const std::string& wanted) {
  a = Summed(a, Among(a.letters, {}, {b.letters, wanted}));
  b = Summed(b, Among(b.letters, {}, {a.letters, wanted}));
  const std::string batch = Among(a.letters, {b.letters, wanted}),
                    inner = Among(a.letters, {b.letters}, {wanted}),
                    rows = Among(a.letters, {}, {b.letters}),
                    columns = Among(b.letters, {}, {a.letters});
  const Tensor product =
      Made("matmul", {{"", AsMatrices(a, batch, rows, inner)},
                      {"", AsMatrices(b, batch, inner, columns)}});
  const std::string letters = batch + rows + columns;
  if (rows.size() == 1 && columns.size() == 1) return {product, letters};
  RuleList sizes;
  for (size_t i = 0; i < batch.size(); ++i) {
    sizes.push_back(SizeOf(product, static_cast<int>(i)));
  }
  for (const char c : rows) sizes.push_back(a.Size(c));
  for (const char c : columns) sizes.push_back(b.Size(c));
  return {Made("reshape", {{"", product}, {"", sizes}}), letters};
}

}  // namespace

RuleValue Einsum(const RuleList& operands, const std::string& equation) {
  const std::string text = absl::StrReplaceAll(equation, {{" ", ""}});
  const std::string shown = absl::CEscape(equation.substr(0, 80));
  const std::vector<std::string> sides = absl::StrSplit(text, "->");
  std::vector<std::string> parts = absl::StrSplit(sides[0], ',');
  PROA_REQUIRE(sides.size() <= 2 && parts.size() == operands.size(),
               "einsum: '", shown, "' is not of ", operands.size(), " tensors");
  // Dims that an ellipsis stands for have letters of their own, from the last.
  constexpr char kEllipsis = '\x01';
  size_t most = 0;
  const auto ellipsis = [&](size_t n) {
    std::string letters;
    for (size_t i = n; i-- > 0;) letters += static_cast<char>(kEllipsis + i);
    return letters;
  };
  std::vector<Lettered> all;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Tensor* t = operands[i].As<Tensor>();
    PROA_REQUIRE(t != nullptr, "einsum: a tensor is needed");
    const size_t at = parts[i].find("...");
    const size_t named = parts[i].size() - (at == std::string::npos ? 0 : 3);
    const auto rank = static_cast<size_t>(t->rank());
    PROA_REQUIRE(at == std::string::npos ? named == rank : named <= rank,
                 "einsum: '", shown, "' does not fit ", Describe(*t));
    if (at != std::string::npos) {
      parts[i].replace(at, 3, ellipsis(rank - named));
      most = std::max(most, rank - named);
    }
    for (const char c : parts[i]) {
      PROA_REQUIRE(std::ranges::count(parts[i], c) == 1 &&
                       (c < ' ' || std::isalpha(static_cast<unsigned char>(c))),
                   "einsum: a diagonal, or no letter, in '", shown, "'");
    }
    all.push_back({*t, parts[i]});
  }
  std::string wanted;
  if (sides.size() == 2) {
    wanted = sides[1];
    const size_t at = wanted.find("...");
    if (at != std::string::npos) wanted.replace(at, 3, ellipsis(most));
  } else {
    const std::string joined = absl::StrJoin(parts, "");
    for (const char c : joined) {
      if (c >= ' ' && std::ranges::count(joined, c) == 1) wanted += c;
    }
    std::ranges::sort(wanted);
    wanted = ellipsis(most) + wanted;
  }
  for (const char c : wanted) {
    PROA_REQUIRE(
        std::ranges::count(wanted, c) == 1 &&
            std::ranges::any_of(parts, [&](auto& p) { return Has(p, c); }),
        "einsum: the result of '", shown,
        "' has a letter twice, or one that no tensor has");
  }
  Lettered found = all[0];
  for (size_t i = 1; i < all.size(); ++i) {
    std::string later = wanted;
    for (size_t k = i + 1; k < all.size(); ++k) later += all[k].letters;
    found = Joined(found, all[i], later);
  }
  found = Summed(found, Among(found.letters, {}, {wanted}));
  return InOrder(found, wanted).t;
}

}  // namespace proa::inline v0::jit::reference
