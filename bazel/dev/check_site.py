"""Opens every page of the built site in headless Chromium: what a reader would find broken.

    check_site.py --site dist/site [--chromium /usr/bin/chromium] [--screenshots FOLDER]

Of each page, after its scripts have run: errors on the console, files that the server does not have, links and anchors of
the rendered page that lead nowhere. Pages are followed from index.html; a page that none leads to is a finding, too. How
they look is for eyes: --screenshots has some pages in light, dark and a narrow window.
"""

import argparse
import concurrent.futures
import contextlib
import functools
import http.server
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from bazel.dev.build_site import _Page

_NAMES = ("chromium", "chromium-browser", "google-chrome", "headless_shell")
_SECONDS = 120
# What a console says though nothing is broken; the second is the search's own report, on pages that take long.
_HARMLESS = ("favicon.ico", "search scripts loaded")
# (window, dark) of the pictures.
_LOOKS = {"light": ("1280,1200", False), "dark": ("1280,1200", True), "narrow": ("500,1200", False)}
_SHOWN = ("index.html", "to_static.html", "performance.html", "api/nn.html", "coming_from_paddle.html", "ops.html")


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the site and remembers what it does not have."""

    missing = None

    def send_error(self, code, message=None, explain=None):
        if not self.path.endswith("/favicon.ico"):
            self.missing.add(f"{self.path} ({code})")
        super().send_error(code, message, explain)

    def copyfile(self, source, outputfile):
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the browser has seen enough
            super().copyfile(source, outputfile)

    def log_message(self, *unused):
        pass


class Site:
    """A served folder of pages, and the browser to look at them with."""

    def __init__(self, folder, browser):
        self.folder, self._browser, self.missing = folder.resolve(), browser, set()
        handler = functools.partial(type("Handler", (_Handler,), {"missing": self.missing}), directory=str(self.folder))
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.root = f"http://127.0.0.1:{self._server.server_port}/"

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def _run(self, url, *arguments):
        with tempfile.TemporaryDirectory() as profile:
            call = [
                self._browser,
                "--headless=new",
                "--disable-gpu",
                "--no-first-run",
                "--hide-scrollbars",
                "--mute-audio",
            ]
            call += ["--disable-dev-shm-usage", "--disable-background-networking", f"--user-data-dir={profile}"]
            call += ["--enable-logging=stderr", "--log-level=0", "--virtual-time-budget=4000"]
            call += ["--no-sandbox"] if os.geteuid() == 0 else []  # which root cannot have
            return subprocess.run(
                [*call, *arguments, url], capture_output=True, text=True, timeout=_SECONDS, check=False
            )

    def look(self, name):
        """(the rendered page, what its console says)."""
        done = self._run(self.root + name, "--dump-dom", "--window-size=500,1000")
        said = [
            line for line in done.stderr.splitlines() if "CONSOLE" in line and not any(w in line for w in _HARMLESS)
        ]
        if "</html>" not in done.stdout:
            said.append(f"the browser gave no page: {done.stderr.strip()[-300:]}")
        return _Page(done.stdout), said

    def picture(self, name, look, path):
        window, dark = _LOOKS[look]
        colors = ["--blink-settings=preferredColorScheme=0"] if dark else []
        self._run(self.root + name, f"--screenshot={path}", f"--window-size={window}", *colors)


def _links(name, page):
    """The pages and anchors of the site that a page leads to."""
    for link in page.links:
        if re.match(r"^(?!https?://127\.)[a-z+.-]+:", link) or link.startswith("//"):
            continue
        path = urllib.parse.unquote(urllib.parse.urlsplit(urllib.parse.urljoin(f"/{name}", link)).path).lstrip("/")
        yield link, path or "index.html", urllib.parse.unquote(urllib.parse.urlsplit(link).fragment)


def check(site, jobs=2):
    """What is broken, as sentences."""
    pages, waiting, found = {}, {"index.html"}, []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        while waiting:
            names = sorted(waiting)
            for name, (page, said) in zip(names, pool.map(site.look, names), strict=True):
                pages[name] = page
                found += [f"{name}: {line.strip()}" for line in said]
            linked = {path for n in names for _, path, _ in _links(n, pages[n]) if path.endswith(".html")}
            waiting = {path for path in linked if path not in pages and (site.folder / path).is_file()}
    for name, page in sorted(pages.items()):
        for link, path, anchor in _links(name, page):
            if not (site.folder / path).exists():
                found.append(f"{name} links to {link}, which is not there")
            elif anchor and path in pages and anchor not in pages[path].anchors:
                found.append(f"{name} links to {link}, and there is no such anchor")
    found += [f"the site asks for {path}, which is not there" for path in sorted(site.missing)]
    every = {str(p.relative_to(site.folder)) for p in site.folder.rglob("*.html")} - {"404.html"}
    found += [f"no page leads to {name}" for name in sorted(every - set(pages))]
    return len(pages), found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--site", type=pathlib.Path, required=True)
    parser.add_argument("--chromium", default=next(filter(None, map(shutil.which, _NAMES)), None))
    parser.add_argument("--screenshots", type=pathlib.Path, help="write pictures of some pages there")
    given = parser.parse_args()
    if given.chromium is None:
        parser.error("there is no Chromium; install Debian's package chromium, or give --chromium")
    site = Site(given.site, given.chromium)
    try:
        count, found = check(site)
        for name in _SHOWN if given.screenshots else ():
            given.screenshots.mkdir(parents=True, exist_ok=True)
            for look in _LOOKS if (given.site / name).exists() else ():
                file = f"{name.removesuffix('.html').replace('/', '_')}_{look}.png"
                site.picture(name, look, given.screenshots.resolve() / file)
    finally:
        site.close()
    print("\n".join(found) or f"{count} pages: every link leads somewhere, nothing on the console")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
