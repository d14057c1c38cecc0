"""The paper as a PDF, for reading: `make paper`. The journal makes its own from paper.md and paper.bib."""

from pathlib import Path

import pypandoc
import typst

HERE = Path(__file__).parent
#: the page of typst's own style is without margins and numbers
STYLE = """#set page(paper: "a4", margin: 2.4cm, numbering: "1")
#set par(justify: true)
#set text(size: 10.5pt)
#show heading: set block(above: 1.2em, below: 0.7em)
"""


def main() -> Path:
    options = [
        "--citeproc",
        f"--bibliography={HERE / 'paper.bib'}",
        "--standalone",
        "--metadata=author:The nonstick developers",
        f"--resource-path={HERE}",
    ]
    text = pypandoc.convert_file(str(HERE / "paper.md"), "typst", format="markdown", extra_args=options)
    source, out = HERE / "paper.typ", HERE / "paper.pdf"
    source.write_text(STYLE + text, encoding="utf-8")
    typst.compile(str(source), output=str(out), root=str(HERE.parent))
    source.unlink()
    return out


if __name__ == "__main__":
    print(f"the paper is {main()}")
