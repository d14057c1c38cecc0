"""A page in a real Chromium without a screen; WebGL is drawn by the processor (SwiftShader)."""

import io
import shutil
import time
from contextlib import contextmanager

import numpy as np

FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
#: seconds after which a page that does not do what it should counts as broken; a busy computer takes long
PATIENCE = 240.0


def missing() -> str | None:
    """Why there is no browser to test with; None if there is one."""
    if executable() is None:
        return "no Chromium here (Debian: apt install chromium, or make test-clients)"
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "no playwright here (pip install playwright)"
    return None


def executable() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@contextmanager
def opened(width=480, height=300):
    """A window to open tabs in."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable(), args=FLAGS)
        try:
            yield browser.new_context(viewport={"width": width, "height": height})
        finally:
            browser.close()


class Tab:
    """A tab: what its pages complain about, and what they look like."""

    def __init__(self, page):
        self.page = page
        page.set_default_timeout(1000 * PATIENCE)
        self.errors: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))

    def load(self, url: str) -> None:
        """Load a page and wait for its scene; the note on drawing without a graphics card is hidden."""
        self.page.goto(url)
        self.page.wait_for_selector("canvas")
        self.page.add_style_tag(content="[class*=mantine-Notifications-root] { display: none }")

    def picture(self, file=None) -> np.ndarray:
        """The left part of the page, where the scene is and no controls are, as numbers."""
        from PIL import Image

        data = self.page.screenshot()
        if file is not None:
            file.write_bytes(data)
        image = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), int)
        return image[: int(0.8 * len(image)), : image.shape[1] // 2]

    def settled(self) -> np.ndarray:
        """The picture, when it does not change any more and is not empty."""
        end, before = time.monotonic() + PATIENCE, self.picture()
        while time.monotonic() < end:
            self.page.wait_for_timeout(300)
            now = self.picture()
            if (now == before).all() and np.ptp(now) > 60:
                return now
            before = now
        raise AssertionError("the picture does not come to rest, or is empty")

    def changed(self, before: np.ndarray, least: float = 0.002) -> np.ndarray:
        """The picture, when at least a part of its pixels is different."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            now = self.picture()
            if (np.abs(now - before).max(axis=2) > 20).mean() > least:
                return now
            self.page.wait_for_timeout(200)
        raise AssertionError("the picture stays the same")
