"""Search that finds Rényi by renyi: words lose their accents in the index, and those of a question in the browser."""

import unicodedata

from sphinx.search.en import SearchEnglish


def folded(text):
    """Text without accents: é is e. Formulas' letters stay."""
    return "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))


class FoldingSearch(SearchEnglish):
    """English, without accents."""

    js_splitter_code = r"""
function splitQuery(query) {
  return query.normalize("NFD").replace(/\p{Mark}/gu, "")
    .split(/[^\p{Letter}\p{Number}_\p{Emoji_Presentation}]+/gu).filter((term) => term);
}
"""

    def split(self, input):  # noqa: A002, as Sphinx calls it
        """Words, as the index has them."""
        return super().split(folded(input))
