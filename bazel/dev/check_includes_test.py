"""check_includes finds a missing dependency, and only that."""

from bazel.dev import check_includes

_XML = """<query>
  <rule class="cc_library" name="//low:a">
    <list name="hdrs"><label value="//low:a.h"/></list>
  </rule>
  <rule class="cc_library" name="//middle:b">
    <list name="hdrs"><label value="//middle:b.h"/></list>
    <list name="deps"><label value="//low:a"/></list>
  </rule>
  <rule class="cc_library" name="//middle:all">
    <list name="deps"><label value="//low:a"/></list>
  </rule>
  <rule class="cc_library" name="//top:c">
    <list name="srcs"><label value="//top:c.cc"/></list>
    <list name="deps"><label value="//middle:b"/>%s</list>
  </rule>
  <rule class="proto_library" name="//low:p"><list name="srcs"><label value="//low:p.proto"/></list></rule>
  <rule class="cc_proto_library" name="//low:p_cc"><list name="deps"><label value="//low:p"/></list></rule>
  <rule class="genrule" name="//low:gen"><rule-output name="//low:made.h"/></rule>
  <rule class="cc_library" name="//low:made"><list name="hdrs"><label value="//low:gen"/></list></rule>
</query>"""


def _problems(source, deps=()):
    graph = check_includes.Graph(_XML % "".join(f'<label value="{d}"/>' for d in deps))
    texts = {"top/c.cc": source, "middle/b.h": '#include "low/a.h"'}
    return check_includes.problems(graph, texts.get)


def test_direct_dependency_is_fine():
    assert _problems('#include <vector>\n#include "middle/b.h"\n') == []


def test_indirect_dependency_is_found():
    assert _problems('#include "low/a.h"') == ["top/c.cc includes low/a.h; list //low:a in deps of //top:c"]
    assert _problems('#include "low/a.h"', ["//low:a"]) == []


def test_target_without_files_stands_for_its_dependencies():
    assert _problems('#include "low/a.h"', ["//middle:all"]) == []


def test_protocol_buffers_and_generated_headers():
    assert _problems('#include "low/p.pb.h"') == ["top/c.cc includes low/p.pb.h; list //low:p_cc in deps of //top:c"]
    assert _problems('#include "low/p.pb.h"\n#include "low/made.h"', ["//low:p_cc", "//low:made"]) == []


def test_third_party():
    assert _problems('#include "absl/types/span.h"') == [
        "top/c.cc includes absl/types/span.h; list a target of @com_google_absl// in deps of //top:c"
    ]
    assert _problems('#include "absl/types/span.h"', ["@com_google_absl//:span"]) == []
