"""Write what pages of the repository hold and nobody types: `make readme`. A test fails where a page says otherwise.

The tables of README come from benchmarks/results; the lists of docs/api.md, docs/claims.md and docs/figures.md from the
package, for readers of the repository (the site has more in their place).

python docs/readme.py              write them
python docs/readme.py --keep out   first keep the verdicts of a quick `tokenflock reproduce --out out`
"""

import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import gallery
import generated
import measured
import topics

README = {
    "steps": measured.steps,
    "verdicts": measured.verdicts,
    "gpu": measured.gpu,
    "speed": measured.speed,
    "accuracy": measured.accuracy,
}
KEPT = ("verdict", "holds", "trials", "undecided", "tightest")


#: page -> its tables and lists, by the comments between which they stand
PAGES = {
    "README.md": README,
    "docs/api.md": {"topics": topics.listed},
    "docs/claims.md": {"claims": generated.stated},
    "docs/figures.md": {"figures": gallery.listed},
}


def filled(page, text):
    """A page with its tables and lists made anew."""
    for name, made in PAGES[page].items():
        begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        assert text.count(begin) == text.count(end) == 1, f"{page} needs {begin} and {end}, once each"
        table = "\n".join([begin, "", *made(), "", end]).replace("\n\n\n", "\n\n")
        text = re.sub(f"{begin}.*?{end}", lambda _, table=table: table, text, flags=re.DOTALL)
    return text


def keep(out):
    """The verdicts of a quick reproduce, in benchmarks/results/claims."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((out / "claims").glob("*.json"))]
    if not found or not all(claim["quick"] for claim in found):
        raise SystemExit(f"{out} holds no verdicts of a quick reproduce. Run: tokenflock reproduce --quick --out {out}")
    told = {claim["name"]: {key: claim[key] for key in KEPT} for claim in found}
    target = measured.RESULTS / "claims" / "verdicts.json"
    target.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--keep"]:
        keep(Path(sys.argv[2]))
    for page in PAGES:
        path = measured.ROOT / page
        path.write_text(filled(page, path.read_text(encoding="utf-8")), encoding="utf-8")
