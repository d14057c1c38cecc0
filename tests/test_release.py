"""What a release consists of: one version, a changelog in its form."""

import re
from pathlib import Path
from zipfile import ZipFile

import pytest

import nonstick

ROOT = Path(__file__).parents[1]
CHANGES = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_version_is_the_same_everywhere():
    newest = re.search(r"^## (\S+)", CHANGES, re.MULTILINE)
    cited = re.search(r"^version: (\S+)", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest and newest[1] == nonstick.__version__
    assert cited and cited[1] == nonstick.__version__


@pytest.mark.parametrize(
    "version", re.split(r"^## ", CHANGES, flags=re.MULTILINE)[1:], ids=lambda text: text.split()[0]
)
def test_changes_are_in_the_form_of_keep_a_changelog(version):
    kinds = re.findall(r"^### (.+)$", version, re.MULTILINE)
    assert kinds == [
        kind for kind in ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security") if kind in kinds
    ]
    for item in re.split(r"^- ", version, flags=re.MULTILINE)[1:]:
        assert "\n" not in re.split(r"\n(?:\n|#|$)", item)[0], f"an item is one line: {item}"


def test_the_wheel_holds_the_package_its_licence_and_nothing_else(tmp_path):
    wheel = pytest.importorskip("hatchling.builders.wheel", reason="hatchling comes with the group `checks`")
    (made,) = wheel.WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    names = set(ZipFile(made).namelist())
    about = f"nonstick-{nonstick.__version__}.dist-info"
    assert {name.split("/")[0] for name in names} == {"nonstick", about}
    assert {f"{about}/licenses/LICENSE", "nonstick/py.typed", "nonstick/scenes/builtin/circle.toml"} <= names
    assert not any(part in name for name in names for part in ("test_", "__pycache__", ".nbi", ".nbc"))


def test_the_paper_has_its_references_and_figures():
    text = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")
    known = re.findall(r"^@\w+\{(\w+),", (ROOT / "paper" / "paper.bib").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(re.findall(r"@(\w+)", text)) == set(known)
    assert all((ROOT / "paper" / file).is_file() for file in re.findall(r"\]\((\S+?)\)", text))
    assert 250 < len(text.split("# References")[0].split()) < 1750


def test_actions_are_pinned_by_hash_and_say_their_version():
    for file in (ROOT / ".github" / "workflows").glob("*.yml"):
        for use in re.findall(r"uses: (.+)", file.read_text(encoding="utf-8")):
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use), f"{file.name}: {use}"
