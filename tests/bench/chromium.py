"""A headless Chromium, spoken to over two pipes by the DevTools protocol: no port, no driver.

Messages are JSON, each ended by a zero byte; the browser reads them from file descriptor 3 and
writes to 4 (--remote-debugging-pipe).
"""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import time

SECONDS = 60  # for one answer, on a slow machine


def find_browser():
    for name in ("chromium-headless-shell", "chromium"):
        if path := shutil.which(name):
            return path
    return None


class Browser:
    """folder: where profile and everything else that it writes go; the caller removes it."""

    def __init__(self, program, folder):
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()

        def take_pipes():
            # Through numbers that are neither 3 nor 4.
            spare = os.dup2(to_browser, 100), os.dup2(from_browser, 101)
            os.dup2(spare[0], 3)
            os.dup2(spare[1], 4)

        command = [
            program, "--headless", "--remote-debugging-pipe", f"--user-data-dir={folder}/profile",
            "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions",
            "--disable-background-networking", "--disable-breakpad", "--disable-sync",
            "--hide-scrollbars", "--force-color-profile=srgb",
            "--host-resolver-rules=MAP * ~NOTFOUND",
        ]
        if os.geteuid() == 0:
            command.append("--no-sandbox")  # it refuses to be root with one
        home = {**os.environ, "HOME": str(folder), "TMPDIR": str(folder),
                "XDG_CONFIG_HOME": str(folder), "XDG_CACHE_HOME": str(folder)}
        self._log = open(folder / "browser.log", "wb")
        self._process = subprocess.Popen(
            command, pass_fds=(3, 4, to_browser, from_browser), preexec_fn=take_pipes,
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log, env=home,
            start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)
        self._folder, self._buffer, self._last = folder, b"", 0
        self._pages = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()
        for fd in (self._read, self._write):
            os.close(fd)
        self._log.close()

    def call(self, method, session=None, **params):
        """Sends a command and returns its result; events that come meanwhile go to their page."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive(time.monotonic() + SECONDS)
            if answer.get("id") == self._last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def _receive(self, deadline):
        while b"\0" not in self._buffer:
            left = deadline - time.monotonic()
            ready = select.select([self._read], [], [], max(0, left))[0]
            data = os.read(self._read, 1 << 20) if ready else b""
            if not data:
                log = (self._folder / "browser.log").read_text(errors="replace")[-2000:]
                raise RuntimeError(f"the browser does not answer: {log}")
            self._buffer += data
        text, self._buffer = self._buffer.split(b"\0", 1)
        message = json.loads(text)
        if page := self._pages.get(message.get("sessionId")):
            page.take(message)
        return message

    def open(self, url, width, scheme):
        """A page in a tab of its own, loaded. scheme: light or dark, what its reader likes."""
        for session in list(self._pages):
            self.call("Target.closeTarget", targetId=self._pages.pop(session).target)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session, target)
        self._pages[session] = page
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=900,
                  deviceScaleFactor=1, mobile=False)
        page.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])
        page.call("Page.navigate", url=url)
        deadline = time.monotonic() + SECONDS
        while not page.is_loaded:
            self._receive(deadline)
        return page


class Page:
    def __init__(self, browser, session, target):
        self._browser, self._session, self.target = browser, session, target
        self.requests, self.console, self.is_loaded = [], [], False

    def call(self, method, **params):
        return self._browser.call(method, self._session, **params)

    def take(self, message):
        method, params = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Page.loadEventFired":
            self.is_loaded = True
        elif method == "Runtime.exceptionThrown":
            self.console.append(str(params["exceptionDetails"].get("exception", params)))
        elif method == "Runtime.consoleAPICalled":
            self.console.append(str(params["args"]))
        elif method == "Log.entryAdded":
            self.console.append(params["entry"]["text"])

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def screenshot(self, area):
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                           clip={**area, "scale": 1})
        return base64.b64decode(answer["data"])
