"""What happens between Python and a kernel that is given a pointer."""

import pytest
from numba import types

from tokenflock.engine.compiled.declare import kernel, pointed
from tokenflock.engine.compiled.pointers import Pointer, pointer_to

SIGNATURE = types.float64(types.float64)


@pointed
def twice(x):
    return 2.0 * x


@pointed
def square(x):
    return x * x


@kernel
def at_three(function):
    return function(3.0)


def test_one_kernel_calls_any_function_of_a_signature():
    assert at_three(pointer_to(twice, SIGNATURE)) == 6.0
    assert at_three(pointer_to(square, SIGNATURE)) == 9.0
    assert pointer_to(twice, SIGNATURE) is pointer_to(twice, SIGNATURE)
    assert len(at_three.overloads) == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interruption_on_the_way_into_a_kernel_stays_what_it_is(error):
    """With numba's own type of functions, Ctrl-C at this moment became "TypeError: ... missing 1 argument"."""

    class Interrupted(Pointer):
        address = property(lambda self: (_ for _ in ()).throw(error))

    at_three(pointer_to(twice, SIGNATURE))
    with pytest.raises(error):
        at_three(Interrupted(twice, SIGNATURE))
