"""Sums over pairs as sums over waves, linear in n, on the circle and on S^2: engine="harmonic".

engine="auto" sends runs here that are short (the errors of waves are absolute) and that waves make faster: more than
some thousand tokens (circle.py, sphere.py), and some hundred tokens of the papers' main case, V = c I and Q'K = c' I
with softmax and a causal or full mask (few.py), such as the first example of the README. The rules are in cost.py.
"""
