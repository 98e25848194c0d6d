"""What may be wrong with an argument: numbers, texts, paths, arrays and runs at their extremes, for the fuzz."""

import decimal
import fractions
import math
from pathlib import Path

import numpy as np
import xarray as xr

from calls import copied

NAN, INF = math.nan, math.inf

WHOLE = [0, 1, 2, 3, -1, 7, 2**40, 2**63, 2**64, 10**400, -(2**64), np.int8(2), np.uint8(3), np.int64(-3), True]
REAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, math.pi, 1e-300, 5e-324, -1e-300, 1e300, 1.7e308, -1.7e308, 1e15]
REAL += [NAN, INF, -INF, np.float32(0.1), np.float64(3.0), fractions.Fraction(1, 3), decimal.Decimal("0.5"), 1j]
REAL += [np.array(0.5)]
WORDS = ["", "x", "\N{SUPERSCRIPT TWO}", "1", "nan", "causal", "full", "softmax", "post", "sphere", "auto", "\0"]
WORDS += ["y" * 5000, b"x"]
PATHS = ["", ".", "no/such/folder", "x" * 300, "\0", "kept.zarr", "new.nc", "new.zarr", "page.html"]
PATHS += [Path("texts.txt"), Path("no.zarr")]
OTHER = [None, True, False, [], {}, (), set(), object(), range(3), slice(3), ..., NotImplemented, lambda x: x]


def pick(values, generator):
    """One of the values, a copy."""
    return copied(values[generator.integers(len(values))])


def arrays(generator):
    """Arrays of any shape, type and content."""
    draw = generator.standard_normal
    empty = [np.zeros(0), np.zeros((0, 2)), np.zeros((2, 0)), np.zeros((0, 0, 0))]
    shapes = [np.array(1.0), np.zeros((1, 1)), *map(draw, (3, (3, 2), (2, 3), (2, 4, 2), (2, 2, 2, 2)))]
    sizes = [np.full((3, 2), NAN), np.array([[1.0, INF], [0.0, 1.0]]), np.full((2, 2), 1e308), np.full((3, 2), 1e-320)]
    types = [np.eye(2, dtype=kind) for kind in (float, int, bool, complex, object, np.float16, np.longdouble)]
    other = [np.array(["a", "b"]), np.array([None, 1.0]), np.array(["2020-01-01"], dtype="datetime64[D]")]
    other += [np.zeros(2, dtype=[("a", float)]), np.ma.masked_array([1.0, 2.0], [0, 1])]
    other += [[[1.0, 2.0], [3.0]], [1.0, "x"]]
    whole = [np.arange(4), np.arange(4)[::-1], np.arange(3) - 1, [2**70, 1]]
    return [*empty, *shapes, np.eye(3), -np.eye(2), *sizes, *types, *other, [[1.0, 0.0]], *whole]


def runs(names):
    """Datasets that are no runs, and runs of other kinds."""
    run, ensemble, tree = names["run"], names["ensemble"], names["tree"]
    good = [run, ensemble, tree, names["z"], run.isel(time=[0]), run.transpose(...)]
    less = [run.isel(time=[]), run.isel(token=[]), run.isel(axis=[0]), ensemble.isel(run=[]), tree.isel(merge=[])]
    less += [run.drop_vars("x"), run.drop_vars("start"), run.drop_attrs(), tree.drop_vars("root"), xr.Dataset()]
    turned = [run.transpose("axis", "token", "time", ...), run.isel(time=slice(None, None, -1))]
    turned += [run.rename(time="when")]
    typed = [run.assign(x=run["x"].astype(kind)) for kind in (int, "float32", complex, str)]
    said = [{"model": "{"}, {"model": "{}"}, {"t_end": "soon"}, {"scheme": 3}, {"reduce": "?"}, {"times": "[]"}]
    other = [run["x"], run.to_dict(), run.assign(x=run["x"] * NAN)]
    return [*good, *less, *turned, *typed, *(run.assign_attrs(words) for words in said), *other]


def layouts(array):
    """The same numbers otherwise in memory."""
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), dtype=array.dtype) if array.ndim else None
    yield np.asfortranarray(array)
    if wide is not None:
        wide[..., ::2] = array
        yield wide[..., ::2]
        yield np.ascontiguousarray(array[::-1])[::-1]
        yield np.ascontiguousarray(np.moveaxis(array, 0, -1)).transpose(-1, *range(array.ndim - 1))
    fixed = array.copy()
    fixed.setflags(write=False)
    yield fixed
    yield array.astype(array.dtype.newbyteorder())
    shifted = np.zeros(array.nbytes + 1, dtype=np.uint8)[1:].view(array.dtype).reshape(array.shape)
    shifted[...] = array
    yield shifted


def relaid(value, number):
    """A value with its arrays in layout `number`; None if there are none."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "iuf" and value.size:
        choices = list(layouts(value))
        return choices[number % len(choices)]
    if isinstance(value, xr.Dataset) and "x" in value:
        found = {name: (v.dims, relaid(v.values, number)) for name, v in value.data_vars.items()}
        return value.assign({name: pair for name, pair in found.items() if pair[1] is not None})
    return None


def changed_array(value, generator):
    """An array that was right, with something wrong in it."""
    kind = generator.integers(11)
    array = np.array(value, dtype=float) if kind < 9 else np.asarray(value)
    if kind < 4 and array.size:
        array = array.copy()
        array.reshape(-1)[generator.integers(array.size)] = [NAN, INF, 1.7e308, 0.0][kind]
        return array
    choices = (
        (lambda: array[:0], lambda: array[None], lambda: array.T, lambda: np.zeros_like(array)),
        (lambda: array * 1e200, lambda: array * 1e-200, lambda: array[..., :1] if array.ndim else array[None, None]),
        (lambda: array.astype(object), array.tolist, lambda: array.astype(str)),
    )
    return pick([choice for row in choices for choice in row], generator)()
