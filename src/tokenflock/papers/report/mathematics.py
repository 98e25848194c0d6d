"""Formulas typed in plain letters, set as MathML, which browsers draw themselves; the words between them stay words.

    typeset("for almost every start x_k(t) -> x_1(0), beta >= 0")

Statements, rules and captions are written as they are typed at a keyboard. A word belongs to a formula if it has a sign
of one (_ ^ | = < > + or a letter with an index), is a Greek name or a single letter; what is next to such words and
could be a formula (a number, sin, sum) joins them. What is not understood is shown as it was typed.
"""

from __future__ import annotations

import re
import unicodedata

from tokenflock.markup import Markup, as_markup, joined, markup

_GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta kappa lambda mu nu xi rho sigma tau phi psi omega pi "
    "Delta Gamma Lambda Omega Phi Sigma Theta"
)


def _sign(name: str) -> str:
    """A character by its name in Unicode."""
    return unicodedata.lookup(name)


def _letter(name: str) -> str:
    size = "CAPITAL" if name[0].isupper() else "SMALL"
    return _sign(f"GREEK {size} LETTER {name.upper().replace('LAMBDA', 'LAMDA')}")


GREEK = {name: _letter(name) for name in _GREEK.split()} | {"eps": _letter("epsilon")}
MINUS, STAR = _sign("MINUS SIGN"), _sign("ASTERISK OPERATOR")
FUNCTIONS = {
    "exp",
    "log",
    "sin",
    "cos",
    "tan",
    "min",
    "max",
    "sum",
    "int",
    "sqrt",
    "dist",
    "rank",
    "diag",
    "inf",
    "sup",
}
FUNCTIONS |= {"abs", "grad", "arccos", "arctan", "det", "tr", "dim", "Var", "softmax"}
LARGE = {"sum": "∑", "int": "∫", "sqrt": "√", "inf": "∞"}
SIGNS = {"<=": "≤", ">=": "≥", "->": "→", "!=": "≠", "+-": "±", "-": MINUS, "*": "·", "'": _sign("PRIME"), "...": "…"}
SIGNS["~"] = _sign("TILDE OPERATOR")
SETS = {"R": _sign("DOUBLE-STRUCK CAPITAL R"), "S": _sign("MATHEMATICAL DOUBLE-STRUCK CAPITAL S")}
#: words of two or three letters that are formulas where they touch nothing: QK, Az
LETTERS = re.compile(r"[A-Z]{2}|[A-Z][a-z]|[a-z]{2}")
PIECE = re.compile(
    r"\.\.\.|:=|<=|>=|->|!=|\+-|\d+(?:\.\d+)?(?:e[+-]?\d+)?|[A-Za-z]+|[_^{}()\[\]|<>=+\-*/,.;:'~!%°]|\s+|[^\x00-\x7f]|."
)
SPLIT = re.compile(r"(\s+)")
TRAILING = re.compile(r"[.,;:?!]+$")
CLAIM = re.compile(r"[a-z]{2,}/[a-z0-9][a-z0-9.-]*")
#: what may stand in a formula: letters and signs of one, no longer words but those that are known
STRONG = re.compile(
    r"[A-Za-z]\)\(|[_^|=<>~+]|[A-Za-z]'|^[(\[]*-?[A-Za-z]$|^\d+[a-z]\b|[A-Za-z]\(|\dd?e-?\d|[A-Za-z)]/[A-Za-z(\d]|\d/[A-Za-z(]|[a-z]\*$"
)
WEAK = re.compile(r"[-+*/()\[\]{},.\d]+%?|\.\.\.|[-(\[{]*[A-Za-z][)\]},]*")
OPEN, CLOSE = "([{", ")]}"


def typeset(text: str) -> Markup:
    """Text with its formulas as MathML; Markup stays as it is."""
    if isinstance(text, Markup):
        return text
    words = SPLIT.split(text)
    kinds = [_kind(word) for word in words]
    for k in range(2, len(words)):
        if words[k - 2].lower() in ("paper", "papers") and re.match(r"[A-F]\b", words[k]):  # paper B
            kinds[k] = "text"
    parts: list[Markup] = []
    k = 0
    while k < len(words):
        if kinds[k] not in ("strong", "weak"):
            parts.append(as_markup(words[k]))
            k += 1
            continue
        end = _end_of_formula(words, kinds, k)
        parts.append(_formula("".join(words[k:end])) if "strong" in kinds[k:end] else as_markup("".join(words[k:end])))
        k = end
    return joined(parts)


def displayed(text: str) -> Markup:
    """Formulas on lines of their own; a gap of three blanks parts those that stand on one line."""
    gap = markup('<mspace width="2em"></mspace>')
    lines = []
    for line in filter(None, map(str.strip, text.splitlines())):
        rows = [joined(_Formula(PIECE.findall(formula)).row()) for formula in re.split(r"\s{3,}", line)]
        lines.append(markup('<math display="block"><mrow>{}</mrow></math>', joined(rows, gap)))
    return joined(lines)


