"""Every snippet of every page runs as a reader pastes it: a page from its top, in one process, in a folder of its own.

A page says before a block why it, or the commands of it that begin so, is not run by the fast tests:

    <!-- not run (needs a GPU) -->
    <!-- not run (opens a browser): tokenflock explore -->
    <!-- not run (opens a browser): tokenflock explore$ -->    this command alone, not what goes on after it
    <!-- slow: tokenflock check causal/ -->                    run by make test-all
"""

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib
import matplotlib.pyplot
import pytest

from commands import tokenflock
from trained import trained
from waiting import LONG_S

ROOT = Path(__file__).parents[2]
PAGES = {"README": ROOT / "README.md"} | {p.stem: p for p in sorted((ROOT / "docs").glob("*.md"))}
LANGUAGES = {"python", "bash", "toml", "text", "{toctree}", "{eval-rst}"}
COMMAND = re.compile(r"^ *(?:\$ )?(?:tokenflock|make|pip|python|git|cd|npm) ", re.MULTILINE)
#: every reason for which something is not run, and the pages that give it
NOT_RUN = {
    "needs the network": {"README", "index", "quickstart", "networks", "explorer"},
    "takes minutes": {"README", "quickstart", "explorer", "studies"},
    "opens a browser": {"README", "quickstart", "explorer"},
    "needs a cluster": {"many_runs"},
    "in a notebook": {"explorer"},
}
#: what a reader would wait for; the test takes the same line with a smaller number
SMALLER = {"runs=1000": "runs=3", "runs=4000": "runs=400", "replicates=100": "replicates=2", "range(100)": "range(3)"}
SMALLER |= {"n_tokens=1_000_000": "n_tokens=2_500"}
NEEDS = {"gradients": "torch", "networks": "torch"}
WEIGHTS = trained("rxnmapper")


@dataclass
class Block:
    """Fenced lines of a page, and what stands before them about running them."""

    language: str
    line: int
    notes: list[tuple[str, str, str]] = field(default_factory=list)  # (not run or slow, reason, the commands)
    lines: list[str] = field(default_factory=list)

    def note(self, command):
        """(not run or slow, reason), or None: run it."""
        bare = shlex.join(shlex.split(command, comments=True)) + "$" if self.language == "bash" else command
        return next((n[:2] for n in self.notes if bare.startswith(n[2])), None)

    def steps(self):
        """(language, what to run): a whole python block, or one command."""
        code = "\n".join(self.lines)
        if self.language in ("python", "toml"):
            return [(self.language, code)]
        joined = code.replace("\\\n", " ").splitlines()
        return [("bash", line) for line in joined if shlex.split(line, comments=True)]


def blocks(page):
    """All of them, in order."""
    found, notes, inside = [], [], None
    for number, line in enumerate(PAGES[page].read_text(encoding="utf-8").splitlines(), 1):
        fence = re.fullmatch(r"```(\S*)", line)
        if inside is not None:
            if fence:
                inside = None
            else:
                inside.lines.append(line)
        elif fence:
            inside = Block(fence[1], number, notes)
            found.append(inside)
            notes = []
        elif said := re.fullmatch(r"<!-- (not run|slow)(?: \(([^)]+)\))?(?:: (.+))? -->", line):
            notes = [*notes, (said[1], said[2] or "", said[3] or "")]
        elif line:
            notes = []
    return found


def shell(command):
    """A line that a reader types."""
    words = shlex.split(command, comments=True)
    if words[0] == "tokenflock":
        done = tokenflock(*words[1:])
        assert done.exit_code == 0, f"{command}\n{done.output}"
    else:
        assert words[0] == "python", f"{command}: run it, or say before the block why not"
        subprocess.run([sys.executable, *words[1:]], check=True, stdout=subprocess.DEVNULL, timeout=LONG_S)


def lack(page, code):
    """Why this machine cannot run a step."""
    if "weights/" in code and WEIGHTS is None:
        return "no weights/rxnmapper-*.whl: make weights fetches it"
    return ""


def follow(page, folder, slow):
    """Do what a page says, as far as it is to be run."""
    names = {"__name__": "__main__"}
    for block in blocks(page):
        for language, code in block.steps() if block.language in ("python", "bash", "toml") else ():
            note = block.note(code)
            if lack(page, code) or (note and (note[0] == "not run" or not slow)):
                continue
            for large, small in SMALLER.items():
                code = code if slow else code.replace(large, small)
            if language == "python":
                exec(compile("\n" * block.line + code, str(PAGES[page]), "exec"), names)
            elif language == "bash":
                shell(code)
            elif (name := re.match(r"# (\S+\.toml)\n", code)) is not None:
                (folder / name[1]).write_text(code)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where a reader sits: beside the folders of the repository that pages name."""
    for name in ("examples", "benchmarks", "weights"):
        if (ROOT / name).exists():
            os.symlink(ROOT / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    matplotlib.use("Agg")
    yield tmp_path
    matplotlib.pyplot.close("all")


def runs(page, slow):
    """Whether there is anything to do."""
    notes = [block.note(code) for block in blocks(page) for _, code in block.steps() if block.language != "text"]
    kept = [note for note in notes if note is None or note[0] == "slow"]
    return any(note is not None for note in kept) if slow else any(note is None for note in kept)


def prepared(page):
    """Skip what this machine cannot do."""
    if page in NEEDS and importlib.util.find_spec(NEEDS[page]) is None:
        pytest.skip(f"needs {NEEDS[page]}")
    if page == "networks" and WEIGHTS is None:
        pytest.skip("no weights/rxnmapper-*.whl: make weights fetches it")


@pytest.mark.parametrize("page", [page for page in PAGES if runs(page, slow=False)])
def test_a_page_runs_from_top_to_bottom(page, folder):
    prepared(page)
    follow(page, folder, slow=False)


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if runs(page, slow=True)])
def test_a_page_runs_with_all_that_takes_long(page, folder):
    prepared(page)
    follow(page, folder, slow=True)


@pytest.mark.parametrize("page", PAGES)
def test_every_block_says_its_language_and_no_command_hides(page):
    for block in blocks(page):
        assert block.language in LANGUAGES, f"{page}, line {block.line}"
        if block.language == "text":
            assert not COMMAND.search("\n".join(block.lines)), f"{page}, line {block.line}: call it bash"
    text = re.sub(r"^```.*?^```$", "", PAGES[page].read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert not re.search(r"^    (?:tokenflock|pip|make|python|flock\.|import) ", text, re.MULTILINE), page


def test_what_is_not_run_is_listed_with_its_reason():
    told = {}
    for page in PAGES:
        for note in (note for block in blocks(page) for note in block.notes if note[0] == "not run"):
            told.setdefault(note[1], set()).add(page)
    assert told == NOT_RUN


def test_notes_stand_before_what_they_speak_of():
    written = sum(p.read_text(encoding="utf-8").count("<!-- not run") for p in PAGES.values())
    assert written == sum(n[0] == "not run" for page in PAGES for block in blocks(page) for n in block.notes)
    for page in PAGES:
        for block in blocks(page):
            for kind, _, begins in block.notes:
                commands = [code for _, code in block.steps()]
                found = [code for code in commands if block.note(code) is not None]
                assert any(begins.rstrip("$") in code for code in found), f"{page}, line {block.line}: {kind} {begins}"


def test_smaller_sizes_are_those_of_the_pages():
    written = "\n".join(p.read_text(encoding="utf-8") for p in PAGES.values())
    assert not [large for large in SMALLER if large not in written]
