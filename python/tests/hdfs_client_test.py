"""HDFSClient against a program that answers as `hadoop fs` does, over a folder of this machine."""

import pytest

from proa.distributed.fleet.utils import HDFSClient, fs

# What `hadoop fs` says and returns for the few commands that there are, over the folder $STUB.
_STUB = r"""#!/bin/bash
echo "$*" >> "$STUB/../log"
shift
while [[ $1 == -D* ]]; do shift; done
command=$1; shift
if [[ -e $STUB/../broken ]]; then
  read -r left code < "$STUB/../broken"
  if [[ $left != 0 ]]; then
    echo "$((left - 1)) $code" > "$STUB/../broken"
    [[ $code == 0 ]] && exec sleep 60
    echo "WARN: the name node is in safe mode" >&2
    exit "$code"
  fi
fi
case $command in
  -test) test "$1" "$STUB$2" ;;
  -ls)
    echo "Found some items"
    for path in "$STUB$1"/*; do
      kind=-rw-r--r--; [[ -d $path ]] && kind=drwxr-xr-x
      printf '%s   3 someone group %10d 2021-03-04 10:11 %s\n' $kind "$(stat -c %s "$path")" "$1/${path##*/}"
    done ;;
  -mkdir) mkdir -p "$STUB$2" ;;
  -touchz) : > "$STUB$1" ;;
  -rm) rm -r "$STUB$2" ;;
  -mv) mv -n "$STUB$1" "$STUB$2" ;;
  -cat) cat "$STUB$1" ;;
  -put | -get)
    to=${!#}; from=
    if [[ $command == -put ]]; then to=$STUB$to; else from=$STUB; fi
    while [[ $# -gt 1 ]]; do
      name=${1##*/}; where=$to; [[ -d $to ]] && where=$to/$name
      if [[ -e $where ]]; then echo "$where: File exists" >&2; exit 1; fi
      cp -r "$from$1" "$where"; shift
    done ;;
  *) exit 255 ;;
esac
"""


@pytest.fixture
def hadoop(tmp_path, monkeypatch):
    """(a client, the folder that stands for Hadoop's files)."""
    program = tmp_path / "home" / "bin" / "hadoop"
    program.parent.mkdir(parents=True)
    program.write_text(_STUB)
    program.chmod(0o755)
    root = tmp_path / "files"
    root.mkdir()
    monkeypatch.setenv("STUB", str(root))
    return HDFSClient(str(tmp_path / "home"), {"fs.default.name": "hdfs://there:1"}, 20000, 1), root


def test_what_is_there(hadoop):
    client, root = hadoop
    (root / "a" / "sub").mkdir(parents=True)
    (root / "a" / "part 0").write_text("zero\n")
    (root / "a" / "part$1").write_text("one")
    assert client.is_exist("/a") and client.is_dir("/a") and not client.is_file("/a")
    assert client.is_file("/a/part 0") and not client.is_dir("/a/part 0")
    assert not client.is_exist("/b") and not client.is_dir("/b") and not client.is_file("/b")
    assert client.ls_dir("/a") == (["sub"], ["part 0", "part$1"]) and client.list_dirs("/a") == ["sub"]
    assert client.ls_dir("/b") == ([], []) and client.list_dirs("/b") == []
    assert client.list_files_info(["/a"]) == [{"path": "/a/part 0", "size": 5}, {"path": "/a/part$1", "size": 3}]
    assert client.cat("/a/part 0") == "zero" and client.cat("/b") == ""
    assert client.need_upload_download()
    log = (root.parent / "log").read_text().splitlines()
    assert all(line.startswith("fs -Dfs.default.name=hdfs://there:1 -") for line in log)


def test_changes(hadoop):
    client, root = hadoop
    client.mkdirs("/x/y")
    client.mkdirs("/x/y")
    client.touch("/x/y/file")
    client.touch("/x/y/file")
    with pytest.raises(fs.FSFileExistsError, match="/x/y/file is there already"):
        client.touch("/x/y/file", exist_ok=False)
    client.mv("/x/y/file", "/x/other")
    assert (root / "x" / "other").exists() and not (root / "x" / "y" / "file").exists()
    client.touch("/x/third")
    with pytest.raises(fs.FSFileExistsError, match="overwrite=True"):
        client.mv("/x/other", "/x/third")
    with pytest.raises(fs.FSFileNotExistsError, match="no /x/none"):
        client.mv("/x/none", "/x/fourth")
    (root / "x" / "other").write_text("new")
    client.mv("/x/other", "/x/third", overwrite=True)
    assert (root / "x" / "third").read_text() == "new"
    client.delete("/x/third")
    client.delete("/x/third")
    client.delete("/x")
    assert list(root.iterdir()) == []


def test_copies(hadoop, tmp_path):
    client, root = hadoop
    local = tmp_path / "local"
    (local / "deep").mkdir(parents=True)
    (local / "a b").write_text("1")
    (local / "deep" / "c").write_text("2")
    client.upload(str(local), "/up")
    assert client.ls_dir("/up") == (["deep"], ["a b"]) and (root / "up" / "deep" / "c").read_text() == "2"
    with pytest.raises(fs.ExecuteError, match="File exists"):
        client.upload(str(local / "a b"), "/up")
    (local / "a b").write_text("11")
    client.upload(str(local), "/up", overwrite=True)
    assert (root / "up" / "a b").read_text() == "11"
    client.upload_dir(str(local), "/dirs")
    client.upload_dir(str(local), "/dirs", overwrite=True)
    assert (root / "dirs" / "local" / "deep" / "c").exists()
    client.download("/up", str(tmp_path / "down"))
    assert (tmp_path / "down" / "deep" / "c").read_text() == "2"
    client.download("/up/a b", str(tmp_path / "one"))
    client.download("/up/a b", str(tmp_path / "one"), overwrite=True)
    assert (tmp_path / "one").read_text() == "11"
    for call in (client.upload, client.upload_dir):
        with pytest.raises(fs.FSFileNotExistsError, match="/no/such"):
            call("/no/such", "/up")
    with pytest.raises(fs.FSFileNotExistsError, match="/none"):
        client.download("/none", str(tmp_path / "none"))


def test_what_fails(hadoop, tmp_path):
    client, root = hadoop
    (root.parent / "broken").write_text("2 255")
    client.mkdirs("/a")  # the third time it works
    (root.parent / "broken").write_text("99 255")
    with pytest.raises(
        fs.ExecuteError, match=r"hadoop fs -test -e /a: exit code 255; WARN: the name node is in safe mode"
    ):
        client.is_exist("/a")
    (root.parent / "broken").write_text("1 134")
    with pytest.raises(fs.FSShellCmdAborted, match="aborted"):
        client.mkdirs("/b")
    (root.parent / "broken").write_text("1 0")
    slow = HDFSClient(str(tmp_path / "home"), None, time_out=200)
    with pytest.raises(fs.FSTimeOut, match="not done after 0.2 seconds"):
        slow.mkdirs("/b")
    with pytest.raises(FileNotFoundError, match="/nowhere/bin/hadoop"):
        HDFSClient("/nowhere", None).is_exist("/")
    for arguments, kind in (("x", ["a"]), TypeError), (("x", {}, -1), ValueError), (("x", {}, 1, True), ValueError):
        with pytest.raises(kind, match="HDFSClient"):
            HDFSClient(*arguments)
    assert fs.HDFSClient is HDFSClient