def _kind(word: str) -> str:
    """What a word is: blank, of a formula for sure (strong), if it stands in one (weak), or of the text."""
    if not word.strip():
        return "blank"
    core = TRAILING.sub("", word).strip('"`')
    bare = core.strip("()[]{}")
    if not bare or CLAIM.fullmatch(core) or "`" in word or '"' in word or "--" in word or ".py" in word:
        return "weak" if core and not bare else "text"
    names = re.findall(r"[A-Za-z]+", bare)
    known = all(len(name) <= 2 or _greek(name) or name in FUNCTIONS or _index(bare, name) for name in names)
    if not known:
        return "text"
    if re.fullmatch(r"\(\d\)|[A-Za-z]+'(s|t|re|ll)", core):  # the number of an item; it's
        return "text"
    if core in ("a", "A", "(a", "(A") or (core in (*SIGNS, "=", "<", ">", "+", "|") and core not in ("<=", ">=")):
        return "weak"
    if STRONG.search(core) or _greek(bare.lstrip("-")):
        return "strong"
    if bare.lstrip("-") in FUNCTIONS - {"max", "min", "int", "rank", "sup", "dim"} and bare != "sum":
        return "weak"
    return "weak" if WEAK.fullmatch(core) or core == "->" or bare in ("sum", "int", "min", "max") else "text"


def _greek(name: str) -> bool:
    """Whether a name is a Greek letter, or the differential of one."""
    return name in GREEK or (name[:1] == "d" and name[1:] in GREEK)


def _index(word: str, name: str) -> bool:
    """Whether a longer name is an index, as in lambda_max."""
    return bool(re.search(rf"_\{{?{name}", word))


def _depth(text: str) -> int:
    """How many brackets a text leaves open."""
    return sum(text.count(c) for c in OPEN) - sum(text.count(c) for c in CLOSE)


def _end_of_formula(words: list[str], kinds: list[str], begin: int) -> int:
    """The word after the formula that begins here: it ends at a word of the text, or at a stop outside of brackets."""
    k, last = begin, begin
    while k < len(words) and kinds[k] != "text":
        if kinds[k] != "blank":
            if k > begin and _begins_anew("".join(words[begin:k]).rstrip(), words[k]):
                break
            last = k
            inside = _depth("".join(words[begin : k + 1])) > 0 or _in_angles("".join(words[begin : k + 1]))
            if TRAILING.search(words[k]) and not words[k].endswith("...") and not inside:
                break
        k += 1
    while (
        last > begin and kinds[last] != "strong" and _belongs_to_the_text("".join(words[begin : last + 1]), words[last])
    ):
        last -= 2
    return last + 1


def _belongs_to_the_text(formula: str, word: str) -> bool:
    """Whether the last word of a formula goes with what follows: an article, or a bracket that the text closes."""
    return bool(re.fullmatch(r"[Aa(]|\(?[Aa]", word)) or (_depth(word) > 0 and _depth(formula) > 0)


def _begins_anew(before: str, word: str) -> bool:
    """Whether a number follows what is no sign ("K 20 times" holds a letter and a number, and no product), or a bracket
    follows a number: "before 1 (g > 0)"."""
    inside = _depth(before) > 0 or _in_angles(before)
    if not inside and word[:1] == "(" and before.split()[-1].isdigit():
        return True
    return not inside and word[:1].isdigit() and before[-1:].isalnum() and before.split()[-1] not in FUNCTIONS


def _in_angles(text: str) -> bool:
    """Whether a bracket <x, is open: a relation has blanks on both sides."""
    return len(re.findall(r"(?<![^\s(|])<(?=[^\s=])", text)) > len(re.findall(r"(?<=[^\s=-])>(?![^\s)^,.;:|])", text))


def _formula(text: str) -> Markup:
    """One formula, with what stands around it: brackets of the text, and the stop after it."""
    tail = TRAILING.search(text) if not text.endswith("...") else None
    body, after = (text[: tail.start()], tail[0]) if tail else (text, "")
    before = ""
    while body[:1] in OPEN and body[:1] and _depth(body) > 0:
        before, body = before + body[0], body[1:]
    while body[-1:] in CLOSE and body[-1:] and _depth(body) < 0:
        after, body = body[-1] + after, body[:-1]
    if not body.strip():
        return as_markup(text)
    pieces = [p for p in PIECE.findall(body) if p]
    drawn = markup("<math><mrow>{}</mrow></math>", joined(_Formula(pieces).row()))
    if not before and not after:
        return drawn
    return markup('<span class="formula">{}{}{}</span>', before, drawn, after)  # a stop never begins a line


