"""What the pages do not say by hand: claims with their verdicts, the gallery, measured speeds, where an equation lives.

A page asks with a comment, <!-- claims -->, and gets markdown. Verdicts and pictures are those of `make reproduce`,
which `make docs` runs first; without them a page says so. The gallery is made by gallery.py, public names by topic by
topics.py. Nothing here needs Sphinx.
"""

import json
import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import entrance
import gallery
import host
import measured
import own
import statements
import topics
from pieces import ROOT, drawn, made, papers, picture, spoken, text

RESULTS = ROOT / "benchmarks" / "results"


def many(trials):
    """A number of trials in words."""
    return f"{trials:,} trial{'s' * (trials != 1)}"


def tightest(found):
    """What was measured where it was closest, and what it is held against; nothing where all of it is proved."""
    tight = found.get("tightest") or {}
    if found["verdict"].startswith("proved") or not tight.get("shown"):
        return ""
    words = f"; measured {tight['shown'].replace('[', chr(92) + '[').replace(']', chr(92) + ']')}"
    if tight.get("against"):
        words += f" ({text(tight['against'])})"
    return f"{words} in the tightest case" + (f": {text(tight['case'])}" if tight.get("case") else "")


def verdict(name):
    """The verdict of the build as markdown lines."""
    found = made("claims", name)
    if not found:
        return []
    word, _, where = found["verdict"].partition(" ")
    proved = text(f" {where}; tried besides") if where else ""
    trials = f" in {many(found['trials'])}" if found.get("trials") else ""
    undecided = f", {found['undecided']} of them undecided" if found.get("undecided") else ""
    took = f"{max(found['wall_s'], 1):.0f} s"
    remark = f" {text(found['remark'])}" if found.get("remark") else ""
    return [f"**{text(word)}**{proved}{trials}{undecided}{tightest(found)} ({took}).{remark}", ""]


def overview(names):
    """A paper's claims in a table: the verdicts at a glance, and a way to each."""
    from tokenflock.papers import claims

    rows = []
    for name in names:
        found = made("claims", name)
        anchor = re.sub(r"[^\w-]", "", name)  # as MyST makes it of the heading
        word = found.get("verdict", "not checked").partition(" ")[0] if found else "not checked"
        trials = f"{found.get('trials', 0):,}" if found else ""
        shown = word if found.get("holds", True) else f"**{word}**"
        undecided = str(found.get("undecided", ""))
        rows.append([f"[{text(name)}](#{anchor})", shown, claims.find(name).kind, trials, undecided])
    return [*measured.table(["claim", "verdict", "kind", "trials", "undecided"], rows), ""]


def seen(findings, rules):
    """The case of these rules that sees least, in words; nothing if there is none."""
    found = [f for f in findings if f["rule"] in rules and f["detects"]]
    if not found:
        return ""
    least = max(found, key=lambda f: f["detects"] / (abs(f["bound"]) if f["rule"] == "mean" and f["bound"] else 1))
    what = f" of {least['bound']:.3g}" if least["rule"] != "always" else ""
    return f"{least['detects']:.2g}{what} ({text(least['case'])})"


def power():
    """For every claim the smallest violation that its quick size refutes with 95 %: declared, and as it was made."""
    from tokenflock.papers import claims

    rows = []
    for name in claims.NAMES:
        claim, found = claims.find(name), made("claims", name).get("findings", [])
        least = claim.detects(quick=True)
        declared = f"{least:.3g} standard errors" if claim.kind == "estimate" else f"{least:.2g}"
        rows.append(
            [
                text(name),
                str(claim.parameters(True)["trials"]),
                declared,
                seen(found, ("always",)),
                seen(found, ("mean", "share")),
            ]
        )
    heads = ["claim", "quick trials a case", "declared", "made: share of failures", "made: shift of a mean or share"]
    return [*measured.table(heads, rows), ""]


def sized(values):
    """Sizes as keywords."""
    return ", ".join(f"`{size}={value!r}`" for size, value in values.items())


def claims():
    """Every claim: what it states, needs, tries, by which rule it is judged, and how it came out."""
    from tokenflock.papers import claims

    lines = []
    for head, names in papers(claims.NAMES):
        lines += [*head, *overview(names)]
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
            lines += [f"- **{word}.** {spoken(said)}" for word, said in parts.items() if said]
            quick = f"; quick: {sized(claim.quick)}" if claim.quick else ""
            lines += [f"- **Sizes.** {sized(claim.sizes)}{quick}", ""]
            lines += picture(drawn("claims", name), f"What was measured for {name}")
            lines += ["```bash", f"tokenflock check {name}", "```", ""]
    return lines


