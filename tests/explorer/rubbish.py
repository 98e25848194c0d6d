"""Messages that are wrong in one of many ways."""

import json

from tokenflock.explorer.messages import FIELDS

VALUES = [
    None,
    -1,
    1e308,
    0,
    3,
    True,
    "x",
    "\U0001f600" * 50,
    [],
    {},
    [[1, 2], [3]],
    {"model": 3},
    "inf",
    {"a": [0] * 50},
]
PARTS = {
    "model": ("dim", [0, 1, 2, 3, "2", 99], "beta value mask frozen noise feedforward query layer_norm bias".split()),
    "start": ("n_tokens", [0, 1, 5, -3, 1e9, None], "kind seed array angle n_clusters".split()),
    "simulate": ("t_end", [1.0, -1, 0, "x", 1e300], "times scheme dt rtol engine".split()),
}
CHANGES = [[{"at": 0}], [{"at": 3, "model": {"dim": 2}, "simulate": {"t_end": 1.0}}]]


def rubbish(draw):
    """A message that is wrong in one of many ways."""
    spec = {
        name: {key: draw.choice(values), draw.choice(others): draw.choice(VALUES)}
        for name, (key, values, others) in PARTS.items()
    }
    spec[draw.choice(["then", "extra"])] = draw.choice([*VALUES, *CHANGES])
    message = {"type": draw.choice([*FIELDS, "nothing", ""])}
    message[draw.choice(["frame", "run", "token", "name", "how", "on"])] = draw.choice(VALUES)
    if draw.random() < 0.6:
        message["spec"] = spec if draw.random() < 0.8 else draw.choice(VALUES)
    text, fate = json.dumps(message), draw.random()
    if fate < 0.15:
        return text[: draw.randrange(len(text))]
    if fate < 0.25:
        return draw.randbytes(draw.randrange(64))
    if fate < 0.3:
        return "".join(chr(draw.randrange(32, 0xD7FF)) for _ in range(40))
    return text