def _power_of_ten(number: str) -> list[Markup]:
    """A number; 2e-4 as two times ten to a power."""
    digits, e, power = number.partition("e")
    if not e:
        return [markup("<mn>{}</mn>", number)]
    ten = markup("<msup><mn>10</mn><mn>{}</mn></msup>", str(int(power)).replace("-", MINUS))
    return [ten] if digits == "1" else [markup("<mn>{}</mn><mo>·</mo>{}", digits, ten)]


class _Formula:
    """Pieces of a formula, read from the left into elements of MathML."""

    def __init__(self, pieces: list[str]) -> None:
        self.pieces, self.at, self.function = pieces, 0, False

    def row(self, until: str = "") -> list[Markup]:
        """Elements up to a closing sign, which is taken too."""
        found: list[Markup] = []
        while self.at < len(self.pieces):
            piece = self.pieces[self.at]
            if piece == until:
                self.at += 1
                break
            self.at += 1
            if piece.isspace():
                if self.function:  # sin x, not sinx
                    found.append(markup('<mspace width="0.17em"></mspace>'))
                self.function = False
                continue
            if piece == "*" and found and (self.at == len(self.pieces) or not self.pieces[self.at].isalnum()):
                found.append(markup("<msup>{}<mo>{}</mo></msup>", found.pop(), STAR))
                continue
            if piece in "_^" and found:
                found.append(self._script(found.pop(), piece))
            else:
                found.extend(self._atom(piece))
        return found

    def _script(self, base: Markup, sign: str) -> Markup:
        """Base with an index or an exponent, or with both."""
        first = self._group()
        other = {"_": "^", "^": "_"}[sign]
        if self.at < len(self.pieces) and self.pieces[self.at] == other:
            self.at += 1
            second = self._group()
            low, high = (first, second) if sign == "_" else (second, first)
            return markup("<msubsup>{}{}{}</msubsup>", base, low, high)
        if sign == "_":
            return markup("<msub>{}{}</msub>", base, first)
        return markup("<msup>{}{}</msup>", base, first)

    def _group(self) -> Markup:
        """What an index or an exponent holds: a bracketed group, or one piece with its sign."""
        if self.at >= len(self.pieces):
            return markup("<mrow></mrow>")
        piece = self.pieces[self.at]
        self.at += 1
        if piece == "{":
            return markup("<mrow>{}</mrow>", joined(self.row("}")))
        if piece == "(":  # at a keyboard these brackets only say how far it goes
            return markup("<mrow>{}</mrow>", joined(self.row(")")))
        if piece in "+-" and self.at < len(self.pieces):
            sign = SIGNS.get(piece, piece)
            return markup("<mrow><mo>{}</mo>{}</mrow>", sign, self._group())
        if piece.isalpha() and piece not in GREEK and len(piece) > 1 and not LETTERS.fullmatch(piece):
            return markup("<mtext>{}</mtext>", piece)
        return markup("<mrow>{}</mrow>", joined(self._atom(piece)))

    def _atom(self, piece: str) -> list[Markup]:
        if piece[0].isdigit():
            return _power_of_ten(piece)
        if piece in GREEK:
            return [markup("<mi>{}</mi>", GREEK[piece])]
        if piece in LARGE:
            return [markup("<mo>{}</mo>", LARGE[piece])]
        if piece in FUNCTIONS:
            self.function = True
            return [markup("<mi>{}</mi>", piece)]
        if piece in SETS and self.at < len(self.pieces) and self.pieces[self.at] == "^":
            return [markup("<mi>{}</mi>", SETS[piece])]
        if piece[0] == "d" and piece[1:] in GREEK:
            return [markup("<mi>d</mi>"), markup("<mi>{}</mi>", GREEK[piece[1:]])]
        if piece == "|":
            return [markup('<mo stretchy="false" lspace="0" rspace="0">|</mo>')]
        if piece.isalpha():
            if len(piece) > 2 and piece.isascii():
                return [markup("<mtext>{}</mtext>", piece)]
            return [markup("<mi>{}</mi>", letter) for letter in piece]
        if piece in "<>" and self._angle(piece):
            return [markup('<mo stretchy="false">{}</mo>', "⟨" if piece == "<" else "⟩")]
        return [markup('<mo stretchy="false">{}</mo>', SIGNS.get(piece, piece))]

    def _angle(self, piece: str) -> bool:
        """Whether < or > is a bracket: it touches what it holds, and not what stands outside."""
        before = self.pieces[self.at - 2] if self.at > 1 else " "
        after = self.pieces[self.at] if self.at < len(self.pieces) else " "
        if piece == "<":
            return (before.isspace() or before in "(|=,-") and not after.isspace()
        return not before.isspace() and (after.isspace() or after in ")^,.;:|'_+*/")