def stated():
    """Every claim with its statement and its verdict at the quick size, for readers of the repository."""
    from tokenflock.papers import claims

    kept, lines = measured.stored("verdicts"), []
    for head, names in papers(claims.NAMES):
        rows = []
        for name in names:
            word = kept.get(name, {}).get("verdict", "").partition(" ")[0]
            shown = word if kept.get(name, {}).get("holds", True) else f"**{word}**"
            rows.append([f"`{name}`", text(claims.find(name).statement), shown])
        lines += [*head, *measured.table(["claim", "statement", "quick verdict"], rows), ""]
    return lines


def checks(name):
    """What checks a statement, with a way to it, and the verdict of the build if it is a claim."""
    kind, _, rest = name.partition(" ")
    if kind == "study":
        return f"[study {text(rest)}](studies.md#{rest})"
    if kind == "figure":
        return f"[figure {text(rest)}](gallery/{gallery.stem(rest)}.md)"
    found = made("claims", name).get("verdict", "").partition(" ")[0]
    return f"[{text(name)}](claims.md#{re.sub(r'[^a-z0-9-]', '', name)})" + (f": {text(found)}" if found else "")


def rows():
    """The statements of every paper, and the claims that belong to none of them."""
    from tokenflock.papers import citations, claims

    lines, known = [], {}
    for paper, table in statements.PAPERS.items():
        found = citations.REFERENCES[paper].fields
        title = text(found["title"].translate({ord(c): None for c in "{}"}))
        lines += [f"## Paper {paper}", "", f"{title}, [arXiv:{found['eprint']}]({found['url']}).", ""]
        body = []
        for row in table:
            known |= dict.fromkeys(row.names)
            words = ", ".join(filter(None, (row.where, row.what)))
            state = row.state if row.names else "**none**"
            body.append([text(words), state, "; ".join(map(checks, row.names)), spoken(row.missing)])
        lines += [*measured.table(["statement", "state", "by", "missing"], body), ""]
    ours = [name for name in claims.NAMES if name not in known]
    if ours:
        lines += ["## Claims of our own", "", ", ".join(map(checks, ours)) + ".", ""]
    return lines


def result(kind, name):
    """The picture of a claim or of a figure, as `make reproduce` drew it."""
    return picture(drawn(kind, name), f"What was measured for {name}")


def merges():
    """The tree of merges and the staircase of the run that a page speaks of, made anew: some seconds."""
    from matplotlib.figure import Figure

    import tokenflock as flock
    from tokenflock import dendrogram, plot

    path = ROOT / "docs" / "made" / "merges.png"
    path.parent.mkdir(exist_ok=True)
    merges = flock.merge_tree(flock.Model(dim=2, beta=64.0), flock.uniform(n_tokens=200, dim=2, seed=0))
    with plot.style():
        figure = Figure(figsize=(plot.PAGE, 4.4), dpi=plot.DPI, layout="constrained")
        tree, stairs = figure.subplots(2, height_ratios=(3, 2))
        dendrogram.draw(tree, merges, since=10.0)
        dendrogram.staircase(stairs, merges)
        stairs.set_xlim(tree.get_xlim())
        figure.savefig(path)
    return picture(path, "Above a line for every cluster, up to the one it merges into; below the energy, a staircase")


def needs():
    """What is needed, from pyproject.toml: always, and by each extra."""
    told = {"always": host.PROJECT["dependencies"], **host.PROJECT["optional-dependencies"]}
    rows = [[f"`{extra}`" if extra != "always" else extra, text(", ".join(asked))] for extra, asked in told.items()]
    python = f"Python {host.PROJECT['requires-python']}."
    return [python, "", *measured.table(["extra", "needs"], rows), ""]


def changelog():
    """CHANGELOG.md below a heading of the page."""
    words = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").partition("\n")[2]
    return [re.sub(r"^#", "##", words, flags=re.MULTILINE)]


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
    "power": power,
    "figures": gallery.cards,
    "film": gallery.film,
    "topics": topics.cards,
    "live": entrance.window,
    "needs": needs,
    "changelog": changelog,
    "picture": result,
    "rows": rows,
    "merges": merges,
    "own": own.own,
    "benchmarks": benchmarks,
    "summary": summary,
    "cost": measured.cost,
    "speed": measured.speed,
    "gpu": measured.gpu,
    "steps": measured.steps,
    "accuracy": measured.accuracy,
    "where": where,
}


ASKED = re.compile(rf"<!-- ({'|'.join(PAGES)})((?: [\w/.-]+)*) -->")


def fill(source):
    """A page with its comments answered. What stands between <!-- name --> and <!-- /name --> is for readers of the
    repository (docs/readme.py writes it): here the site's own stands in its place."""
    source = re.sub(r"(<!-- (\w+) -->).*?<!-- /\2 -->", r"\1", source, flags=re.DOTALL)
    return ASKED.sub(lambda asked: "\n".join(PAGES[asked[1]](*asked[2].split())), source)
