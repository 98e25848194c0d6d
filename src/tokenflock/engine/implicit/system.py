"""The linear system of an implicit step as named records: tokens, heads, tangent planes and attention.

The records hold arrays that the kernels fill in place; their shapes are fixed for a run. H is the number of heads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tokenflock.engine.traits import traits
from tokenflock.geometry import Array
from tokenflock.model import Model

# The rows of System.scratch: a vector of R^d, two tangent vectors, the two vectors of an outer product, a sum over
# tokens (tangent), and one accumulator of vector lanes for every coordinate.
VECTOR, TANGENT, OTHER, KEY, GAP, SUM, LANES, N_SCRATCH = range(8)


class Tokens(NamedTuple):
    """Where the tokens are, and who sees whom."""

    x: Array  # (d, columns): one token a column; columns from n on are padding
    rows: Array  # (3, columns): the first token that a token sees, one past the last, and their number
    frozen: Array  # (d + 1, m): frozen tokens, and log2 of their weights
    n: int


class Heads(NamedTuple):
    """The matrices of every head, and their products with the tokens."""

    form: Array  # (H, d, d): beta B
    value: Array  # (H, d, d): V
    scalar_value: bool  # V = v I in every head
    values: Array  # (H, d, columns): V x_j
    queries: Array  # (H, d, columns): u_i = beta B' x_i, in units of log 2
    keys: Array  # (H, d, columns): r_j = beta B x_j
    frozen: Array  # (H, 2 d, m): V x and beta B x of the frozen tokens


class HeadArrays(NamedTuple):
    """The arrays of one head, named as in Heads."""

    value: Array
    values: Array
    queries: Array
    keys: Array
    frozen: Array


class Row(NamedTuple):
    """The attention of token i in one head, over the tokens first .. last - 1 and the frozen ones."""

    i: int
    first: int
    last: int
    weights: Array  # (1, columns)
    frozen: Array  # (m,)


class Tangent(NamedTuple):
    """The tangent plane of every token, and what the Jacobian says inside it."""

    reflections: Array  # (n, d): v_i of the Householder reflection I - v_i v_i'
    pulls: Array  # (H, n, d - 1): f_i - E_i' V x_i
    own_values: Array  # (H, n, d - 1): E_i' V x_i, 0 for V = v I
    diagonal: Array  # (n, d - 1, d - 1): J_ii
    inverses: Array  # (n, d - 1, d - 1): (c - J_ii)^-1
    sizes: Array  # (n,): sum of the sizes of the pulls that make up a velocity


class Attention(NamedTuple):
    """The attention of all tokens if it is kept, and of the token that is being worked on."""

    matrix: Array  # (H n, columns) if kept; in a causal model on the circle J itself stands here
    kept: bool
    row: Array  # (1, columns)
    frozen: Array  # (m,): the weights of the frozen tokens


class System(NamedTuple):
    """All that the Jacobian at one state is made of, and scratch space for its products."""

    tokens: Tokens
    heads: Heads
    tangent: Tangent
    attention: Attention
    lifted: Array  # (d, columns): E_j w_j of the tangent vectors w that J is applied to
    lifted_values: Array  # (H, d, columns): V E_j w_j
    scratch: Array  # (N_SCRATCH, at least 8 d)


def system_of(model: Model, tokens: Tokens, kept: bool) -> System:
    """The system of a model with these tokens: O(n d^2) numbers, and the attention if it is kept."""
    n, (d, columns), n_heads, k = tokens.n, tokens.x.shape, model.n_heads, model.dim - 1
    form = np.ascontiguousarray(model.form * model.beta, dtype=np.float64)
    value = np.array(model.values, dtype=np.float64, order="C")
    frozen = np.concatenate([value @ tokens.frozen[:d], form @ tokens.frozen[:d]], axis=1)
    zeros = np.zeros
    vectors = (n_heads, d, columns)
    return System(
        tokens,
        Heads(
            form,
            value,
            traits(model).scalar_value,
            values=zeros(vectors),
            queries=zeros(vectors),
            keys=zeros(vectors),
            frozen=np.ascontiguousarray(frozen),
        ),
        Tangent(
            reflections=zeros((n, d)),
            pulls=zeros((n_heads, n, k)),
            own_values=zeros((n_heads, n, k)),
            diagonal=zeros((n, k, k)),
            inverses=zeros((n, k, k)),
            sizes=zeros(n),
        ),
        Attention(
            matrix=zeros((n_heads * n, columns) if kept else (1, 1)),
            kept=kept,
            row=zeros((1, columns)),
            frozen=zeros(tokens.frozen.shape[1]),
        ),
        lifted=zeros((d, columns)),
        lifted_values=zeros(vectors),
        scratch=zeros((N_SCRATCH, max(8 * d, 16))),
    )
