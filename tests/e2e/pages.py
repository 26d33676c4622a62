"""Runs a headless Chromium for the end-to-end tests, and checks what every page of paretoken must show in it."""

import base64
import contextlib
import json
import pathlib
import re
import subprocess
import tempfile
import urllib.error
import urllib.request

from harness import started

# Returns for each canvas that no menu hides the share of its pixels that differ from its most frequent colour.
PAINTED = """
return [...document.querySelectorAll('canvas')].filter(canvas => !canvas.closest('[hidden]')).map(canvas => {
    const pixels = new Uint32Array(
        canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer);
    const counts = new Map();
    for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) || 0) + 1);
    return pixels.length ? 1 - Math.max(...counts.values()) / pixels.length : 0;
});
"""


def look_at(case, browser, page, scheme):
    """Opens the page in the colour scheme `scheme` and checks what every report must show. Returns its background colour."""
    browser.prefer(scheme)
    browser.open(page)
    browser.devtools("Runtime.evaluate", expression="new Promise(done => setTimeout(done, 1500))", awaitPromise=True)
    charts = int(browser.evaluate("return document.documentElement.dataset.charts || 0"))
    case.assertGreaterEqual(charts, 3)
    painted = browser.evaluate(PAINTED)
    case.assertGreaterEqual(len(painted), 3)
    for share in painted:
        case.assertGreater(share, 0.005, f"a chart is blank: {painted}")
    severe = [entry for entry in browser.console() if entry["level"] == "SEVERE"]
    case.assertEqual(severe, [])
    requests = browser.evaluate("return performance.getEntriesByType('resource').map(entry => entry.name)")
    case.assertEqual([name for name in requests if name.startswith("http")], [], "a report loads nothing")
    return browser.evaluate("return getComputedStyle(document.body).backgroundColor")


def brightness(colour):
    numbers = [float(word) for word in colour[colour.index("(") + 1:colour.index(")")].split(",")[:3]]
    return sum(numbers) / 3


class Browser:
    """Headless Chromium, driven over the WebDriver protocol."""

    def __init__(self):
        self._stack = contextlib.ExitStack()
        driver = self._stack.enter_context(started(["chromedriver", "--port=0"], stdout=subprocess.PIPE,
                                                   stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL))
        line = ""
        for line in driver.stdout:
            found = re.search(rb"started successfully on port (\d+)", line)
            if found:
                break
        else:
            self._stack.close()
            raise AssertionError(f"chromedriver did not start: {line!r}")
        self._base = f"http://127.0.0.1:{int(found.group(1))}"
        arguments = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
                     "--window-size=1280,1600", "--force-device-scale-factor=1"]
        profile = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="paretoken-browser-",
                                                                        ignore_cleanup_errors=True))
        session = self._call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"args": [*arguments, f"--user-data-dir={profile}"]}}}})
        self._base += f"/session/{session['sessionId']}"
        self._stack.callback(lambda: self._call("DELETE", ""))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stack.close()

    def _call(self, method, path, body=None):
        data = None if method == "DELETE" else json.dumps(body or {}).encode()
        request = urllib.request.Request(self._base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.read().decode()[:500]}") from error

    def prefer(self, scheme):
        """Sets the colour scheme that the page sees (prefers-color-scheme): "light" or "dark"."""
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def devtools(self, command, **parameters):
        return self._call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def open(self, path):
        self.visit(pathlib.Path(path).resolve().as_uri())

    def visit(self, url):
        self._call("POST", "/url", {"url": url})

    def evaluate(self, script):
        """Runs the body of a JavaScript function (`return …`) in the page and returns its value."""
        return self._call("POST", "/execute/sync", {"script": script, "args": []})

    def console(self):
        """Returns the entries of the browser's console since the last call: [{level, message, …}]."""
        return self._call("POST", "/se/log", {"type": "browser"})

    def screenshot(self, path, whole_page=False):
        shot = self.devtools("Page.captureScreenshot", format="png", captureBeyondViewport=whole_page)
        pathlib.Path(path).write_bytes(base64.b64decode(shot["data"]))
