"""Texts in any encoding, on terminals of any encoding: file names, scene files, numbers and words of the command line.

A command answers in the encoding of its terminal, with exit code 0 or 2, and a mistake is one sentence.
"""

import io
import os
import random
import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest
from bounds import answered, none_broke, seeds

from nonstick import Scene
from nonstick.cli import main
from nonstick.sim.run.loop import run

#: what a terminal or a pipe may be
STREAMS = ["ascii", "latin-1", "cp1252", "cp437", "koi8-r", "shift_jis", "gb18030", "big5", "utf-8", "utf-16", "utf-7"]
#: how a file may be written
FILES = [*["utf-8"] * 9, "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "shift_jis", "utf-7"]
LETTERS = ["a", "Z", "0", " ", "é", "ß", "ÿ", "Ω", "я", "水", "ﬁ", "½", "−", "ᵀ", "\u0301", "\u202e", "\u200b",
           "\U0001f30a", "[bold]", "[/]", "{}", "%s", "$", "'", ":", "-", "_", "\ufffd"]  # fmt: skip
HOSTILE = [*LETTERS, "\ufeff", "\udc80", "\udcff", "\x7f", "\x9b", "\x1b[2J", "\r", "\n", "\t", "\0", '"', "\\", "#",
           "[", "]", "/", "..", "=", ".", "\u2028", "\x85"]  # fmt: skip
SCENE = """name = "{name}"
# {comment}
[domain]
size = [1.0, 1.0]
resolution = 8
[time]
frames = 1
[[liquid]]
shape = {{ type = "{shape}", low = [0.0, 0.0], high = [1.0, 0.4] }}
[[solid]]
name = "{solid}"
shape = {{ type = "box", low = [0.4, 0.0], high = [0.6, 0.4] }}
{more}
"""
MARKET = "%%MatrixMarket matrix coordinate real symmetric\n%{comment}\n2 2 3\n1 1 2.0\n2 1 {number}\n2 2 2.0\n"


def text(rng, most=6):
    return "".join(rng.choices(rng.choice([LETTERS, LETTERS, HOSTILE]), k=rng.randrange(most)))


def escaped(word):
    """As a string of TOML, mostly."""
    return (
        word.replace("\\", "\\\\")
        .replace('"', '\\"')
        .replace("\n", "\\n")
        .replace("\x1b", "\\u001b")
        .replace("\0", "\\u0000")
    )


def write(rng, path, content):
    """A file in some encoding; what does not exist there, and some bytes, are changed."""
    coding = rng.choice(FILES)
    data = bytearray(content.encode(coding, errors="surrogateescape" if coding == "utf-8" else "replace"))
    if not rng.randrange(4):
        for _ in range(rng.choice([1, 5])):
            data.insert(rng.randrange(len(data) + 1), rng.randrange(256))
    path.write_bytes(bytes(data))


def file_name(rng, ending):
    """A name that this system can have."""
    word = "".join(c for c in text(rng) if c not in "/\0")
    return f"x{word}{ending}"


def words_of(rng, folder, made):
    """A command line; its files are in `folder`."""
    kind = rng.randrange(8)
    if kind < 3:
        path = folder / file_name(rng, ".toml")
        parts = {key: escaped(text(rng)) for key in ("name", "comment", "solid")}
        parts |= {"shape": rng.choice(["box", "box", "box", escaped(text(rng))])}
        parts |= {"more": rng.choice(["", "", "", "", escaped(text(rng)), f'"{escaped(text(rng))}" = 1'])}
        write(rng, path, SCENE.format(**parts))
        change = rng.choice([[], [], ["--set", f"{text(rng)}={text(rng)}"], ["--set", f"name={text(rng)}"]])
        return [rng.choice(["check", "check", "info", "resume"]), str(path), *change][: 2 if kind == 2 else None]
    if kind == 3:
        path = folder / file_name(rng, rng.choice([".mtx", ".mtx", ".mtx", ".txt", ".npz"]))
        number = rng.choice(["-1.0", "-1.0", "-1.0", "-1,0", "−1.0", "１", "nan", text(rng)])
        made_of = rng.choice([MARKET.format(comment=text(rng), number=number), f"1.0 {number}\n{text(rng)}"])
        write(rng, path, made_of)
        return ["solve", str(path), *rng.choice([[], ["--json", "-"], ["--json", "-"], ["--method", text(rng)]])]
    if kind == 4:
        own = folder / file_name(rng, "")
        shutil.copytree(made, own)
        victim = rng.choice(
            [p for p in own.rglob("*") if p.is_file() and p.suffix in (".toml", ".json", ".csv", ".jsonl")]
        )
        old = victim.read_text(encoding="utf-8")
        where = rng.randrange(len(old))
        write(rng, victim, old[:where] + text(rng) + old[where + rng.randrange(3) :])
        return rng.choice([["info", str(own)], ["info", str(own), "--json"], ["export", str(own), "--to", "ply"]])
    if kind == 5:
        out = folder / file_name(rng, "")
        return rng.choice([["info", str(made), "--plot"], ["export", str(made), "--to", "obj", "--out", str(out)]])
    if kind == 6:
        return ["new", str(folder / file_name(rng, ".toml"))]
    return [*rng.choice([["scenes"], ["methods"], ["cases"], ["run"], ["check"], ["bench"], ["render"], []]), text(rng)]


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    path = tmp_path_factory.mktemp("sound") / "run"
    return run(Scene.load("sphere", {"domain.resolution": 8, "time.frames": 1, "name": "Größe ×"}), path).path


def asked(words, coding):
    """Exit code and the texts of a command on a terminal of this encoding."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding=coding, write_through=True) for _ in range(2)]
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = streams
    try:
        main(words)
    except SystemExit as leave:
        code = leave.code or 0
    finally:
        sys.stdout, sys.stderr = before
    return code, *(stream.buffer.getvalue().decode(coding) for stream in streams)


@pytest.mark.filterwarnings("ignore")
def test_any_text_on_any_terminal(sound, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    tried = Counter()
    for seed in seeds(60):
        rng, folder = random.Random(seed), tmp_path / str(seed)
        folder.mkdir()
        monkeypatch.chdir(folder)
        words, coding = words_of(rng, folder, sound), rng.choice(STREAMS)
        with answered(seed, f"{words!a} {coding}"):
            code, out, err = asked(words, coding)
            tried[words[0] if words[0].isalpha() else "none", code] += 1
            assert code in (0, 2), (words, code)
            assert "Traceback" not in err and "\x1b" not in out + err, (words, out, err)
            said = [line for line in err.splitlines() if line.startswith("nonstick: ")]
            assert code == 0 or "─ Error" in err or "- Error" in err or "Error" in err or len(said) == 1, (
                words,
                out,
                err,
            )
        monkeypatch.chdir(tmp_path)
        shutil.rmtree(os.fsencode(folder), ignore_errors=True)
    assert not list(Path(sound).rglob("*.partial*"))
    print(dict(tried))
    none_broke()
