"""A headless Chromium, asked over a pipe by its DevTools protocol; nothing but Python's library is needed."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium-headless-shell", "chromium", "google-chrome")


class BrowserError(Exception):
    """The browser ended, did not answer, or refused a command."""


def find_browser():
    """The path of one that is installed, None without."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One browser with one page at a time; to be used in a with statement."""

    def __init__(self, program, deadline_s=180.0):
        self.deadline_s = deadline_s
        self.profile = tempfile.mkdtemp(prefix="linkgain-browser-")
        to_read, self.to_browser = os.pipe()
        self.from_browser, to_write = os.pipe()
        # Beyond those that the browser asks for, so that no redirection closes another one.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_read, to_write)]
        os.close(to_read)
        os.close(to_write)
        command = 'exec "$0" "$@" 3<&%d 4>&%d' % tuple(ends)
        self.process = subprocess.Popen(
            ["bash", "-c", command, program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--hide-scrollbars", "--no-first-run", "--remote-debugging-pipe",
             "--user-data-dir=" + self.profile],
            pass_fds=ends, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for end in ends:
            os.close(end)
        self.number = 0
        self.rest = b""
        self.events = []
        self.session = None

    def __enter__(self):
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(domain + ".enable")
        self.send("Performance.enable", timeDomain="threadTicks")
        return self

    def __exit__(self, *_):
        self.session = None
        try:
            self.send("Browser.close")
            self.process.wait(10.0)
        except (BrowserError, OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.to_browser)
        os.close(self.from_browser)
        shutil.rmtree(self.profile, ignore_errors=True)

    def receive(self, deadline):
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.from_browser], [], [], max(0.0, deadline - time.monotonic()))
            data = os.read(self.from_browser, 1 << 20) if ready else b""
            if not data:
                raise BrowserError("the browser ended" if ready else "the browser does not answer")
            self.rest += data
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def send(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.write(message)
        deadline = time.monotonic() + self.deadline_s
        while True:
            answer = self.receive(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise BrowserError("%s: %s" % (method, answer["error"]["message"]))
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def write(self, message):
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to_browser, data):]

    def evaluate(self, script):
        """The value of a JavaScript expression, of a promise what it comes to."""
        answer = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise BrowserError(json.dumps(answer["exceptionDetails"])[:500])
        return answer["result"].get("value")

    def show(self, width, height, scheme, media=""):
        """The size of the window in CSS pixels, and light or dark; before a page is opened."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 500)
        self.send("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, url):
        """Loads a page and keeps what it had to say: console messages and requests."""
        self.events = []
        self.send("Page.navigate", url=url)
        deadline = time.monotonic() + self.deadline_s
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            message = self.receive(deadline)
            if "method" in message:
                self.events.append(message)

    def cpu_s(self):
        """Seconds that the page's thread has computed since it was opened; other work of the machine is not in them."""
        metrics = {each["name"]: each["value"] for each in self.send("Performance.getMetrics")["metrics"]}
        return metrics["TaskDuration"]

    def complaints(self):
        """What the browser wrote to its console since the page was opened."""
        self.evaluate("0")  # all events before the answer have come with it
        told = []
        for event in self.events:
            parameters = event["params"]
            if event["method"] == "Log.entryAdded":
                told.append(parameters["entry"]["text"])
            elif event["method"] == "Runtime.consoleAPICalled":
                told.append(json.dumps(parameters["args"]))
            elif event["method"] == "Runtime.exceptionThrown":
                told.append(parameters["exceptionDetails"]["text"])
        return told

    def requests(self):
        """Addresses asked for since the page was opened, its own first."""
        self.evaluate("0")
        return [event["params"]["request"]["url"] for event in self.events
                if event["method"] == "Network.requestWillBeSent"]

    def screenshot(self, path):
        """All of the page, however long."""
        picture = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))

    def print_to(self, path):
        """As on paper, a PDF."""
        pages = self.send("Page.printToPDF", printBackground=False)
        with open(path, "wb") as file:
            file.write(base64.b64decode(pages["data"]))
