"""The last line of ./dev test: what counts as a case, and what as a failure."""

import json
import subprocess
import sys

from bazel.dev import count_tests


def _event(label, status, xml):
    return {
        "id": {"testResult": {"label": label, "run": 1, "shard": 1}},
        "testResult": {"status": status, "testActionOutput": [{"name": "test.xml", "uri": "file://" + str(xml)}]},
    }


def _configured(label):
    return {"id": {"targetConfigured": {"label": label}}, "configured": {"testSize": "SMALL"}}


def _completed(label, success=True):
    return {"id": {"targetCompleted": {"label": label}}, "completed": {"success": success}}


def _count(*events):
    count = count_tests.Count()
    for event in events:
        count.add(event)
    return count.totals()


def _xml(tmp_path, text):
    path = tmp_path / "test.xml"
    path.write_text(text)
    return path


def test_cases_are_counted_and_skipped_ones_are_not(tmp_path):
    xml = _xml(
        tmp_path,
        '<testsuites><testsuite><testcase name="a" status="run"/><testcase name="b"><failure/></testcase>'
        '<testcase name="c"><skipped/></testcase><testcase name="d" status="notrun"/></testsuite></testsuites>',
    )
    assert _count(_configured("//x:t"), _completed("//x:t"), _event("//x:t", "FAILED", xml)) == (1, 1, ["//x:t"])


def test_a_crash_is_a_failure(tmp_path):
    xml = _xml(tmp_path, '<testsuites><testcase name="a"/></testsuites>')
    assert _count(_configured("//x:t"), _completed("//x:t"), _event("//x:t", "FAILED", xml))[:2] == (1, 1)
    assert _count(_configured("//x:t"), _completed("//x:t"), _event("//x:t", "TIMEOUT", "/none"))[:2] == (0, 1)


def test_a_test_that_does_not_build_is_a_failure():
    assert _count(_configured("//x:t"), _completed("//x:t", False)) == (0, 1, ["//x:t"])


def test_line_and_exit_status(tmp_path):
    events = tmp_path / "events.json"
    checks = tmp_path / "checks"
    checks.write_text("failed: a.cc includes b.h\npassed: more\nfailed: it\n")
    events.write_text(json.dumps(_configured("//x:t")) + "\n")
    command = [sys.executable, count_tests.__file__, str(events), "1", str(checks)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.stdout.splitlines()[-1] == "1 passed, 3 failed"
    assert result.returncode == 1
