"""The page for those who come with a script: each number in it is what its line gives."""

import ast
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "ports.md"
ROUNDING = 1e-12


def test_the_numbers_of_the_page_are_what_its_lines_give():
    names, seen, given_as = {}, [], []
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        for node in ast.parse(block).body:
            source = ast.get_source_segment(block, node)
            if not isinstance(node, ast.Expr):
                exec(source, names)
                continue
            told = re.search(r"# ([\d.e+-]+)$", block.splitlines()[node.end_lineno - 1])
            assert told, f"{source}: a line that shows something says what"
            given, said = float(eval(source, names)), float(told[1])
            seen.append(source)
            given_as.append(said)
            if said < ROUNDING:
                assert given < ROUNDING, source
            elif said < 1e-7:  # errors of the flow at its tolerance
                assert given < 3 * said, source
            else:
                assert abs(given - said) <= 0.05 * said, source
    assert len(seen) >= 13
    assert sum(said < ROUNDING for said in given_as) == 5, "scripts that are reproduced to rounding"
