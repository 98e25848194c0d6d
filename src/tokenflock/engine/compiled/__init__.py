"""How kernels are declared, compiled and cached, and the machine's own instructions: knows numba, no physics."""
