"""The HTTP server of proa.inference.serve: skipped where aiohttp is not installed, but for what says so."""

import concurrent.futures
import http.client
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import proa
from proa import inference
from proa.inference.serve import protocol

HAS_LIBRARIES = all(importlib.util.find_spec(name) for name in ("aiohttp", "prometheus_client"))
needs_libraries = pytest.mark.skipif(not HAS_LIBRARIES, reason="aiohttp or prometheus_client is not installed")


@pytest.fixture(scope="module", name="model")
def _model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    proa.seed(0)
    net = proa.nn.Sequential(proa.nn.Linear(3, 8), proa.nn.ReLU(), proa.nn.Linear(8, 2))
    net.eval()
    proa.jit.save(net, str(folder / "net"), [proa.static.InputSpec([None, 3], "float32", "x")])
    return str(folder / "net")


class Server:
    """A server of its own process."""

    def __init__(self, model, *arguments):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "proa.inference.serve", model, "--port", "0", *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        line = self.process.stdout.readline()
        assert line.startswith("serving "), line + self.process.stderr.read()
        self.port = int(line.rsplit(":", 1)[1])

    def request(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, response.read(), dict(response.getheaders())
        finally:
            connection.close()

    def infer(self, body, headers=None, path="/v2/models/net/infer"):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        status, data, _ = self.request("POST", path, body, headers)
        return status, json.loads(data)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, err


@pytest.fixture(scope="module", name="server")
def _server(model):
    server = Server(model, "--max-batch-rows", "8", "--max-body-mb", "1", "--workers", "2", "--threads", "1")
    yield server
    code, err = server.end()
    assert code == 0 and "Traceback" not in err, err


def _document(x, **further):
    x = np.asarray(x, "float32")
    return {
        "inputs": [{"name": "x", "shape": list(x.shape), "datatype": "FP32", "data": x.ravel().tolist()}],
        **further,
    }


@needs_libraries
def test_health_and_metadata(server):
    for path, key in (("/v2/health/live", "live"), ("/v2/health/ready", "ready"), ("/v2/models/net/ready", "ready")):
        status, data, _ = server.request("GET", path)
        assert status == 200 and json.loads(data)[key] is True
    status, data, _ = server.request("GET", "/v2")
    assert json.loads(data)["extensions"] == ["binary_tensor_data"]
    for path in ("/v2/models/net", "/v2/models/net/versions/1"):
        status, data, _ = server.request("GET", path)
        assert json.loads(data)["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1, 3]}]
        assert [o["shape"] for o in json.loads(data)["outputs"]] == [[-1, 2]]


@needs_libraries
def test_results_are_those_of_the_predictor(server, model):
    predictor = inference.create_predictor(inference.Config(model))
    x = np.random.RandomState(0).randn(5, 3).astype("float32")
    (want,) = predictor.run([x])
    status, got = server.infer(_document(x, id="seven"))
    (output,) = got["outputs"]
    assert status == 200 and got["id"] == "seven" and got["model_name"] == "net" and output["shape"] == [5, 2]
    np.testing.assert_allclose(np.reshape(output["data"], [5, 2]), want.numpy(), rtol=1e-6)
    status, nested = server.infer({"inputs": [{"name": "x", "shape": [5, 3], "datatype": "FP32", "data": x.tolist()}]})
    assert nested["outputs"] == got["outputs"]
    # No rows at all.
    status, got = server.infer(_document(np.zeros([0, 3])))
    assert status == 200 and got["outputs"][0]["shape"] == [0, 2] and got["outputs"][0]["data"] == []


@needs_libraries
def test_binary_tensors(server, model):
    (want,) = inference.create_predictor(inference.Config(model)).run([np.ones([4, 3], "float32")])
    head = {
        "inputs": [{"name": "x", "shape": [4, 3], "datatype": "FP32", "parameters": {"binary_data_size": 48}}],
        "parameters": {"binary_data_output": True},
    }
    text, data = json.dumps(head).encode(), np.ones([4, 3], "<f4").tobytes()
    status, body, headers = server.request(
        "POST", "/v2/models/net/infer", text + data, {"Inference-Header-Content-Length": str(len(text))}
    )
    size = int(headers["Inference-Header-Content-Length"])
    answer = json.loads(body[:size])
    assert status == 200 and headers["Content-Type"] == "application/octet-stream"
    assert answer["outputs"][0]["parameters"] == {"binary_data_size": 32} and len(body) == size + 32
    np.testing.assert_allclose(np.frombuffer(body[size:], "<f4").reshape(4, 2), want.numpy(), rtol=1e-6)
    for size, body, says in (
        ("x", text + data, "must be a number"),
        (str(len(text) + 1000), text + data, "the body has"),
        (str(len(text)), text + data[:-1], "does not hold its binary data"),
        (str(len(text)), text + data + b"more", "4 bytes behind"),
    ):
        status, answer = server.infer(body, {"Inference-Header-Content-Length": size})
        assert status == 400 and says in answer["error"], answer


def _spoiled(**changes):
    return {"inputs": [{"name": "x", "shape": [1, 3], "datatype": "FP32", "data": [1, 2, 3], **changes}]}


BAD = [
    (b"", "no JSON"),
    (b"{", "no JSON"),
    (b"\xff\xfe", "no JSON"),
    (b"[1]", "must be a JSON object"),
    (b"[" * 200000, "nested too deeply"),
    (b'{"inputs": [{"name": "x", "data": [NaN]}]}', "no number for"),
    ({}, "inputs must be a list"),
    ({"inputs": []}, "input 'x' is missing"),
    ({"inputs": [1]}, "must be an object"),
    ({"inputs": _spoiled()["inputs"] * 2}, "given twice"),
    ({**_spoiled(), "id": 7}, "id must be a text"),
    ({**_spoiled(), "outputs": [{"name": "z"}]}, "no output 'z'"),
    ({**_spoiled(), "parameters": {"binary_data_output": 1}}, "must be true or false"),
    (_spoiled(name="z"), "no input 'z'"),
    (_spoiled(datatype="FP64"), "is FP32, not FP64"),
    (_spoiled(datatype=None), "is FP32, not None"),
    (_spoiled(shape=[1, 4]), "takes the shape [-1, 3], not [1, 4]"),
    (_spoiled(shape=[3]), "takes the shape"),
    (_spoiled(shape=[-1, 3]), "list of sizes"),
    (_spoiled(shape=[2**80, 3]), "list of sizes"),
    (_spoiled(shape=[2**40, 3]), "has 3 elements"),
    (_spoiled(shape=[2, 3]), "has 3 elements"),
    (_spoiled(shape="13"), "list of sizes"),
    (_spoiled(data=[1, 2, "3"]), "takes numbers"),
    (_spoiled(data=[1, 2, True]), "takes numbers"),
    (_spoiled(data=[1, 2, None]), "takes numbers"),
    (_spoiled(data=[[1, 2], 3]), "mixes numbers and lists"),
    (_spoiled(data=[1, 2, 1e300]), "does not fit into FP32"),
    (_spoiled(data=[1, 2, 10**400]), "does not fit into FP32"),
    (_spoiled(data=7), "must be a list"),
    (_spoiled(data=None), "must be a list"),
    (_spoiled(parameters=3), "parameters must be an object"),
]


@needs_libraries
def test_bad_requests_are_refused_with_a_sentence(server):
    for body, says in BAD:
        status, answer = server.infer(body)
        assert status == 400 and says in answer["error"], (body if len(str(body)) < 500 else says, status, answer)
    assert server.infer(_spoiled(), path="/v2/models/other/infer")[0] == 404
    assert server.infer(_spoiled(), path="/v2/models/net/versions/2/infer")[0] == 404
    assert server.request("GET", "/v2/models/net/infer")[0] == 405
    assert server.request("GET", "/elsewhere")[0] == 404
    assert server.infer(_spoiled(), {"Content-Encoding": "gzip"})[0] == 415
    assert server.infer(_spoiled())[0] == 200


@needs_libraries
def test_large_bodies_are_refused(server):
    status, answer = server.infer(b" " * ((1 << 20) + 1))
    assert status == 413 and "larger than 1048576 bytes" in answer["error"]

    def pieces():  # its size is not said
        for _ in range(40):
            yield b" " * 65536

    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        connection.request(
            "POST", "/v2/models/net/infer", pieces(), {"Transfer-Encoding": "chunked"}, encode_chunked=True
        )
        assert connection.getresponse().status == 413
    except (BrokenPipeError, ConnectionResetError):
        pass  # the server left while pieces came
    finally:
        connection.close()
    assert server.infer(_spoiled())[0] == 200


@needs_libraries
def test_many_clients_at_once_share_runs(server, model):
    predictor = inference.create_predictor(inference.Config(model))
    requests = [np.random.RandomState(i).randn(1 + i % 4, 3).astype("float32") for i in range(120)]
    with concurrent.futures.ThreadPoolExecutor(24) as pool:
        answers = list(pool.map(lambda x: server.infer(_document(x)), requests))
    for x, (status, answer) in zip(requests, answers):
        assert status == 200, answer
        got = np.reshape(answer["outputs"][0]["data"], answer["outputs"][0]["shape"])
        np.testing.assert_allclose(got, predictor.run([x])[0].numpy(), rtol=1e-5, atol=1e-6)
    status, text, _ = server.request("GET", "/metrics")
    figures = dict(line.rsplit(" ", 1) for line in text.decode().splitlines() if line and line[0] != "#")
    assert float(figures['proa_requests_total{code="200"}']) >= 120
    assert float(figures["proa_batch_rows_count"]) < float(figures["proa_request_seconds_count"])
    assert float(figures["proa_pending_requests"]) == 0


@needs_libraries
def test_more_than_may_wait_are_turned_away(tmp_path):
    """A slow model, one worker, one that may wait: the rest hear so at once, and those that were taken are answered."""

    class Slow(proa.nn.Layer):
        def forward(self, x):
            return proa.static.nn.while_loop(lambda i, y: i < 400, lambda i, y: [i + 1, proa.tanh(y @ x)], [
                proa.zeros([], "int64"), x])[1]  # fmt: skip

    proa.jit.save(
        proa.jit.to_static(Slow()), str(tmp_path / "net"), [proa.static.InputSpec([256, 256], "float32", "x")]
    )
    server = Server(str(tmp_path / "net"), "--queue", "1", "--threads", "1", "--timeout", "60")
    text = json.dumps({"inputs": [{"name": "x", "shape": [256, 256], "datatype": "FP32",
                                   "parameters": {"binary_data_size": 262144}}]}).encode()  # fmt: skip
    body = text + np.zeros([256, 256], "<f4").tobytes()
    headers = {"Inference-Header-Content-Length": str(len(text))}
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        statuses = list(pool.map(lambda _: server.request("POST", "/v2/models/net/infer", body, headers)[0], range(12)))
        assert set(statuses) == {200, 503}
        # A request that is under way when the server is asked to end gets its answer.
        last = pool.submit(server.request, "POST", "/v2/models/net/infer", body, headers)
        for _ in range(1000):
            if b"proa_pending_requests 1.0" in server.request("GET", "/metrics")[1]:
                break
        code, err = server.end()
        assert last.result()[0] == 200 and code == 0, err
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", server.port), timeout=5)


@needs_libraries
def test_slow_senders_do_not_hold_it(model):
    server = Server(model, "--timeout", "1")
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as slow:
        slow.sendall(b"POST /v2/models/net/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        assert server.infer(_spoiled())[0] == 200
        assert b" 408 " in slow.recv(4096)
    assert server.end()[0] == 0


def _run(*arguments):
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=120, env=os.environ, check=False
    )


def test_a_missing_library_is_named(model):
    hidden = (
        "import sys; sys.modules['aiohttp'] = None\n"
        "from proa.inference.serve.__main__ import main\n"
        f"sys.exit(main([{model!r}]))"
    )
    done = _run("-c", hidden)
    assert done.returncode == 2 and "pip install aiohttp prometheus-client" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@needs_libraries
def test_bad_arguments(model):
    done = _run("-m", "proa.inference.serve", "/nowhere/model")
    assert done.returncode == 1 and "/nowhere/model" in done.stderr and "Traceback" not in done.stderr
    done = _run("-m", "proa.inference.serve", model, "--workers", "0")
    assert done.returncode == 2 and "0 is not positive" in done.stderr
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = _run("-m", "proa.inference.serve", model, "--port", str(taken.getsockname()[1]))
        assert done.returncode == 1 and "Traceback" not in done.stderr


# The protocol alone, without a server. ------------------------------------------------------------------------------


def _read(dtype, shape, data, declared=None):
    own = protocol.Input("x", dtype, declared or shape)
    part = {"name": "x", "shape": shape, "datatype": own.datatype}
    if isinstance(data, bytes):
        text = json.dumps({"inputs": [{**part, "parameters": {"binary_data_size": len(data)}}]}).encode()
        return protocol.read_request(text + data, len(text), [own], []).arrays[0]
    return protocol.read_request(json.dumps({"inputs": [{**part, "data": data}]}).encode(), None, [own], []).arrays[0]


@pytest.mark.parametrize("dtype", sorted(protocol.DATATYPES))
def test_each_datatype_there_and_back(dtype):
    own = protocol.Input("y", dtype, [-1])
    values = [True, False, True] if dtype == "bool" else [0, 1, 127]
    array = _read(dtype, [3], values, [-1])
    assert array.dtype == np.dtype(own.carrier) and array.tolist() == values
    for binary in (False, True):
        body, size = protocol.answer({}, protocol.Request([], [("y", binary)], None), [own], [array])
        if binary:
            assert _read(dtype, [3], body[size:], [-1]).tolist() == values
        else:
            assert size is None and json.loads(body)["outputs"][0]["data"] == values


@pytest.mark.parametrize(
    ("dtype", "data", "says"),
    [
        ("int8", [128], "does not fit into INT8"),
        ("uint8", [-1], "does not fit into UINT8"),
        ("int64", [2**63], "does not fit into INT64"),
        ("int64", [10**30], "does not fit into INT64"),
        ("int32", [1.0], "takes whole numbers"),
        ("int32", [True], "takes whole numbers"),
        ("bool", [1], "takes true or false"),
        ("float16", [70000], "does not fit into FP16"),
        ("bool", b"\x02", "byte of 0 or 1"),
        ("int16", b"\x02", "1 bytes"),
    ],
)
def test_elements_that_do_not_fit(dtype, data, says):
    with pytest.raises(protocol.RequestError, match=says):
        _read(dtype, [1], data)


def test_mutants_are_requests_or_refused():
    own = [protocol.Input("x", "float32", [-1, 3]), protocol.Input("n", "int64", [-1])]
    document = {
        "id": "a",
        "parameters": {"binary_data_output": False},
        "inputs": [
            {"name": "x", "shape": [1, 3], "datatype": "FP32", "parameters": {"binary_data_size": 12}},
            {"name": "n", "shape": [2], "datatype": "INT64", "data": [1, 2]},
        ],
        "outputs": [{"name": "x", "parameters": {"binary_data": True}}],
    }
    text = json.dumps(document).encode()
    pieces = [
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b'"',
        b"-1",
        b"1e9",
        b"null",
        b"true",
        b"99999999999999999999",
        b"\\u0000",
        b"\xff",
    ]
    random, good = np.random.RandomState(0), 0
    for _ in range(5000):
        mutant = bytearray(text)
        for _ in range(random.randint(1, 4)):
            at = random.randint(len(mutant))
            piece = pieces[random.randint(len(pieces))]
            mutant[at : at + random.randint(0, 6)] = piece
        size = len(mutant) if random.randint(4) else random.randint(len(mutant) + 20)
        try:
            request = protocol.read_request(bytes(mutant) + bytes(12), size, own, own)
            protocol.answer({}, request, own, request.arrays)
            good += 1
        except protocol.RequestError:
            pass
    assert good > 20


def test_shapes_of_no_dims_and_no_elements():
    assert _read("float32", [], [2.5]).shape == ()
    assert _read("int64", [2, 0], [[], []]).shape == (2, 0)
    assert _read("int64", [0], b"").shape == (0,)


def test_results_that_json_has_no_number_for():
    own = protocol.Input("y", "float32", [-1])
    with pytest.raises(protocol.RequestError, match="ask for binary_data"):
        protocol.answer({}, protocol.Request([], [("y", False)], None), [own], [np.array([np.nan], "float32")])


class _Metrics:
    def __init__(self):
        self.rows = []

    def queued(self, seconds):
        pass

    def computed(self, seconds, rows):
        self.rows.append(rows)


class _Doubling:
    """Waits for a while; knows how many run at once."""

    takes_rows = True

    def __init__(self, seconds=0.0, fixed=False):
        self._seconds, self._fixed, self._lock = seconds, fixed, threading.Lock()
        self.running = self.most = 0

    def run(self, arrays):
        with self._lock:
            self.running += 1
            self.most = max(self.most, self.running)
        time.sleep(self._seconds)
        with self._lock:
            self.running -= 1
        (x,) = arrays
        if (x < 0).any():
            raise ValueError("negative")
        return [x.sum(keepdims=True) if self._fixed else 2 * x]


def _together(model, requests, timeout=30, **settings):
    import asyncio

    from proa.inference.serve.batching import Runner

    metrics = _Metrics()

    async def main():
        runner = Runner(
            model, metrics=metrics, **{"workers": 1, "waiting": 100, "max_rows": 4, "delay": 0.05, **settings}
        )
        runner.start()
        results = await asyncio.gather(*(runner.run([x], timeout) for x in requests), return_exceptions=True)
        assert runner.pending == 0
        await runner.stop()
        return results

    return asyncio.run(main()), metrics.rows


def test_rows_of_several_requests_in_one_run():
    requests = [np.full([rows, 2], i, "float32") for i, rows in enumerate([1, 2, 1, 3, 1, 9, 0])]
    results, rows = _together(_Doubling(), requests)
    for x, (y,) in zip(requests, results):
        np.testing.assert_array_equal(y, 2 * x)
    assert rows == [4, 4, 9, 0]
    # Other widths do not meet.
    results, rows = _together(_Doubling(), [np.ones([1, 2]), np.ones([1, 3]), np.ones([1, 3])])
    assert rows == [1, 2] and [y.shape for (y,) in results] == [(1, 2), (1, 3), (1, 3)]


def test_one_bad_request_of_a_run_fails_alone():
    results, _ = _together(_Doubling(), [np.full([1, 1], v) for v in (1.0, -1.0, 2.0)])
    assert results[0][0].tolist() == [[2.0]] and results[2][0].tolist() == [[4.0]]
    assert isinstance(results[1], ValueError)


def test_models_without_a_row_for_each_row_run_alone():
    requests = [np.full([1, 2], float(i)) for i in range(3)]
    results, _ = _together(_Doubling(fixed=True), requests)
    assert [y.item() for (y,) in results] == [0.0, 2.0, 4.0]


def test_workers_run_side_by_side():
    model = _Doubling(0.1)
    _together(model, [np.ones([1, 1])] * 6, workers=3, max_rows=1)
    assert model.most == 3


def test_a_request_that_takes_too_long():
    import asyncio

    results, _ = _together(_Doubling(0.2), [np.ones([1, 1])] * 3, timeout=0.1, max_rows=1)
    assert all(isinstance(r, asyncio.TimeoutError) for r in results)
