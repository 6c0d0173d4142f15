"""`python -m proa.inference.serve MODEL`."""

import argparse
import asyncio
import logging
import os
import signal
import sys

_EPILOG = """\
Endpoints: GET /v2, /v2/health/live, /v2/health/ready, /v2/models/NAME, /v2/models/NAME/ready, /metrics;
POST /v2/models/NAME/infer. The server ends on SIGTERM and SIGINT: it takes no more requests, answers those that it has,
and leaves. It has no encryption and asks nobody who they are: put it behind a proxy that does."""


def _positive(kind):
    def parse(text):
        value = kind(text)
        if not value > 0:
            raise argparse.ArgumentTypeError(f"{text} is not positive")
        return value

    parse.__name__ = kind.__name__  # for argparse's message
    return parse


def _parser():
    parser = argparse.ArgumentParser(
        "python -m proa.inference.serve", description="Serves a saved model over HTTP (KServe v2 protocol).",
        epilog=_EPILOG, formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )  # fmt: skip
    add = parser.add_argument
    add("model", help="prefix of MODEL.pdmodel and MODEL.pdiparams, or a folder with them")
    add("--name", help="what clients call the model; by default the end of its path")
    add("--version", default="1", help="and its version")
    add("--host", default="127.0.0.1", help="address to listen at; 0.0.0.0 for all")
    add("--port", type=int, default=8000, help="0: any that is free, which is printed")
    add("--workers", type=_positive(int), default=1, help="runs at once")
    add("--threads", type=_positive(int), help="threads of one run; by default as many as the process may use")
    add("--max-batch-rows", type=_positive(int), default=1,
        help="rows of several requests in one run, for models whose results have a row for each row of the inputs that "
        "no other row has a part in; 1: one request a run")  # fmt: skip
    add("--batch-delay-ms", type=_positive(float), default=2.0, help="how long a run waits for further requests")
    add("--max-body-mb", type=_positive(float), default=64.0, help="of one request")
    add("--queue", type=_positive(int), default=256, help="requests that may wait; more are answered 503")
    add("--timeout", type=_positive(float), default=30.0, help="seconds that a request may take")
    return parser


async def _serve(app, arguments, name, web):
    runner = web.AppRunner(app, access_log=None, auto_decompress=False, shutdown_timeout=arguments.timeout)
    await runner.setup()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    try:
        await web.TCPSite(runner, arguments.host, arguments.port).start()
        host, port = runner.addresses[0][:2]
        print(f"serving {name} at http://{host}:{port}", flush=True)
        await stop.wait()
    finally:
        await runner.cleanup()


def main(argv=None):
    """Returns the exit status."""
    arguments = _parser().parse_args(argv)
    try:
        from aiohttp import web

        from proa.inference.serve.app import Limits, make_app
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("aiohttp", "prometheus_client"):
            raise
        print(
            f"serve: the Python package {error.name} is missing; install it with: pip install aiohttp prometheus-client",
            file=sys.stderr,
        )
        return 2
    from proa.inference.serve.model import Model

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    path = os.fspath(arguments.model)
    name = arguments.name or os.path.basename(os.path.normpath(path)).removesuffix(".pdmodel")
    try:
        model = Model(path.removesuffix(".pdmodel"), name, arguments.version, arguments.threads)
    except (OSError, ValueError, TypeError, NotImplementedError, RuntimeError) as error:
        print(f"serve: {error}", file=sys.stderr)
        return 1
    limits = Limits(
        arguments.workers, arguments.queue, int(arguments.max_body_mb * 2**20), arguments.timeout,
        arguments.max_batch_rows, arguments.batch_delay_ms / 1000,
    )  # fmt: skip
    try:
        asyncio.run(_serve(make_app(model, limits), arguments, name, web))
    except OSError as error:
        print(f"serve: {arguments.host}:{arguments.port}: {error.strerror or error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
