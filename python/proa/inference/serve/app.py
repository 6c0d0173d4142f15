"""The server as an aiohttp application."""

import asyncio
import dataclasses
import logging
import time

from aiohttp import web

from proa import version
from proa.inference.serve.batching import Overloaded, Runner
from proa.inference.serve.metrics import Metrics
from proa.inference.serve.protocol import RequestError, answer, read_request

__all__ = ["Limits", "make_app"]

_log = logging.getLogger("proa.inference.serve")
_HEADER = "Inference-Header-Content-Length"


@dataclasses.dataclass
class Limits:
    """Bounds of a server.

    Args:
        workers (int): runs at once.
        waiting (int): requests that may wait besides.
        body (int): bytes of a request.
        timeout (float): seconds that a request may wait and compute.
        max_rows (int), delay (float): of dynamic batching; see Runner.
    """

    workers: int = 1
    waiting: int = 256
    body: int = 64 << 20
    timeout: float = 30.0
    max_rows: int = 1
    delay: float = 0.002


def _failed(code, message, headers=None):
    return web.json_response({"error": message}, status=code, headers=headers)


async def _aside(large, function, *arguments):
    """What the function returns; on a thread where so many bytes would keep others waiting."""
    if large < 1 << 18:
        return function(*arguments)
    return await asyncio.to_thread(function, *arguments)


class _Server:
    def __init__(self, model, limits):
        self._model, self._limits = model, limits
        self._metrics = Metrics()
        self._runner = None
        self._ready = False

    def app(self):
        app = web.Application(client_max_size=self._limits.body, middlewares=[self._errors_as_json])
        model = "/v2/models/{model}"
        routes = [
            ("GET", "/v2", self._server_metadata),
            ("GET", "/v2/health/live", self._live),
            ("GET", "/v2/health/ready", self._is_ready),
            ("GET", "/metrics", self._show_metrics),
        ]
        for prefix in (model, model + "/versions/{version}"):
            routes += [
                ("GET", prefix, self._model_metadata),
                ("GET", prefix + "/ready", self._model_ready),
                ("POST", prefix + "/infer", self._infer),
            ]
        for method, path, handler in routes:
            app.router.add_route(method, path, handler)
        app.on_startup.append(self._start)
        app.on_shutdown.append(self._close)
        app.on_cleanup.append(self._stop)
        return app

    async def _start(self, _):
        limits = self._limits
        self._runner = Runner(self._model, limits.workers, limits.waiting, limits.max_rows, limits.delay, self._metrics)
        self._metrics.watch(lambda: self._runner.pending)
        self._runner.start()
        self._ready = True

    async def _close(self, _):
        self._ready = False

    async def _stop(self, _):
        await self._runner.stop()

    @staticmethod
    @web.middleware
    async def _errors_as_json(request, handler):
        try:
            return await handler(request)
        except web.HTTPException as error:
            if error.status < 400:
                raise
            headers = {"Allow": error.headers["Allow"]} if "Allow" in error.headers else None
            return _failed(error.status, error.reason, headers)

    async def _server_metadata(self, _):
        return web.json_response(
            {"name": "proa", "version": version.full_version, "extensions": ["binary_tensor_data"]}
        )

    async def _live(self, _):
        return web.json_response({"live": True})

    async def _is_ready(self, _):
        return web.json_response({"ready": self._ready}, status=200 if self._ready else 503)

    async def _show_metrics(self, _):
        return web.Response(body=self._metrics.text(), headers={"Content-Type": self._metrics.content_type})

    def _unknown(self, request):
        """The answer for another model or version, or None."""
        name, number = request.match_info["model"], request.match_info.get("version", self._model.version)
        if name != self._model.name:
            return _failed(404, f"there is no model {name[:80]!r}; there is {self._model.name!r}")
        if number != self._model.version:
            return _failed(404, f"there is no version {number[:80]!r} of {name!r}; there is {self._model.version!r}")
        return None

    async def _model_metadata(self, request):
        return self._unknown(request) or web.json_response(self._model.metadata())

    async def _model_ready(self, request):
        unknown = self._unknown(request)
        status = 200 if self._ready else 503
        return unknown or web.json_response({"name": self._model.name, "ready": self._ready}, status=status)

    async def _infer(self, request):
        start = time.monotonic()
        try:
            response = self._unknown(request) or await self._answer(request)
        except asyncio.CancelledError:
            self._metrics.answered(499, time.monotonic() - start)  # the client went
            raise
        self._metrics.answered(response.status, time.monotonic() - start)
        if response.status in (408, 413):
            response.force_close()  # the rest of the body is not read
        return response

    async def _answer(self, request):
        limits, model = self._limits, self._model
        if request.headers.get("Content-Encoding", "identity").lower() != "identity":
            return _failed(415, "compressed requests are not taken; send the body as it is")
        too_large = f"the request is larger than {limits.body} bytes"
        if request.content_length is not None and request.content_length > limits.body:
            return _failed(413, too_large)
        try:
            body = await asyncio.wait_for(request.read(), limits.timeout)
            size = request.headers.get(_HEADER)
            if size is not None and not (size.isascii() and size.isdigit() and len(size) < 20):
                return _failed(400, f"{_HEADER} must be a number, not {size[:40]!r}")
            size = None if size is None else int(size)
            parsed = await _aside(len(body), read_request, body, size, model.inputs, model.outputs)
        except asyncio.TimeoutError:
            return _failed(408, f"the request did not come within {limits.timeout:g} seconds")
        except web.HTTPRequestEntityTooLarge:
            return _failed(413, too_large)
        except RequestError as error:
            return _failed(400, str(error))
        return await self._computed(parsed)

    async def _computed(self, parsed):
        limits, model = self._limits, self._model
        try:
            results = await self._runner.run(parsed.arrays, limits.timeout)
            head = {"model_name": model.name, "model_version": model.version}
            large = sum(result.nbytes for result in results)
            body, size = await _aside(large, answer, head, parsed, model.outputs, results)
        except Overloaded:
            return _failed(503, f"{limits.waiting} requests wait already; try again later", {"Retry-After": "1"})
        except asyncio.TimeoutError:
            return _failed(504, f"there was no result within {limits.timeout:g} seconds")
        except (
            ValueError,
            TypeError,
            IndexError,
        ) as error:  # of the input: an index out of range, sizes that do not meet
            return _failed(400, str(error).strip())
        except MemoryError:
            return _failed(507, "there is not enough memory for this request")
        except Exception:
            _log.exception("a run of the model failed")
            return _failed(500, "the model failed; the server's log says why")
        if size is None:
            return web.Response(body=body, content_type="application/json")
        return web.Response(body=body, content_type="application/octet-stream", headers={_HEADER: str(size)})


def make_app(model, limits=None):
    """The application that serves a model.

    Args:
        model (Model): what is served.
        limits (Limits, optional): its bounds.
    """
    return _Server(model, limits or Limits()).app()
