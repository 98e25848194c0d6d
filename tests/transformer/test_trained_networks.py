"""Trained networks on real sentences: effective beta, time and sinks as the page on networks has them."""

import pytest

from tokenflock import networks
from tokenflock.transformer import behaviour, stack, wording, working
from trained import needs, trained

SENTENCES = (
    "The ship left the harbour before the storm came in from the west.",
    "She measured the temperature of the water twice and wrote both numbers down.",
    "Prices rose faster than wages in every year of the last decade.",
)


def told(name):
    network = networks.read(trained(name))
    encode = wording.Encoder(network.words)
    ids = [encode(text) for text in SENTENCES]
    return network, ids, working.measure(network, ids)


@pytest.mark.slow
@needs("minilm")
def test_minilm_on_sentences():
    _, _, work = told("minilm")
    assert working.over_texts(work, "beta_norms").value == pytest.approx(5.9, rel=0.15)
    assert working.over_texts(work, "explained").value < 0.15
    assert working.effective_time(work).value == pytest.approx(2.53, rel=0.1)


@pytest.mark.slow
@needs("smollm2")
def test_smollm2_on_sentences():
    network, ids, work = told("smollm2")
    assert working.over_texts(work, "beta_norms").value == pytest.approx(24.5, rel=0.15)
    assert working.over_texts(work, "beta").value < 0 < working.over_texts(work, "beta_rest").value
    field = behaviour.survey(stack.run(network, ids[0]))
    assert field["first_length"].max() > 50  # massive activations of the first token
    assert field["sink_rate"][13:28].mean() > 0.9
    assert field["stable_raw"][15] < 1.1 < field["stable_normed"][15]
