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

std::string CallSiteWithCode() {
  std::string text = CallSite();
  const std::string code =
      installed.code != nullptr ? installed.code() : std::string();
  return code.empty() ? text : text + ": " + code;
}

}  // namespace proa::inline v0
