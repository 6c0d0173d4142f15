// What a program holds that is not known here, and whether its blocks fit.
#include <algorithm>

#include "absl/strings/str_join.h"
#include "jit/reference/importer.h"

namespace proa::inline v0::jit::reference::importing {

namespace {

// Whether an attribute that a rule does not know changes nothing: it is off.
bool IsOff(const AttributeDesc& a) {
  struct Off {
    bool operator()(bool v) const { return !v; }
    bool operator()(int64_t v) const { return v == 0; }
    bool operator()(double v) const { return v == 0; }
    bool operator()(const std::string& v) const { return v.empty(); }
    bool operator()(const std::vector<int64_t>& v) const { return v.empty(); }
    bool operator()(const std::vector<double>& v) const { return v.empty(); }
    bool operator()(const std::vector<std::string>& v) const {
      return std::ranges::all_of(v, [](auto& s) { return s.empty(); });
    }
  };
  return std::visit(Off(), a.value);
}

}  // namespace

const std::map<std::string, Importer::Handler>& Importer::Handlers() {
  static const auto* const handlers = new std::map<std::string, Handler>{
      {"feed", &Importer::Feed},
      {"fetch", &Importer::Fetch},
      {"fetch_v2", &Importer::Fetch},
      {"while", &Importer::Loop},
      {"conditional_block", &Importer::Conditional},
      {"conditional_block_infer", &Importer::Conditional},
      {"recurrent", &Importer::Recurrent},
      {"recurrent_grad", &Importer::Gradient},
      {"while_grad", &Importer::Gradient},
      {"conditional_block_grad", &Importer::Gradient},
      {"select_input", &Importer::Select},
      {"select_output", &Importer::SelectGradient},
      {"delete_var", &Importer::Nothing},
      {"nop", &Importer::Nothing},
  };
  return *handlers;
}

// Lists everything that is not known, with attributes, once for each type.
void Importer::CheckKnown() const {
  std::map<std::string, std::pair<int, std::string>> unknown;
  for (size_t b = 0; b < desc_.blocks.size(); ++b) {
    for (const OpDesc& op : desc_.blocks[b].ops) {
      if (Handlers().contains(op.type) || HasGradientRule(op)) continue;
      const auto at = book_.rules.find(op.type);
      std::vector<std::string> texts;
      for (const auto& [name, a] : op.attributes) {
        if (book_.ignored.contains(name)) continue;
        if (at != book_.rules.end() &&
            (IsOff(a) ||
             std::ranges::any_of(at->second->attributes,
                                 [&](auto& p) { return p.name == name; }))) {
          continue;
        }
        texts.push_back(
            absl::StrCat(absl::CEscape(name.substr(0, 80)), "=", ToString(a)));
      }
      if (at != book_.rules.end() && texts.empty()) continue;
      auto& [count, text] = unknown[op.type];
      if (++count == 1) {
        text = absl::StrCat(at == book_.rules.end() ? "" : "attributes ", "(",
                            absl::StrJoin(texts, ", "), ")");
      }
    }
  }
  if (unknown.empty()) return;
  std::vector<std::string> lines;
  for (const auto& [type, what] : unknown) {
    lines.push_back(absl::StrCat("  ", absl::CEscape(type.substr(0, 80)), " ",
                                 what.second, " in ", what.first,
                                 what.first == 1 ? " op" : " ops"));
  }
  ThrowError(absl::StatusCode::kUnimplemented,
             absl::StrCat("the program has ops that are not known:\n",
                          absl::StrJoin(lines, "\n")));
}

// What is to be said of ops that were saved by a release whose meaning of them
// may be another than the rules know.
std::vector<std::string> Importer::NewerVersions() const {
  std::set<std::string> types;
  for (const BlockDesc& b : desc_.blocks) {
    for (const OpDesc& op : b.ops) {
      if (book_.rules.contains(op.type)) types.insert(op.type);
    }
  }
  std::vector<std::string> out;
  for (const std::string& type : types) {
    const auto at = book_.versions.find(type);
    const int64_t known = at == book_.versions.end() ? 0 : at->second;
    if (VersionOf(type) <= known) continue;
    out.push_back(absl::StrCat(
        "op ", Quoted(type), " was saved as version ", VersionOf(type),
        ", which is newer than version ", known,
        " that is known here; it is read by that one and may compute something "
        "else"));
  }
  return out;
}

// Each block is used once at most, by an op of a block before it.
void Importer::CheckBlocks() const {
  std::vector<bool> used(desc_.blocks.size());
  for (size_t b = 0; b < desc_.blocks.size(); ++b) {
    for (const OpDesc& op : desc_.blocks[b].ops) {
      for (const auto& [name, a] : op.attributes) {
        if (a.kind != AttributeKind::kBlock) continue;
        const int64_t at = std::get<int64_t>(a.value);
        PROA_REQUIRE(at > static_cast<int64_t>(b) &&
                         at < static_cast<int64_t>(used.size()),
                     "block ", b, ": op ", Quoted(op.type), " has no block ",
                     at, " after its own");
        PROA_REQUIRE(!used[at], "block ", at, " belongs to two ops");
        used[at] = true;
      }
    }
  }
}

}  // namespace proa::inline v0::jit::reference::importing
