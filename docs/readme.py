"""Write the tables of README from benchmarks/results: `make readme`. A test fails where README says otherwise.

python docs/readme.py              write them
python docs/readme.py --keep out   first keep the verdicts of a quick `tokenflock reproduce --out out`
"""

import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import measured

README = measured.ROOT / "README.md"
TABLES = {
    "steps": measured.steps,
    "verdicts": measured.verdicts,
    "gpu": measured.gpu,
    "speed": measured.speed,
    "accuracy": measured.accuracy,
}
KEPT = ("verdict", "holds", "trials", "undecided", "tightest")


def filled(text):
    """README with its tables made anew."""
    for name, made in TABLES.items():
        begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        assert text.count(begin) == text.count(end) == 1, f"README.md needs {begin} and {end}, once each"
        table = "\n".join([begin, "", *made(), "", end])
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
    README.write_text(filled(README.read_text(encoding="utf-8")), encoding="utf-8")
