#include "ops/symbolic_view.h"

namespace proa::inline v0 {
namespace {

SymbolicViews installed;

}  // namespace

void InstallSymbolicViews(const SymbolicViews& functions) {
  installed = functions;
}

const SymbolicViews& InstalledSymbolicViews() { return installed; }

}  // namespace proa::inline v0
