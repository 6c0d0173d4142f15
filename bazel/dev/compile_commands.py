"""Writes compile_commands.json of the labels given, for clang tools and editors.

The commands are those of --config=clang: gcc has flags that clang-tidy refuses.
"""

import json
import os
import subprocess
import sys


def _bazel(*arguments):
    return subprocess.run(["bazel", *arguments], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def main(labels):
    info = dict(line.split(": ", 1) for line in _bazel("info").decode().splitlines())
    query = "mnemonic('CppCompile', set(%s))" % " ".join(labels)
    # Without layering_check: its module maps exist only where a build has been.
    flags = ["--config=clang", "--features=-layering_check", "--features=-module_maps"]
    actions = json.loads(_bazel("aquery", *flags, "--output=jsonproto", "--include_artifacts=false", query))
    entries = {}
    for action in actions.get("actions", []):
        command = action["arguments"]
        source = command[command.index("-c") + 1]
        if source.startswith("external/"):
            continue
        # The execution root holds the repositories of the last build only.
        base = info["output_base"] + "/external/"
        command = [base + a[len("external/") :] if a.startswith("external/") else a for a in command]
        path = source if source.startswith("bazel-out") else os.path.join(info["workspace"], source)
        entries.setdefault(source, {"directory": info["execution_root"], "file": path, "arguments": command})
    with open(os.path.join(info["workspace"], "compile_commands.json"), "w", encoding="utf-8") as file:
        json.dump(list(entries.values()), file, indent=1)
    print(len(entries), "files in compile_commands.json")


if __name__ == "__main__":
    main(sys.argv[1:])
