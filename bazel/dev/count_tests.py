"""Prints `N passed, N failed` over all test cases of one `bazel test`.

Arguments: the build event file (JSON), Bazel's exit status, and files with lines
`passed: WHAT` or `failed: WHAT` of checks that ran outside of Bazel. Exits with 1 if
anything failed.
"""

import json
import sys
import urllib.parse
import xml.etree.ElementTree as ElementTree


def count_cases(xml_path):
    """(passed, failed) of one test.xml, of GoogleTest, pytest or Bazel itself."""
    passed = failed = 0
    try:
        root = ElementTree.parse(xml_path).getroot()
    except (OSError, ElementTree.ParseError):
        return 0, 0
    for case in root.iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif case.find("skipped") is None and case.get("status") != "notrun" and case.get("result") != "skipped":
            passed += 1
    return passed, failed


class Count:
    """Collects the events of one build."""

    def __init__(self):
        self._tests = {}  # label -> has it built?
        self._results = {}  # (label, run, shard) -> (status, path of test.xml)

    def add(self, event):
        identifier = event.get("id", {})
        if "configured" in event and "testSize" in event["configured"]:
            self._tests.setdefault(identifier["targetConfigured"]["label"], False)
        elif "completed" in event and event["completed"].get("success"):
            label = identifier["targetCompleted"]["label"]
            if label in self._tests:
                self._tests[label] = True
        elif "aborted" in event and event["aborted"].get("reason") == "SKIPPED":
            for key in ("targetCompleted", "targetConfigured"):
                self._tests.pop(identifier.get(key, {}).get("label"), None)
        elif "testResult" in event:
            key = identifier["testResult"]
            uris = {o["name"]: o.get("uri", "") for o in event["testResult"].get("testActionOutput", [])}
            path = urllib.parse.unquote(urllib.parse.urlparse(uris.get("test.xml", "")).path)
            # A later attempt replaces an earlier one.
            self._results[key["label"], key.get("run"), key.get("shard")] = (event["testResult"]["status"], path)

    def totals(self):
        """(passed, failed, labels of what failed)."""
        passed = failed = 0
        bad = [label for label, built in sorted(self._tests.items()) if not built]
        failed += len(bad)
        for (label, _, _), (status, path) in sorted(self._results.items(), key=lambda r: r[0][0]):
            good, wrong = count_cases(path)
            if status != "PASSED":
                # A crash leaves no case behind, or only good ones.
                wrong = max(wrong, 1)
                bad.append(label)
            elif good + wrong == 0 and not path:
                good = 1
            passed += good
            failed += wrong
        return passed, failed, bad


def main(events, status, *checks):
    count = Count()
    with open(events, encoding="utf-8") as file:
        for line in file:
            count.add(json.loads(line))
    passed, failed, bad = count.totals()
    for path in checks:
        with open(path, encoding="utf-8") as file:
            words = [line.split(" ")[0] for line in file]
        passed += words.count("passed:")
        failed += words.count("failed:")
    # 4: nothing to test; 3: tests failed, counted above.
    if int(status) not in (0, 3, 4) and failed == 0:
        failed = 1
        bad.append("the build itself")
    for label in sorted(set(bad)):
        print("failed:", label)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
