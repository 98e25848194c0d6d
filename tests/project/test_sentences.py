"""Every sentence of an error that users can meet, collected from the sources: what, the value, and the cure.

`bad`, `unknown`, `clash` and `missing` put sentences together from parts, of which none may be left out.
Sentences that are written out are looked at by their words: what was given stands in them, or they say that something
is lacking; and they end with what to do.
"""

import ast
import re
from pathlib import Path
from typing import NamedTuple

import pytest

import tokenflock as flock
from tokenflock.engine.contract import Outcome

SOURCE = Path(flock.__file__).parent
ERRORS = {"SpecError", "FileError", "EngineError", "TokenflockError", "UnwritableFile", "ArgumentError", "OverBudget"}
PARTS = {"bad": 3, "clash": 3, "unknown": 3, "missing": 3}  # the arguments that each of them must be given

ORDERS = """Give Use Take Choose Make Fetch Get Allowed Wanted Known Supported Leave Run Install Try Set Unset Look
Repeat Lower Raise Change Save Simulate Keep Check Pass Start Restart Compute Call Free Unpack Ask Write Wait Name"""
#: what to do, as an order or as what is right; or a name of the sources that ends the sentence so
CURE = re.compile(
    rf"\b({'|'.join(ORDERS.split())}|Do not trust|Copy it|Say where|or use|build it with|It takes|For example)\b"
    r"|It goes|needs cases|must be on|equal steps would do|\b(run|sweep) (has|needs) |`tokenflock"
    r"|with --again|with --status"
    r"|\{\w*(advice|ADVICE|GET_ANOTHER|REPEAT|HELP|SAFE|SETTINGS|wanted|said|told|help_)\}"
    r"|[:,] (leave|give|choose|start|check|lower|raise) "
)
#: what is lacking, where no value can be named
LACKING = re.compile(
    r"\b(lacks|is missing|one run|which|what to|needs|no run|nothing|cannot|damaged|did not|has one token|is set"
    r"|was made|is gone)\b"
)
#: {file: why} its sentences are parts of one that another function ends with the file and a cure
COMPLETED = {
    "networks/pickles.py": "networks/tensors.py names the file and says what to do",
    "networks/gguf_table.py": "networks/gguf.py",
    "networks/budget.py": "networks/tensors.py, networks/archive.py",
}
#: {part of a sentence: who hears it} where that is no user, or another sentence goes on
INNER = {
    "the start changed": "the session itself, which starts anew",
    "gradient='adjoint' has first derivatives only": "whoever asked for second ones, by name",
    "{str(path)} cannot be written: {why}": "why ends with: check the memory, the disk and the rights",
    "the sweep is over": "workers of a sweep that has ended",
    "that a diagnosis may take": "a symptom of a diagnosis, which has its advice",
    "a finer run failed": "the same",
    "it is truncated": "networks/tensors.py and networks/gguf.py name the file and say what to do",
    "lies outside of the file": "the same",
    "has type {": "the same",
    "{str(path)} cannot be read: {error}": "OverBudget says by itself what to do",
}


class Sentence(NamedTuple):
    """A sentence in the sources, its formatted values in braces."""

    file: str
    line: int
    kind: str
    words: str


def words_of(node: ast.expr, known: dict[str, str]) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(v.value if isinstance(v, ast.Constant) else f"{{{ast.unparse(v.value)}}}" for v in node.values)
    if isinstance(node, ast.BinOp):
        return words_of(node.left, known) + words_of(node.right, known)
    return known.get(ast.unparse(node), f"{{{ast.unparse(node)}}}")


def calls():
    """(file, call, the texts that names of the file stand for)"""
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        known = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.JoinedStr | ast.Constant):
                known[ast.unparse(node.targets[0])] = words_of(node.value, {})
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                yield path.relative_to(SOURCE).as_posix(), node, known


def written_out():
    for file, call, known in calls():
        if call.func.id in ERRORS and call.args and file not in COMPLETED and file != "errors.py":
            yield Sentence(file, call.lineno, call.func.id, words_of(call.args[0], known))


def complaint(sentence: Sentence) -> str:
    """What a sentence that is written out lacks; nothing if it is whole."""
    words = sentence.words
    if any(part in words for part in INNER) or re.fullmatch(r"(\{[^{}]*(\{[^{}]*\}[^{}]*)*\} ?)+", words):
        return ""  # a sentence of elsewhere, handed on
    if "{" not in words and not LACKING.search(words) and "--" not in words and "NUMBA" not in words:
        return "names no value"
    if not (CURE.search(words) or re.search(r"\.value\}", words)):
        return "says not what to do"
    return ""


SENTENCES = list(written_out())


def test_sentences_are_found():
    assert len(SENTENCES) > 100
    assert any("lacks" in s.words for s in SENTENCES)


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda s: f"{s.file}:{s.line}")
def test_a_sentence_says_what_is_wrong_and_what_to_do(sentence):
    assert not complaint(sentence), sentence.words


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("something is wrong", "names no value"),
        ("beta = {beta} is wrong.", "says not what to do"),
        ("beta = {beta} is wrong. Give a number.", ""),
        ("{FIRST} {second}", ""),
    ],
)
def test_a_sentence_that_lacks_something_is_found(words, why):
    assert complaint(Sentence("", 0, "SpecError", words)) == why


def test_what_puts_sentences_together_is_given_all_its_parts():
    for file, call, known in calls():
        if call.func.id not in PARTS or file == "errors.py":
            continue
        given = [words_of(a, known) for a in call.args] + [words_of(k.value, known) for k in call.keywords]
        if any(isinstance(a, ast.Starred) for a in call.args) or (call.func.id, len(given)) == ("missing", 1):
            continue
        assert len(given) >= PARTS[call.func.id], (file, call.lineno)
        assert all(part.strip() for part in given[: PARTS[call.func.id]]), (file, call.lineno, given)
        if call.func.id in ("bad", "clash") and "{" not in given[-1] and len(given) > 2:
            last = given[-1] if call.func.id == "clash" or len(given) > 3 else "."
            assert last[-1] in ".?", (file, call.lineno, last)  # the advice is a sentence


@pytest.mark.parametrize("outcome", [o for o in Outcome if o.failed and o is not Outcome.INTERRUPTED])
def test_a_run_that_fails_says_what_to_do(outcome):
    assert CURE.search(outcome.value)


@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin", "model.gguf"])
def test_what_a_reader_says_is_ended_with_the_file_and_a_cure(tmp_path, name):
    place = tmp_path / name
    place.write_bytes(b"\x08\x00\x00\x00\x00\x00\x00\x00nonsense" if "gguf" not in name else b"GGUF\x03\x00")
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    with pytest.raises(flock.errors.FileError) as error:
        flock.networks.read(place if name.endswith("gguf") else tmp_path)
    assert name in str(error.value)
    assert CURE.search(str(error.value)), str(error.value)
