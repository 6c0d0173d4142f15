"""Files by their URL, from a server that breaks off, changes its mind or its files, and knows ranges or does not."""

import hashlib
import http.server
import multiprocessing
import os
import pty
import subprocess
import sys
import threading

import pytest

from proa.utils.fetching import fetch

DATA = bytes(range(256)) * 2048
MD5 = hashlib.md5(DATA).hexdigest()


class _Server(http.server.ThreadingHTTPServer):
    """Serves `data`; `breaks` holds after how many bytes the next answers end, None for not."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.data, self.tag, self.breaks, self.ranges, self.asked = DATA, '"one"', [], True, []
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server_port}/weights.bin"


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        wanted, fits = self.headers.get("Range"), self.headers.get("If-Range") in (None, server.tag)
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and fits and server.ranges else 0
        server.asked.append(wanted)
        if start >= len(server.data):
            self.send_error(416)
            return
        body = server.data[start:]
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(server.data) - 1}/{len(server.data)}")
        self.send_header("Content-Length", str(len(body)))
        if server.tag:
            self.send_header("ETag", server.tag)
        self.end_headers()
        end = server.breaks.pop(0) if server.breaks else None
        if callable(end):
            end = end()
        self.wfile.write(body if end is None else body[:end])

    def log_message(self, *arguments):
        pass


@pytest.fixture(name="server")
def _server():
    server = _Server()
    yield server
    server.shutdown()
    server.server_close()


def _holds(path, data=DATA):
    with open(path, "rb") as file:
        return file.read() == data


@pytest.mark.parametrize("md5", [MD5, None])
def test_it_goes_on_where_the_server_broke_off(server, md5, tmp_path):
    server.breaks = [100_000, 200_000]
    path = fetch(server.url, str(tmp_path / "w"), md5)
    assert _holds(path) and os.listdir(tmp_path) == ["w"]
    assert server.asked == [None, "bytes=100000-", "bytes=300000-"]


def test_another_process_goes_on(server, tmp_path):
    target = str(tmp_path / "w")
    server.breaks = [100_000, 0, 50_000]
    with pytest.raises(
        RuntimeError, match=r"ended after 150000 of 524288 bytes.*the first 150000 bytes are kept in .*w\.part"
    ):
        fetch(server.url, target, MD5)
    assert os.listdir(tmp_path) == ["w.part"]
    assert _holds(fetch(server.url, target, MD5)) and os.listdir(tmp_path) == ["w"]
    assert server.asked[-1] == "bytes=150000-"


def test_without_a_sum_nothing_is_kept(server, tmp_path):
    server.breaks = [1000, 1000, 1000]
    with pytest.raises(RuntimeError, match="ended after 3000 of 524288 bytes"):
        fetch(server.url, str(tmp_path / "w"))
    assert os.listdir(tmp_path) == []
    (tmp_path / "w.part").write_bytes(b"of whoever")
    assert _holds(fetch(server.url, str(tmp_path / "w"))) and server.asked[-1] is None


@pytest.mark.parametrize("tag", ['"two"', None])
def test_a_file_that_changes_meanwhile(server, tag, tmp_path):
    """Pieces of two versions are never put together."""
    new = DATA[::-1]

    def change():
        server.data, server.tag = new, tag
        return 100_000

    server.breaks = [change]
    assert _holds(fetch(server.url, str(tmp_path / "w")), new)
    server.data, server.tag, server.breaks = DATA, '"one"', [change]
    assert _holds(fetch(server.url, str(tmp_path / "v"), hashlib.md5(new).hexdigest()), new)


def test_a_server_without_tags_or_ranges(server, tmp_path):
    server.tag, server.breaks = None, [100_000]
    assert _holds(fetch(server.url, str(tmp_path / "a"))) and server.asked == [None, None]
    server.ranges, server.breaks = False, [100_000]
    assert _holds(fetch(server.url, str(tmp_path / "b"), MD5)) and server.asked[-1] == "bytes=100000-"


@pytest.mark.parametrize("there", [b"x" * 1000, DATA + b"more", DATA])
def test_what_lies_there_already(server, there, tmp_path):
    """Of another file, longer than this one, or whole."""
    (tmp_path / "w.part").write_bytes(there)
    assert _holds(fetch(server.url, str(tmp_path / "w"), MD5)) and os.listdir(tmp_path) == ["w"]


def test_another_sum(server, tmp_path):
    with pytest.raises(RuntimeError, match="its md5 sum is another"):
        fetch(server.url, str(tmp_path / "w"), "0" * 32)
    assert os.listdir(tmp_path) == [] and server.asked == [None] * 3


def test_nobody_there(tmp_path):
    with pytest.raises(RuntimeError, match="could not be fetched"):
        fetch("http://127.0.0.1:9/w", str(tmp_path / "w"), MD5)
    assert os.listdir(tmp_path) == []


def test_processes_that_want_the_same(server, tmp_path):
    """One fetches, the others wait for it."""
    go = threading.Event()
    server.breaks = [lambda: go.wait(60) and None]
    context = multiprocessing.get_context("spawn")
    with context.Pool(3) as pool:
        results = [pool.apply_async(fetch, (server.url, str(tmp_path / "w"), MD5)) for _ in range(3)]
        while not server.asked:
            pass
        go.set()
        assert all(_holds(result.get(60)) for result in results)
    assert os.listdir(tmp_path) == ["w"]
    # Who came when all was over asks again.
    assert 1 <= len(server.asked) <= 3


def test_a_terminal_shows_how_far_it_is(server, tmp_path):
    leader, follower = pty.openpty()
    program = "import sys; from proa.utils.fetching import fetch; fetch(*sys.argv[1:])"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for stream, quiet in ((follower, False), (subprocess.PIPE, True)):
        run = subprocess.run(
            [sys.executable, "-c", program, server.url, str(tmp_path / f"w{quiet}")], env=environment, stderr=stream, stdout=subprocess.PIPE, check=True
        )  # fmt: skip
        assert run.stdout == b"" and not run.stderr
    os.close(follower)
    text = os.read(leader, 1 << 20).decode()
    os.close(leader)
    assert text.startswith("\rwFalse: ") and text.endswith("\rwFalse: 100 % of 0.5 MB\r\n")
