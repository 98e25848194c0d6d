"""The page on models of one's own: every section is a few lines that run, with the picture that they make."""

import re
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "own_model.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
LINES = 7  # "five lines", and two that only bring what is needed


@pytest.fixture
def own(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    import own

    yield own
    for name in ("own", "pieces"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("title", SECTIONS)
def test_a_section_is_a_few_lines_and_their_picture(title):
    code = re.findall(r"^```python\n(.*?)^```$", SECTIONS[title], re.MULTILINE | re.DOTALL)
    asked = re.findall(r"^<!-- own [\w-]+ -->$", SECTIONS[title], re.MULTILINE)
    assert len(code) == len(asked)
    for block in code:
        assert len(block.splitlines()) <= LINES, title


def test_a_picture_is_that_of_the_lines_above_it(own):
    page = """```python
import tokenflock as flock
run = flock.simulate(flock.Model(dim=2), flock.uniform(5, 2), 1.0, engine="reference")
```
<!-- own first -->
```python
figure = flock.plot.draw(run)
```
<!-- own second -->
<!-- own third -->
"""
    found = own.drawn(page)
    assert list(found) == ["first", "second", "third"]
    assert len({id(figure) for figure in found.values()}) == 3, "a picture of one section is not used for the next"
    with pytest.raises(KeyError, match="run"):
        own.drawn("<!-- own nothing -->\n")
