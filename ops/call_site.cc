#include "ops/call_site.h"

namespace proa::inline v0 {
namespace {

CallSiteHooks installed;

}  // namespace

void InstallCallSiteHooks(const CallSiteHooks& hooks) { installed = hooks; }

const char* SourceLine() {
  return installed.source_line != nullptr ? installed.source_line() : nullptr;
}

std::string LayerPath() {
  return installed.layer != nullptr ? installed.layer() : std::string();
}

std::string CallSite() {
  std::string text = LayerPath();
  if (!text.empty()) text = "in layer " + text;
  if (const char* line = SourceLine()) {
    if (!text.empty()) text += ", ";
    text += line;
  }
  return text;
}

}  // namespace proa::inline v0
