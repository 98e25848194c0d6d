"""Every figure and claim of the papers as a run to look at: what to see in one sentence, and the run itself.

Sizes are those of the papers where a person can watch them; `shows` names the claims (`tokenflock check NAME`) and the
figures (`tokenflock figure NAME`) that a preset stands for. A test holds that none is left out.
"""

from __future__ import annotations

from tokenflock.explorer.preset import Preset
from tokenflock.explorer.presets_causal import CAUSAL
from tokenflock.explorer.presets_emergence import EMERGENCE
from tokenflock.explorer.presets_others import OTHERS

PRESETS: tuple[Preset, ...] = (*CAUSAL, *EMERGENCE, *OTHERS)
