"""The page of a run while it is open: a viser server, controls, and a thread that draws the requested frame.

One thread does everything that takes time. Controls only record what is wanted, and the thread reads the run directory,
advances the clock, draws what is missing, and shows it. When there is nothing to do, it draws the next frames ahead, as
long as a browser shows the page and no run is followed. After every frame the thread waits until the browsers have
received it: a run that makes frames faster than a browser shows them does not flood it, and a page that follows the run
continues with the last frame there is by then. Frames stay in the browser up to a size and a number; those farthest
from the current frame are removed first.
"""

from __future__ import annotations

import contextlib
import io
import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

from ...core.optional import need
from ...errors import NonstickError
from ...files.formats import Shot
from .artist import COLOURS, Artist, legend, scales
from .gate import HOST, Gate
from .stage import PARTS, stages

#: bytes of frames that a browser holds, and frames of a run
LARGEST, MOST = 300_000_000, 400
#: seconds between two looks at the run directory, and between two turns of the clock
LOOK, TURN = 0.5, 0.02
#: frames that are drawn ahead: fewer than half of those that a browser holds, or the next would push out each other
AHEAD = 150
#: seconds that a browser has to load a frame before it is shown
LOADING = 0.04


class LivePage:
    """The page of one or two runs, also while they are still going.

    Parameters
    ----------
    runs : sequence of str or Path
        One or two run directories. The first has the time line; the second shows its frame of the same time.
    port : int
        Where the page is; if that port is taken, the next free one. 0 is any free port.
    colour : str
        What colours show at first.

    Examples
    --------
    >>> with LivePage(["runs/sphere"]) as page:       # doctest: +SKIP
    ...     print(page.url)
    ...     page.wait()
    """

    def __init__(self, runs: Sequence[str | Path], port: int = 8080, colour: str = "liquid"):
        self.artists = [Artist(Shot(path), colour=colour) for path in runs]
        self.player = Player(self.artists[0].shot.fps)
        self._port = port
        self._colour = self._painted = colour
        self._end = Event()
        #: of every run: its frames and when they were written; frames that cannot be drawn, and why
        self._stamps: list[dict[int, int]] = [{} for _ in self.artists]
        self._failed: dict[tuple[int, int], str] = {}

    def __enter__(self) -> LivePage:
        self.gate = Gate()
        self._serving = serving(self._port, "nonstick", self.gate)
        self.server = self._serving.__enter__()
        try:
            self.stages = stages(self.server.scene, self.artists, self.server.initial_camera)
            self._look()
            self._controls()
        except BaseException:
            self._serving.__exit__(None, None, None)
            raise
        self._thread = Thread(target=self._work, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()
        self._serving.__exit__(None, None, None)

    @property
    def url(self) -> str:
        """Address of the page. Whoever has it sees the run."""
        return f"http://{HOST}:{self.server.get_port()}/{self.gate.token}/"

    @property
    def ticket(self) -> str:
        """An address that leads to the page once: others may see the words that a browser is started with."""
        return f"http://{HOST}:{self.server.get_port()}/{self.gate.ticket}"

    def wait(self) -> None:
        """Stay until Ctrl-C."""
        while not self._end.wait(0.5):
            pass

    # -- controls -------------------------------------------------------------------------------------

    def _controls(self) -> None:
        gui, player = self.server.gui, self.player
        gui.configure_theme(show_logo=False, show_share_button=False)
        gui.main_panel.dock_right()
        self._play = gui.add_button("Play")
        self._slider = gui.add_slider("Frame", 0, 1, 1, 0)
        self._buttons = gui.add_button_group("Step", ("first", "−1", "+1", "last"))
        speed = gui.add_dropdown("Speed", ("0.1×", "0.25×", "0.5×", "1×", "2×"), initial_value="1×")
        self._follow = gui.add_checkbox("Follow the run", player.follow, hint="go to every new frame as it is made")
        self._text = gui.add_markdown("")
        for part, on in PARTS.items():
            if any(part in stage.parts for stage in self.stages):
                box = gui.add_checkbox(part.capitalize(), on)
                box.on_update(lambda event, part=part: self._switch(part, bool(event.target.value)))
        paint = gui.add_dropdown("Colour", self._choices(), initial_value=self._colour)
        self._legend = gui.add_html("")

        self._play.on_click(lambda _: self._toggle())
        self._buttons.on_click(lambda event: self._step(event.target.value))
        speed.on_update(lambda event: setattr(player, "speed", float(event.target.value.rstrip("×"))))
        paint.on_update(lambda event: setattr(self, "_colour", event.target.value))
        self._follow.on_update(lambda event: setattr(player, "follow", bool(event.target.value)))
        # the thread moves the slider too; then there is no client
        self._slider.on_update(lambda event: player.go(int(event.target.value)) if event.client is not None else None)

    def _choices(self) -> tuple[str, ...]:
        """What colours can show: what the last frame of a run holds."""
        found = {"liquid", self._colour}
        for artist in self.artists:
            if artist.shot.frames:
                found |= scales(artist.shot, artist.shot.frame(artist.shot.frames[-1])).keys()
        return tuple(c for c in COLOURS if c in found)

    def _toggle(self) -> None:
        self.player.playing = not self.player.playing

    def _step(self, way: str) -> None:
        frames = self.player.frames
        if way in ("first", "last"):
            self.player.go(frames[0 if way == "first" else -1] if frames else 0)
        else:
            self.player.step(1 if way == "+1" else -1)

    def _switch(self, part: str, on: bool) -> None:
        for stage in self.stages:
            stage.switch(part, on)

    # -- the thread -----------------------------------------------------------------------------------

    def _work(self) -> None:
        looked = clock = time.monotonic()
        while not self._end.wait(TURN):
            now = time.monotonic()
            if now - looked > LOOK:
                self._look()
                looked = now
            self.player.tick(now - clock)
            clock = now
            if self._painted != self._colour:
                self._repaint()
            if self._show(self.player.number) or (self._idle() and self._draw_ahead()):
                wait_for_browsers(self.server)
            clock = max(clock, time.monotonic() - 2 * TURN)  # no frame is skipped because one took long to draw
            self._tell()

    def _look(self) -> None:
        """Which frames there are now; those that were made again are forgotten."""
        for k, artist in enumerate(self.artists):
            stamps = _stamps(artist.shot)
            for number, stamp in self._stamps[k].items():
                if stamps.get(number) != stamp:
                    artist.forget(number)
                    self.stages[k].drop(number)
                    self._failed.pop((k, number), None)
            self._stamps[k] = stamps
        try:
            self._status = self.artists[0].shot.run.status()
        except (NonstickError, OSError):  # the directory is being replaced, or was deleted
            self._status = "not there any more"
        if not self.player.frames and self._status == "running":
            self.player.follow = True
        self.player.extend(sorted(self._stamps[0]))

    def _wanted(self, number: int) -> list[tuple[int, int]]:
        """Runs, and the frame that each shows together with a frame of the first one."""
        out = [(0, number)] if number in self._stamps[0] else []
        for k, stage in enumerate(self.stages[1:], 1):
            found = at_same_time(sorted(self._stamps[k]), stage.artist.shot.fps, number, self.player.fps)
            out += [] if found is None else [(k, found)]
        return out

    def _show(self, number: int) -> bool:
        """Show a frame, and draw it first if it is not there; False if it is shown already."""
        wanted = self._wanted(number)
        if all(self.stages[k].shown == there for k, there in wanted):
            return False
        fresh = [self._draw(k, there) for k, there in wanted]
        if any(fresh):
            time.sleep(LOADING)
        with self.server.atomic():
            for k, there in wanted:
                self.stages[k].show(there)
        return True

    def _draw(self, k: int, number: int) -> bool:
        """Put a frame into the page; False if it is there, or cannot be drawn."""
        stage = self.stages[k]
        if number in stage.pictures or (k, number) in self._failed:
            return False
        try:
            stage.put(stage.artist.picture(number))
        except Exception as error:  # the page outlives whatever is wrong with a file
            self._failed[k, number] = str(error) or type(error).__name__
            return False
        self._make_room()
        return True

    def _idle(self) -> bool:
        """Is somebody there for whom frames can be drawn ahead? Whoever follows a run sees the newest one next."""
        following = self.player.follow and not self.player.playing and self._status == "running"
        return bool(self.server.get_clients()) and not following

    def _draw_ahead(self) -> bool:
        """Draw one of the next frames, if there is room; False if there is nothing to draw."""
        if self._held() > 0.8 * LARGEST:
            return False
        full = any(len(stage.pictures) >= MOST for stage in self.stages)
        for number in self.player.ahead(AHEAD):
            if full and number < self.player.number:  # the first frames, after the last: the nearer ones stay
                return False
            for k, there in self._wanted(number):
                if self._draw(k, there):
                    return True
        return False

    def _held(self) -> int:
        return sum(p.size for s in self.stages for p in s.pictures.values())

    def _make_room(self) -> None:
        while self._held() > LARGEST or any(len(stage.pictures) > MOST for stage in self.stages):
            stage = max(self.stages, key=lambda s: len(s.pictures))
            far = max(stage.pictures, key=lambda n: abs(n - self.player.number) if n != stage.shown else -1)
            if far == stage.shown:
                return
            stage.drop(far)

    def _repaint(self) -> None:
        """Draw in other colours: what is shown at once, the rest when it is asked for."""
        self._painted = self._colour
        for k, stage in enumerate(self.stages):
            stage.artist.paint(self._painted)
            shown = stage.shown
            for number in list(stage.pictures):
                stage.drop(number)
            if shown is not None:
                self._draw(k, shown)
                stage.show(shown)

    def _tell(self) -> None:
        """The controls show what is so."""
        player, shown = self.player, self.stages[0].shown
        picture = None if shown is None else self.stages[0].pictures.get(shown)
        last = player.frames[-1] if player.frames else 0
        running = self._status == "running"
        _set(self._slider, "max", max(last, 1))
        _set(self._slider, "value", player.number)
        _set(self._play, "label", "Stop" if player.playing else "Play")
        _set(self._follow, "visible", running or player.follow)
        _set(self._follow, "value", player.follow)
        lines = [f"frame {player.number}" + (f", {picture.time:.3f} s" if picture else "")]
        lines += [
            f"running, {last} of {self.artists[0].shot.scene.model.time.frames} frames" if running else self._status
        ]
        if picture:
            counts = {"triangles": picture.triangles, "particles": picture.particles}
            lines += [f"{a} of {b} {word} are shown" for word, (b, a) in counts.items() if a < b]
        lines += [f"**{self._failed[k, n]}**" for k, n in self._wanted(player.number) if (k, n) in self._failed]
        _set(self._text, "content", "  \n".join(lines))
        _set(self._legend, "content", legend(picture.scale if picture else None))


def _stamps(shot: Shot) -> dict[int, int]:
    """The frames of a run, and when their files were written."""
    out = {}
    for number in shot.frames:
        with suppress(OSError):  # it was deleted just now
            out[number] = (shot.run.frames_path / f"{number:06d}.npz").stat().st_mtime_ns
    return out


def _set(handle: Any, name: str, value: Any) -> None:
    """Change a control only if it changes: every change is sent to the browser."""
    if getattr(handle, name) != value:
        setattr(handle, name, value)


class Player:
    """A clock over the frames of a run.

    Parameters
    ----------
    fps : float
        Frames per second of the run.

    Examples
    --------
    >>> player = Player(fps=10.0)
    >>> player.extend([0, 1, 2, 3])
    >>> player.playing = True
    >>> player.tick(0.25), player.number
    (True, 2)
    >>> player.tick(0.25), player.number
    (True, 3)
    >>> player.tick(0.25), player.number        # after the last frame comes the first
    (True, 0)
    """

    def __init__(self, fps: float):
        self.fps = fps
        self.frames: list[int] = []
        self.number = 0
        self.playing = False
        self.follow = False
        self.speed = 1.0
        self._part = 0.0

    def extend(self, frames: Sequence[int]) -> None:
        """The frames there are now; a page that follows goes to the last one."""
        self.frames = list(frames)
        if self.frames and self.follow and not self.playing:
            self.number = self.frames[-1]
        self.number = self.nearest(self.number)

    def nearest(self, number: int) -> int:
        """The last frame there is that is not after a number, or the first one."""
        return self.frames[max(bisect_right(self.frames, number) - 1, 0)] if self.frames else 0

    def go(self, number: int) -> None:
        """Show a frame, and stay there."""
        self.playing = self.follow = False
        self.number, self._part = self.nearest(number), 0.0

    def step(self, by: int) -> None:
        """Some frames forwards or backwards, and stay there; after the last comes the first."""
        if self.frames:
            self.go(self.frames[(bisect_left(self.frames, self.number) + by) % len(self.frames)])

    def tick(self, seconds: float) -> bool:
        """Let time pass; True if another frame is to be shown."""
        if not self.playing or len(self.frames) < 2:
            return False
        self._part += seconds * self.fps * self.speed
        whole = int(self._part)
        self._part -= whole
        before = self.number
        if whole and before >= self.frames[-1]:
            self.number = self.frames[0]
        elif whole:
            self.number = self.nearest(before + whole)
        return self.number != before

    def ahead(self, count: int) -> list[int]:
        """The next frames in the order in which they will be shown."""
        here = bisect_left(self.frames, self.number)
        return [self.frames[(here + k) % len(self.frames)] for k in range(min(count, len(self.frames)))]


def at_same_time(frames: Sequence[int], fps: float, number: int, own_fps: float) -> int | None:
    """The frame of another run that is nearest in time to a frame of this run; None if it has no frames.

    >>> at_same_time([0, 1, 2, 3], 30.0, 4, 60.0)
    2
    """
    return min(frames, key=lambda n: (abs(n / fps - number / own_fps), n)) if frames else None


#: seconds to wait for a browser that does not answer
PATIENCE = 3.0


@contextlib.contextmanager
def serving(port: int = 0, title: str = "nonstick", gate: Gate | None = None) -> Iterator[Any]:
    """A `viser.ViserServer` on this computer; port 0 is any free one, and a port in use gives the next free one.

    Without a gate nobody gets in.
    """
    need("view", "viser", "fast_simplification")
    import viser

    gate = gate or Gate()
    with _quiet(), gate.guarding():
        server = viser.ViserServer(host=HOST, port=port, label=title, verbose=False)
    try:
        if not gate.stands:
            raise NonstickError("this version of viser cannot be guarded, so there is no page: install viser 1.1")
        yield server
    finally:
        with _quiet():
            server.stop()


def wait_for_browsers(server: Any, seconds: float = PATIENCE) -> None:
    """Wait until every browser has taken what was sent to it; at most `seconds` for one that does not answer.

    Browsers handle messages in their order, in the loop that draws: an answer to any question says that what was sent
    before has arrived. The question here is for a value that no page has ever stored.
    """
    server.flush()
    for client in server.get_clients().values():
        with contextlib.suppress(RuntimeError, TimeoutError):  # it was closed, or is busy
            client.local_storage.get_item("nonstick", timeout=seconds)


def _quiet() -> contextlib.AbstractContextManager[Any]:
    return contextlib.redirect_stdout(io.StringIO())
