"""Entry point of pytest_test: runs pytest under Bazel's sharding, filter and XML protocols."""

import os
import sys

import pytest


class _Shard:
    """Keeps every n-th test when Bazel splits the target into shards."""

    def pytest_collection_modifyitems(self, items):
        if os.environ.get("TEST_SHARD_STATUS_FILE"):
            open(os.environ["TEST_SHARD_STATUS_FILE"], "w").close()
        count = int(os.environ.get("TEST_TOTAL_SHARDS", 1))
        items[:] = items[int(os.environ.get("TEST_SHARD_INDEX", 0)) :: count]


def _preload():
    """Starts this program again under the library named by PROA_PRELOAD, once."""
    library = os.environ.pop("PROA_PRELOAD", "")
    if library:
        os.environ["LD_PRELOAD"] = library
        # The interpreter keeps much of its memory until the process ends.
        os.environ["ASAN_OPTIONS"] = "detect_leaks=0:allocator_may_return_null=1"
        # What a sanitizer finds ends the process, and with it what pytest captured.
        sys.argv.append("--capture=no")
        os.execv(sys.executable, [sys.executable] + sys.argv)


def main():
    _preload()
    arguments = ["-ra", "-p", "no:cacheprovider", "--rootdir=.", "--import-mode=importlib", "-o", "addopts="]
    if os.environ.get("XML_OUTPUT_FILE"):
        arguments.append("--junitxml=" + os.environ["XML_OUTPUT_FILE"])
    if os.environ.get("TESTBRIDGE_TEST_ONLY"):
        arguments += ["-k", os.environ["TESTBRIDGE_TEST_ONLY"]]
    status = pytest.main(arguments + sys.argv[1:], plugins=[_Shard()])
    # 5: nothing collected, which is fine for one of several shards.
    if status == 5 and int(os.environ.get("TEST_TOTAL_SHARDS", 1)) > 1:
        return 0
    return status


if __name__ == "__main__":
    sys.exit(main())
