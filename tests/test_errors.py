"""What an error suggests: our word for what a thing is called elsewhere, and the nearest name else."""

import pytest

import tokenflock as flock


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: run(engine="cuda"), "unknown engine 'cuda'. Did you mean 'gpu'"),
        (lambda: run(engine="numpy"), "unknown engine 'numpy'. Did you mean 'reference'"),
        (lambda: run(scheme="dopri5"), "unknown scheme 'dopri5'. Did you mean 'tsit5'"),
        (lambda: run(dtype="double"), "unknown dtype 'double'. Did you mean 'float64'"),
        (lambda: flock.Model(dim=2, mask="bidirectional"), "Did you mean 'full'"),
        (lambda: flock.Model(dim=2, space="circle"), "The circle is space='sphere' with dim=2. Known: sphere"),
        (lambda: flock.Model(dim=2, space="spere"), "Did you mean 'sphere'"),
    ],
)
def test_words_of_elsewhere_are_understood(call, words):
    with pytest.raises(flock.errors.SpecError) as error:
        call()
    assert words in str(error.value)


def run(**how):
    return flock.simulate(flock.Model(dim=2), flock.uniform(3, 2), 1.0, **how)
