"""A headless Chromium, driven over WebDriver's own HTTP: no client library is needed."""

from __future__ import annotations

import base64
import json
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
QUIET = [
    "headless=new",
    "no-sandbox",
    "disable-gpu",
    "disable-quic",
    "no-first-run",
    "disable-background-networking",
    "disable-component-update",
    "disable-sync",
    "hide-scrollbars",
]


class Browser:
    """Opens files, runs scripts in them, clicks, and tells what the console said."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self._root = f"http://127.0.0.1:{port}"
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            [str(DRIVER), f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._wait_until_up()
        options = {
            "binary": CHROMIUM,
            "args": [*QUIET, f"user-data-dir={self._folder.name}"],
        }
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        answer = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._root += f"/session/{answer['sessionId']}"

    def close(self) -> None:
        try:
            self._ask("DELETE", "")
        finally:
            self._process.terminate()
            self._process.wait()
            self._folder.cleanup()

    def open(self, file: Path) -> None:
        self._ask("POST", "/url", {"url": file.resolve().as_uri()})

    def run(self, script: str) -> Any:
        """What a JavaScript function body returns."""
        return self._ask("POST", "/execute/sync", {"script": script, "args": []})

    def click(self, selector: str) -> None:
        found = self._ask("POST", "/element", {"using": "css selector", "value": selector})
        (element,) = found.values()
        self._ask("POST", f"/element/{element}/click", {})

    def console(self) -> list[str]:
        return [entry["message"] for entry in self._ask("POST", "/se/log", {"type": "browser"})]

    def resize(self, width: int, height: int, *, dark: bool = False) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self._devtools("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        # A click goes where the element was when it was asked for: nothing may still be gliding.
        still = {"name": "prefers-reduced-motion", "value": "reduce"}
        self._devtools("Emulation.setEmulatedMedia", {"features": [scheme, still]})

    def screenshot(self, file: Path) -> None:
        """All of the page, not only what is in view."""
        shot = self._devtools("Page.captureScreenshot", {"captureBeyondViewport": True})
        file.write_bytes(base64.b64decode(shot["data"]))

    def print(self, file: Path) -> None:
        answer = self._devtools("Page.printToPDF", {"printBackground": True})
        file.write_bytes(base64.b64decode(answer["data"]))

    def _devtools(self, name: str, params: dict[str, Any]) -> Any:
        return self._ask("POST", "/goog/cdp/execute", {"cmd": name, "params": params})

    def _wait_until_up(self) -> None:
        for _ in range(200):
            try:
                self._ask("GET", "/status")
            except urllib.error.URLError:
                time.sleep(0.05)
            else:
                return
        raise RuntimeError("chromedriver did not start")

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self._root + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]
