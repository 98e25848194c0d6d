"""The linear system of an implicit step as named records: tokens, heads, tangent planes and attention.

The records hold arrays that the kernels fill in place; their shapes are fixed for a run. H is the number of heads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tokenflock.engine.traits import traits
from tokenflock.geometry import Array
from tokenflock.model import Model, less

# The rows of System.scratch: two vectors of R^d, two tangent vectors, a sum over tokens (tangent), and from MOMENTS on
# d - 1 vectors.
VECTOR, KEY, TANGENT, OTHER, SUM, MOMENTS = range(6)


class Tokens(NamedTuple):
    """Where the tokens are, and who sees whom."""

    x: Array  # (d, columns): one token a column; columns from n on are padding
    rows: Array  # (3, columns): the first token that a token sees, one past the last, and their masses with the frozen
    frozen: Array  # (d + 1, m): frozen tokens, and log2 of their weights
    masses: Array  # (1 or n, columns): log2 a_ij, how often token j counts in row i
    n: int
    by_count: bool  # weights of (E3), else of (E2)
    shift: float  # of the logits of (E3), in units of log 2


class Heads(NamedTuple):
    """The matrices of every head, and their products with the tokens."""

    form: Array  # (H, d, d): beta B
    value: Array  # (H, d, d): V
    less: Array  # (H, d, d): V - c I, of model.less: all that a token does to itself
    scalar_value: bool  # V = v I in every head
    values: Array  # (H, d, columns): V x_j
    queries: Array  # (H, d, columns): u_i = beta B' x_i, in units of log 2
    keys: Array  # (H, d, columns): r_j = beta B x_j
    frozen: Array  # (H, 2 d, m): V x and beta B x of the frozen tokens


class HeadArrays(NamedTuple):
    """The arrays of one head, named as in Heads."""

    less: Array
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


class Kept(NamedTuple):
    """The attention of token i in one head over the tokens first .. last - 1: a line of a matrix, 0 elsewhere."""

    i: int
    first: int
    last: int
    weights: Array
    line: int


class Tangent(NamedTuple):
    """The tangent plane of every token, and what the Jacobian says inside it."""

    reflections: Array  # (n, d): v_i of the Householder reflection I - v_i v_i'
    drives: Array  # (H, n, d - 1): f_i = sum_j a_ij E_i' V x_j
    centers: Array  # (H, n, d - 1): c_i, what J adds to every E_i' (V x_j - V x_i); see attention.place
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
    turns: Array  # (1, columns): room for a row
    scratch: Array  # (MOMENTS + d - 1, at least d)
    dense: Array  # (2, n (d - 1), n (d - 1)): J and the factors of c - J, where dense.py works on them; else empty
    pivots: Array  # (n (d - 1),): the order of the rows of these factors


def system_of(model: Model, tokens: Tokens, kept: bool, dense: bool = False) -> System:
    """The system of a model with these tokens: O(n d^2) numbers, and the attention if it is kept.

    dense: whether J is to be one matrix, in compiled code.
    """
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
            np.array(less(value), order="C"),
            traits(model).scalar_value,
            values=zeros(vectors),
            queries=zeros(vectors),
            keys=zeros(vectors),
            frozen=np.ascontiguousarray(frozen),
        ),
        Tangent(
            reflections=zeros((n, d)),
            drives=zeros((n_heads, n, k)),
            centers=zeros((n_heads, n, k)),
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
        turns=zeros((1, columns)),
        scratch=zeros((MOMENTS + k, max(d, 8))),
        dense=zeros((2, n * k, n * k) if dense else (2, 0, 0)),
        pivots=zeros(n * k if dense else 0, dtype=np.int64),
    )
