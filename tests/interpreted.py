"""Where Triton kernels run in tests: on a CUDA device, or in Triton's interpreter. Import it before triton.

Skips the module that imports it, with the reason, where neither is there.
"""

import os
import sys

import pytest

torch = pytest.importorskip("torch", reason="engine='gpu' needs torch: pip install 'tokenflock[gpu]'")
ON_DEVICE = torch.cuda.is_available()
if not ON_DEVICE:
    # Read when triton is first imported, which torch does not do by itself.
    if "triton" in sys.modules and not os.environ.get("TRITON_INTERPRET"):
        pytest.skip("triton is loaded already, without its interpreter, and there is no GPU", allow_module_level=True)
    os.environ["TRITON_INTERPRET"] = "1"
pytest.importorskip("triton", reason="the kernels need triton: pip install 'tokenflock[gpu]'")
DEVICE = "cuda" if ON_DEVICE else "cpu"
