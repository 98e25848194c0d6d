"""What the pages do not say by hand: claims with their verdicts, the gallery, measured speeds, where an equation lives.

A page asks with a comment, <!-- claims -->, and gets markdown. Verdicts and pictures are those of `make reproduce`,
which `make docs` runs first; without them a page says so. Nothing here needs Sphinx.
"""

import json
import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import measured

ROOT = Path(__file__).parents[1]
OUT = Path(os.environ.get("TOKENFLOCK_OUT", ROOT / "out"))
RESULTS = ROOT / "benchmarks" / "results"
#: the first part of a claim's name -> the key of its paper in `tokenflock.citations`
PAPERS = {
    "causal": "A",
    "emergence": "B",
    "perspective": "C",
    "metastability": "D",
    "meanfield": "E",
    "normalization": "F",
}


def text(words):
    """Words with formulas as markdown that shows exactly them."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", words)


def made(kind, name):
    """What `make reproduce` wrote about a claim or figure, {} if it did not."""
    path = OUT / kind / f"{name.replace('/', '-')}.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        return {}


def picture(kind, name, told):
    """A picture in a page, as a path that Sphinx reads; nothing if there is none."""
    path = OUT / kind / f"{name.replace('/', '-')}.png"
    return [f"![{text(told)}]({os.path.relpath(path, ROOT / 'docs')})", ""] if path.is_file() else []


def papers(names):
    """(heading lines, the names below it) a paper."""
    from tokenflock import citations

    groups = {}
    for name in names:
        groups.setdefault(name.partition("/")[0], []).append(name)
    for paper, inside in groups.items():
        found = citations.REFERENCES.get(PAPERS.get(paper, ""))
        title = found.fields["title"].translate({ord(c): None for c in "{}"}) if found else paper
        where = f", [arXiv:{found.fields['eprint']}]({found.fields['url']})" if found else ""
        yield [f"## {text(paper)}", "", f"{text(title)}{where}.", ""], inside


def verdict(name):
    """The verdict of the build as markdown lines."""
    found = made("claims", name)
    if not found:
        return []
    word, tight = found["verdict"], found.get("tightest") or {}
    measured = tight.get("measured")
    number = f"; measured {measured:.3g} in the tightest case" if isinstance(measured, int | float) else ""
    trials = f" in {found['trials']:,} trials" if found.get("trials") else ""
    return [f"**{text(word)}**{trials}{number} ({found['wall_s']:.0f} s, quick size, when this site was built).", ""]


def claims():
    """Every claim: what it states, needs, tries, by which rule it is judged, and how it came out."""
    from tokenflock import claims

    lines = []
    for head, names in papers(claims.NAMES):
        lines += head
        for name in names:
            claim = claims.find(name)
            lines += [f"### {text(name)}", "", f"*{text(claim.kind)}.* {text(claim.statement)}", "", *verdict(name)]
            parts = {
                "Needs": "; ".join(claim.hypotheses),
                "A trial": claim.trial,
                "Measured": claim.measured,
                "Rule": claim.rule,
                "Correction of the print": claim.erratum,
                "Known to fail": claim.known,
            }
            lines += [f"- **{word}.** {text(said)}" for word, said in parts.items() if said]
            sizes = ", ".join(f"`{size}={value!r}`" for size, value in claim.sizes.items())
            lines += [f"- **Sizes.** {sizes}", "", *picture("claims", name, f"What was measured for {name}")]
            lines += ["```bash", f"tokenflock check {name}", "```", ""]
    return lines


def figures():
    """Every figure, with its caption and its command."""
    from tokenflock import figures

    lines = []
    for head, names in papers(figures.NAMES):
        lines += head
        for name in names:
            caption = made("figures", name).get("caption", "")
            shown = picture("figures", name, f"Figure {name}") or ["*Not drawn: run `make reproduce` first.*", ""]
            lines += [f"### {text(name)}", "", *shown, text(caption), ""]
            lines += ["```bash", f"tokenflock figure {name} --out figures", "```", ""]
    return lines


def film(stem):
    """A figure in motion, made once."""
    from tokenflock import figures

    path = ROOT / "docs" / "made" / f"{stem}.gif"
    if not path.is_file():
        path.parent.mkdir(exist_ok=True)
        figures.animate(stem.replace("_", "/"), path, quick=True)
    return [f"![{text(stem)} in motion](made/{path.name})"]


def grid(rows):
    """Rows of numbers and words as a table; columns in the order in which they first appear."""
    heads = list(dict.fromkeys(key for row in rows for key, value in row.items() if value not in ("", None)))

    def cell(value):
        if isinstance(value, float):
            return f"{value:.4g}"
        return text(json.dumps(value) if isinstance(value, list | dict) else str(value)).replace("\n", " ")

    body = ["| " + " | ".join(cell(row.get(h, "")) for h in heads) + " |" for row in rows]
    return ["| " + " | ".join(text(h) for h in heads) + " |", "|" + "---|" * len(heads), *body, ""]


def benchmarks():
    """Everything in benchmarks/results, newest first: the command, the machine, the plot, the rows."""
    lines = []
    for stem in sorted({path.stem for path in RESULTS.iterdir() if path.is_file()}, reverse=True):
        day, _, about = stem[:10], stem[10:11], stem[11:]
        lines += [f"### {text(about)}, {day}", ""]
        found = {suffix: RESULTS / f"{stem}{suffix}" for suffix in (".png", ".txt", ".json")}
        if found[".png"].is_file():
            lines += [f"![{text(about)}]({os.path.relpath(found['.png'], ROOT / 'docs')})", ""]
        if found[".txt"].is_file():  # the same numbers as in the .json, laid out by whoever measured them
            lines += ["```text", found[".txt"].read_text().rstrip(), "```", ""]
        elif found[".json"].is_file():
            data = json.loads(found[".json"].read_text())
            machine = ", ".join(f"{k} {v}" for k, v in data.get("machine", {}).items() if not isinstance(v, dict))
            lines += ["```text", f"$ {data.get('command', '')}", machine, "```", "", *grid(data.get("rows", []))]
    return lines


def summary():
    """The picture of all rows, made anew: it takes a second."""
    from chart import draw

    path = ROOT / "docs" / "made" / "benchmarks.png"
    path.parent.mkdir(exist_ok=True)
    draw(path)
    return [f"![Every row beside its best peer or its limit, and what it aims at](made/{path.name})"]


def where(tag):
    """Every file of the package that quotes an equation."""
    folder = ROOT / "src" / "tokenflock"
    quoting = [p for p in sorted(folder.rglob("*.py")) if f"({tag})" in p.read_text(encoding="utf-8")]
    return ["*Quoted in* " + ", ".join(f"`{p.relative_to(folder).as_posix()}`" for p in quoting) + "."]


PAGES = {
    "claims": claims,
    "figures": figures,
    "film": film,
    "benchmarks": benchmarks,
    "summary": summary,
    "cost": measured.cost,
    "speed": measured.speed,
    "gpu": measured.gpu,
    "steps": measured.steps,
    "accuracy": measured.accuracy,
    "where": where,
}


def fill(source):
    """A page with its comments answered."""
    return re.sub(
        rf"<!-- ({'|'.join(PAGES)})(?: (\w+))? -->",
        lambda asked: "\n".join(PAGES[asked[1]](*([asked[2]] if asked[2] else []))),
        source,
    )
