"""Numbers that were measured stand beside the command that makes them again: in findings by paragraph, in studies by
section."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
MEASURED = re.compile(r"\d+\.\d\d|\d+ %|\b\d+ of \d[\d,]*\b|± ")
COMMAND = re.compile(r"```|`[^`]+`|\{doc\}|\{ref\}")


def paragraphs(text):
    """Paragraphs and points of lists; code and tables belong to what stands before them, and to what follows."""
    parts = [part for part in re.split(r"\n\n|\n(?=- )", text) if part.strip()]
    for k, part in enumerate(parts):
        around = [part]
        for step in (-1, 1):
            at = k + step
            while 0 <= at < len(parts) and (parts[at].startswith(("|", "```")) or part.startswith("|")):
                around.append(parts[at])
                if not parts[at].startswith(("|", "```")):
                    break
                at += step
        yield part, "\n".join(around)


def unaccounted(text):
    """Paragraphs with measured numbers and no command."""
    return [part for part, around in paragraphs(text) if MEASURED.search(part) and not COMMAND.search(around)]


def test_findings_give_a_command_with_every_number():
    text = (DOCS / "findings.md").read_text(encoding="utf-8")
    text = re.sub(r"arXiv:\S+|\(https?://\S+\)", "", text)
    assert not [part[:200] for part in unaccounted(text)]


@pytest.mark.parametrize("section", re.split(r"\n(?=## )", (DOCS / "studies.md").read_text(encoding="utf-8"))[1:])
def test_studies_give_a_command_in_every_section(section):
    assert re.search(r"`tokenflock study [a-z-]+ --out studies`", section)


def test_a_number_without_a_command_is_found():
    assert unaccounted("Of 4,000 starts 47.8 % end there.\n\nThat is `flock.check`.")
    assert not unaccounted("Of 4,000 starts 47.8 % end there (`flock.check`).")
    assert not unaccounted("| n | 0.55 |\n\nThe table is that of `flock.check`.")
