"""The claims of paper A, Clustering in Causal Attention Masking (arXiv:2411.04990).

limits       one token, and V = I           centers      Renyi centers and frozen tokens
atlas        the conjectures and Table 1    counts       how many centers there are
interaction  h and g, sampled and proved (balls: ball arithmetic; proofs: the arguments)
next_*       what a sceptical reader asks for next
"""
