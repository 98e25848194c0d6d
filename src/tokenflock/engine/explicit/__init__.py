"""Explicit runs by pairs of tokens, compiled with numba: every option of a Model."""
