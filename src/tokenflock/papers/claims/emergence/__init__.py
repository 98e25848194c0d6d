"""The claims of paper B, The emergence of clusters in self-attention dynamics (arXiv:2305.05465).

runs       what they share: rescaled runs, the coordinates of V, and where a run ends for good
boolean    Theorem 2.1, and Boolean attention in more dimensions
polytopes  Theorems 3.1 and 5.2                 hyperplanes   Theorem 4.2 and the codimension conjecture
shrinking  V = -I                               layers        every theorem in discrete time
beyond     Q'K of any kind, feed-forward layers, several heads
"""
