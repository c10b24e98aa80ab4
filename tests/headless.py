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

import pytest

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

NEEDS_BROWSER = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (CHROMIUM and DRIVER), reason="needs a browser: sh requirements/browser.sh"
    ),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


class Browser:
    """Opens pages, runs scripts in them, clicks, types, and tells what was said and loaded."""

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
        logs = {"browser": "ALL", "performance": "ALL"}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": logs}
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
        self.visit(file.resolve().as_uri())

    def visit(self, url: str) -> None:
        self._ask("POST", "/url", {"url": url})

    def new_tab(self) -> str:
        """Open another tab; returns the handle of the one before, for :meth:`switch_to`."""
        before: str = self._ask("GET", "/window")
        self.switch_to(self._ask("POST", "/window/new", {"type": "tab"})["handle"])
        return before

    def switch_to(self, tab: str) -> None:
        self._ask("POST", "/window", {"handle": tab})

    def close_tab(self) -> None:
        self._ask("DELETE", "/window")

    def run(self, script: str) -> Any:
        """What a JavaScript function body returns."""
        return self._ask("POST", "/execute/sync", {"script": script, "args": []})

    def shown(self, selector: str) -> list[str]:
        """Texts of the elements that can be seen."""
        found: list[str] = self.run(
            f"return [...document.querySelectorAll({selector!r})]"
            ".filter((one) => one.getClientRects().length).map((one) => one.textContent.trim())"
        )
        return found

    def click(self, selector: str) -> None:
        self._ask("POST", f"/element/{self._find(selector)}/click", {})

    def type(self, selector: str, text: str) -> None:
        self._ask("POST", f"/element/{self._find(selector)}/value", {"text": text})

    def wait_for(self, condition: str, seconds: float = 30.0) -> None:
        """Until a JavaScript expression is true."""
        end = time.monotonic() + seconds
        while not self.run(f"return !!({condition})"):
            if time.monotonic() > end:
                raise AssertionError(f"never came true: {condition}")
            time.sleep(0.05)

    def requests(self) -> list[str]:
        """The addresses of everything asked for since the last call, sockets included."""
        entries = self._ask("POST", "/se/log", {"type": "performance"})
        messages = [json.loads(entry["message"])["message"] for entry in entries]
        sent = [one["params"] for one in messages if one["method"] == "Network.requestWillBeSent"]
        sockets = [one["params"] for one in messages if one["method"] == "Network.webSocketCreated"]
        return [one["request"]["url"] for one in sent] + [one["url"] for one in sockets]

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

    def _find(self, selector: str) -> str:
        found = self._ask("POST", "/element", {"using": "css selector", "value": selector})
        (element,) = found.values()
        return str(element)

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
