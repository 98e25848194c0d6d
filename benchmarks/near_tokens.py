"""Causal attention of millions of tokens at large beta: sums over the tokens that are near, and over no others.

Q = K = I, V diagonal, beta large, tokens on the sphere. A token at distance r weighs e^{-beta r^2 / 2}, so what lies
beyond REACH beta^(-1/2) = 6 beta^(-1/2) weighs less than e^{-18} = 1.5e-8 a token, against 1 for the token itself; it
is left out. What that changes is not only bounded: `left_out` sums over all tokens, in float64, for some of them.

Tokens stand sorted along a curve that fills the sphere of L, in tiles of 8. A tile keeps the list of the tiles whose
boxes come within REACH + SKIN of its own, and a list serves until a token has gone half of SKIN. Kernels are Triton's;
without a GPU the same sums are made by torch, tile by tile, which tests hold against the reference and Triton's.

Many runs are stepped side by side: run r has the places r * room .. of every array, and no tile has two runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

try:
    import triton
    import triton.language as tl
except ImportError:  # the torch sums need none of it
    triton = None

TILE, GROUP = 8, 128  # tokens of a tile, tiles of a group
LANES = 32  # tokens that a warp looks at: four tiles of a list
BITS = 11  # of a coordinate along the curve
REACH, SKIN = 6.0, 1.0  # in units of beta^(-1/2)
NOBODY = 2**31 - 1  # the number of a place that holds no token: it sees all and is seen by none
LOG2E = 1 / math.log(2)


if triton is not None:

    @triton.jit
    def _near(
        low, high, first, groups, at, out, count, wide, stride, D: tl.constexpr, G: tl.constexpr, FILL: tl.constexpr
    ):
        """The tiles whose boxes come within sqrt(wide) of the box of tile a, from the groups that may: how many, or
        FILL: which, to out from at[a] on."""
        a, lane = tl.program_id(0), tl.arange(0, G)
        begin, end = tl.load(first + a // G), tl.load(first + a // G + 1)
        to, many = tl.load(at + a), 0
        for g in range(begin, end):
            b = tl.load(groups + g) * G + lane
            apart = tl.zeros((G,), tl.float32)
            for k in tl.static_range(D):
                gap = tl.maximum(
                    tl.load(low + k * stride + b) - tl.load(high + k * stride + a),
                    tl.load(low + k * stride + a) - tl.load(high + k * stride + b),
                )
                gap = tl.maximum(gap, 0.0)
                apart += gap * gap
            inside = apart <= wide
            if FILL:
                tl.store(out + to + many + tl.cumsum(inside.to(tl.int32), 0) - 1, b, mask=inside)
            many += tl.sum(inside.to(tl.int32), 0)
        tl.store(count + a, many)

    @triton.jit
    def _listed(lists, begin, end, lane, T: tl.constexpr, W: tl.constexpr):
        """The places of the tokens of W / T tiles of a list, and whether the list goes so far."""
        entry = begin + lane // T
        there = entry < end
        return tl.load(lists + entry, mask=there, other=0).to(tl.int64) * T + lane % T, there

    @triton.jit
    def _pull(x, number, lists, at, value, out, half, wide, stride, D: tl.constexpr, T: tl.constexpr, W: tl.constexpr):
        """x' of the tokens of tile a; half: beta / 2 in units of log 2. Rows in registers, others in the lanes."""
        a, lane = tl.program_id(0).to(tl.int64), tl.arange(0, W)
        i = a * T + tl.arange(0, T)
        mine = tl.load(number + i)[:, None]
        own, sums = (), ()
        none = tl.zeros((T, W), tl.float32)
        for k in tl.static_range(D):
            own = own + (tl.load(x + k * stride + i)[:, None],)  # noqa: RUF005
            sums = sums + (none,)  # noqa: RUF005
        z = none
        end = tl.load(at + a + 1)
        for begin in range(tl.load(at + a), end, W // T):
            j, there = _listed(lists, begin, end, lane, T, W)
            seen = tl.load(number + j, mask=there, other=2147483647)[None, :] < mine
            gaps, r = (), none
            for k in tl.static_range(D):
                gap = tl.load(x + k * stride + j)[None, :] - own[k]
                gaps = gaps + (gap,)  # noqa: RUF005
                r += gap * gap
            w = tl.where(seen & (r <= wide), tl.exp2(-half * r), 0.0)
            z += w
            more = ()
            for k in tl.static_range(D):
                more = more + (sums[k] + w * gaps[k],)  # noqa: RUF005
            sums = more
        scale = 1 / (1 + tl.sum(z, 1))
        moved, along = (), tl.zeros((T,), tl.float32)
        for k in tl.static_range(D):
            own_k = tl.load(x + k * stride + i)
            u = tl.load(value + k) * (own_k + scale * tl.sum(sums[k], 1))
            moved = moved + (u,)  # noqa: RUF005
            along += u * own_k
        for k in tl.static_range(D):
            tl.store(out + k * stride + i, moved[k] - along * tl.load(x + k * stride + i))

    @triton.jit
    def _least(
        x, number, lists, at, label, out, limit, wide, stride, D: tl.constexpr, T: tl.constexpr, W: tl.constexpr
    ):
        """The least label of the tokens below `limit` within sqrt(wide) of each."""
        a, lane = tl.program_id(0).to(tl.int64), tl.arange(0, W)
        i = a * T + tl.arange(0, T)
        mine = tl.load(number + i)[:, None]
        found = tl.load(label + i)
        end = tl.load(at + a + 1)
        for begin in range(tl.load(at + a), end, W // T):
            j, there = _listed(lists, begin, end, lane, T, W)
            r = tl.zeros((T, W), tl.float32)
            for k in tl.static_range(D):
                gap = tl.load(x + k * stride + j)[None, :] - tl.load(x + k * stride + i)[:, None]
                r += gap * gap
            real = tl.load(number + j, mask=there, other=2147483647)[None, :] < limit
            theirs = tl.load(label + j)[None, :]
            found = tl.minimum(found, tl.min(tl.where((r <= wide) & real & (mine < limit), theirs, 2147483647), 1))
        tl.store(out + i, found)


@dataclass
class Crowd:
    """Tokens of `runs` runs, x (d, places) in the order of a curve, `number` their place in the run's causal order."""

    beta: float
    value: Tensor  # the diagonal of V
    x: Tensor
    number: Tensor
    runs: int
    n: int
    leading: int  # the coordinates that the curve is drawn in
    reach: float = REACH
    kernels: bool = False
    lists: Tensor = field(init=False)  # near tiles, tile after tile
    first: Tensor = field(init=False)  # where the list of a tile begins
    before: Tensor = field(init=False)  # x where the lists were made
    built: int = 0

    @property
    def room(self) -> int:
        """Places of a run."""
        return self.x.shape[1] // self.runs

    def sort(self) -> None:
        """Put the tokens of every run in the order of the curve, and make the lists anew."""
        run = torch.arange(self.x.shape[1], device=self.x.device) // self.room  # a run stays by itself
        order = torch.argsort(curve(self.x[: self.leading]) | (run << 52))
        self.x, self.number = self.x[:, order].contiguous(), self.number[order].contiguous()
        self.build()

    def build(self) -> None:
        """The lists of near tiles, for the tokens as they stand."""
        low, high = self._boxes()
        wide = ((self.reach + SKIN) ** 2 / self.beta) * (1 + 1e-5)
        if self.kernels:
            self._list(low, high, wide)
        else:
            near = _apart(low[:, :, None], high[:, :, None], low[:, None], high[:, None]) <= wide
            self.first, self.lists = _after(near.sum(1)), near.nonzero()[:, 1].int()
        self.before, self.built = self.x.clone(), self.built + 1

    def _boxes(self) -> tuple[Tensor, Tensor]:
        """The lowest and highest coordinates of every tile; the last one, the run, keeps runs apart."""
        d, places = self.x.shape
        parts = self.x.view(d, places // TILE, TILE)
        run = torch.arange(places // TILE, device=parts.device) // (self.room // TILE) * 100.0
        run = run.to(parts.dtype)[None]
        return torch.cat([parts.amin(-1), run]).contiguous(), torch.cat([parts.amax(-1), run]).contiguous()

    def _list(self, low: Tensor, high: Tensor, wide: float) -> None:
        """By the kernel: first the groups of tiles that come near one another, then the tiles of these."""
        d, tiles = low.shape
        groups = -(-tiles // GROUP)
        padded = groups * GROUP
        far = torch.full((d, padded - tiles), 1e6, dtype=low.dtype, device=low.device)
        low, high = torch.cat([low, far], 1).contiguous(), torch.cat([high, far], 1).contiguous()
        least, most = low.view(d, groups, GROUP).amin(-1), high.view(d, groups, GROUP).amax(-1)
        may = _apart(least[:, :, None], most[:, :, None], least[:, None], most[:, None]) <= wide
        first = _after(may.sum(1)).int()
        others = may.nonzero()[:, 1].int().contiguous()
        count = torch.zeros(tiles, dtype=torch.int32, device=low.device)
        self.first, self.lists = torch.zeros(tiles + 1, dtype=torch.int64, device=low.device), count
        for fill in (False, True):  # how many, then which
            if fill:
                self.first = _after(count)
                self.lists = torch.empty(int(self.first[-1]), dtype=torch.int32, device=low.device)
            given = (low, high, first, others, self.first, self.lists, count)
            _near[(tiles,)](*given, wide, padded, D=d, G=GROUP, FILL=fill, num_warps=1)

    def moved(self) -> float:
        """The farthest that a token has gone since the lists were made, in units of beta^(-1/2)."""
        return math.sqrt(self.beta * float(((self.x - self.before) ** 2).sum(0).max()))

    def velocity(self, x: Tensor) -> Tensor:
        """x' at tokens x."""
        wide, half = self.reach**2 / self.beta, self.beta / 2 * LOG2E
        if self.kernels:
            out = torch.empty_like(x)
            _pull[(x.shape[1] // TILE,)](
                x, self.number, self.lists, self.first, self.value, out, half, wide, x.shape[1],
                D=x.shape[0], T=TILE, W=LANES, num_warps=1,
            )  # fmt: skip
            return out
        a, b = self._pairs()
        places = torch.arange(x.shape[1], device=x.device).view(-1, TILE)
        z, p = torch.zeros_like(x[0]), torch.zeros_like(x)
        for some in torch.arange(len(a), device=x.device).split(2**14):
            i, j = places[a[some]], places[b[some]]
            gap = x[:, j][:, :, None, :] - x[:, i][:, :, :, None]
            r = (gap**2).sum(0)
            seen = (self.number[j][:, None, :] < self.number[i][:, :, None]) & (r <= wide)
            w = torch.where(seen, torch.exp2(-half * r), 0.0)
            z.index_add_(0, i.flatten(), w.sum(-1).flatten())
            p.index_add_(1, i.flatten(), (w * gap).sum(-1).flatten(1))
        u = self.value[:, None] * (x + p / (1 + z))
        return u - (u * x).sum(0) * x

    def _pairs(self) -> tuple[Tensor, Tensor]:
        tiles = torch.arange(len(self.first) - 1, device=self.x.device)
        return tiles.repeat_interleave(self.first.diff()), self.lists.long()

    def step(self, h: float) -> None:
        """One step of the classical method of order 4. Lists are made anew where a stage has gone too far for them."""
        start, total, slope = self.x, torch.zeros_like(self.x), torch.zeros_like(self.x)
        for ahead, weight in ((0.0, 1.0), (0.5, 2.0), (0.5, 2.0), (1.0, 1.0)):
            self.x = _unit(start + ahead * h * slope)
            if self.moved() > SKIN / 2:
                self.build()
            slope = self.velocity(self.x)
            total += weight * slope
        self.x = _unit(start + h / 6 * total)

    def clusters(self, radius: float, part: float = 1.0) -> list[int]:
        """How many clusters the first `part` of the tokens of every run are: chains of steps of `radius` at most."""
        if self.moved() > 0:
            self.build()
        limit, wide = int(self.n * part), (2 * math.sin(radius / 2)) ** 2
        label = torch.arange(self.x.shape[1], device=self.x.device, dtype=torch.int32)
        while True:
            new = self._least(label, limit, wide)
            new = new[new.long()]
            new = new[new.long()]
            if torch.equal(new, label):
                break
            label = new
        places = torch.arange(len(label), device=label.device, dtype=torch.int32)
        roots = (label == places) & (self.number < limit)
        return [int(k) for k in roots.view(self.runs, -1).sum(1)]

    def _least(self, label: Tensor, limit: int, wide: float) -> Tensor:
        if self.kernels:
            out = torch.empty_like(label)
            _least[(len(label) // TILE,)](
                self.x, self.number, self.lists, self.first, label, out, limit, wide, len(label),
                D=self.x.shape[0], T=TILE, W=LANES, num_warps=1,
            )  # fmt: skip
            return out
        a, b = self._pairs()
        places, out = torch.arange(len(label), device=label.device).view(-1, TILE), label.clone()
        for some in torch.arange(len(a), device=label.device).split(2**14):
            i, j = places[a[some]], places[b[some]]
            r = ((self.x[:, j][:, :, None, :] - self.x[:, i][:, :, :, None]) ** 2).sum(0)
            real = (self.number[j][:, None, :] < limit) & (self.number[i][:, :, None] < limit)
            theirs = torch.where((r <= wide) & real, label[j][:, None, :], NOBODY).amin(-1)
            out.scatter_reduce_(0, i.flatten(), theirs.flatten(), "amin")
        return out

    def left_out(self, some: int, seed: int = 0) -> float:
        """The largest error of x' for some tokens of the first run, over beta^(-1/2): sums of all tokens in float64."""
        room, beta = self.room, self.beta
        x, number = self.x[:, :room].double(), self.number[:room]
        chosen = torch.randperm(room, generator=torch.Generator().manual_seed(seed))[: 4 * some].to(x.device)
        chosen = chosen[number[chosen] < self.n][:some]
        near, worst = self.velocity(self.x)[:, :room], 0.0
        for i in chosen.split(max(1, 2**26 // room)):
            gap = x[:, None, :] - x[:, i, None]
            seen = number[None, :] < number[i, None]
            w = torch.where(seen, torch.exp(-beta / 2 * (gap**2).sum(0)), 0.0)
            mean = (w * gap).sum(-1) / (1 + w.sum(-1))
            u = self.value.double()[:, None] * (x[:, i] + mean)
            full = u - (u * x[:, i]).sum(0) * x[:, i]
            worst = max(worst, float((near[:, i].double() - full).norm(dim=0).max()))
        return worst * math.sqrt(beta)


def _apart(low: Tensor, high: Tensor, others_low: Tensor, others_high: Tensor) -> Tensor:
    """The squared distance of boxes."""
    total: Any = 0.0
    for k in range(len(low)):
        gap = torch.maximum(others_low[k] - high[k], low[k] - others_high[k]).clamp(min=0.0)
        total = total + gap * gap
    return torch.as_tensor(total)


def _after(count: Tensor) -> Tensor:
    """Where each of the lists of these lengths begins, and the end of the last."""
    first = torch.zeros(len(count) + 1, dtype=torch.int64, device=count.device)
    first[1:] = count.cumsum(0)
    return first


def curve(x: Tensor) -> Tensor:
    """The place of the direction of each x (m, n) along Hilbert's curve on the face of the cube that it points to.

    A curve without jumps, by J. Skilling's transposed form (2004): tokens that follow one another are neighbours.
    """
    m, size = len(x), x.abs().amax(0)
    face = x.abs().argmax(0)
    turned = (face[None] + 1 + torch.arange(m - 1, device=x.device)[:, None]) % m
    flat = x.gather(0, turned) / size.clamp(min=1e-30)
    cells = list(((flat + 1) * (2 ** (BITS - 1))).int().clamp(0, 2**BITS - 1).unbind(0))
    for k in range(BITS - 1, 0, -1):
        bit = 1 << k
        for i in range(m - 1):
            inside = (cells[i] & bit) == 0
            swap = torch.where(inside, (cells[0] ^ cells[i]) & (bit - 1), 0)
            cells[i] = cells[i] ^ swap
            cells[0] = cells[0] ^ (swap if i else 0) ^ torch.where(inside, 0, bit - 1)
    for i in range(1, m - 1):
        cells[i] = cells[i] ^ cells[i - 1]
    turn = torch.zeros_like(cells[0])
    for k in range(BITS - 1, 0, -1):
        turn ^= torch.where((cells[-1] >> k) & 1 == 1, (1 << k) - 1, 0)
    key = 2 * face + (x.gather(0, face[None])[0] > 0)
    for k in range(BITS - 1, -1, -1):
        for cell in cells:
            key = (key << 1) | (((cell ^ turn) >> k) & 1)
    return key


def _unit(x: Tensor) -> Tensor:
    return x / x.norm(dim=0, keepdim=True)


def crowd(start: Tensor, beta: float, value: list[float], leading: int, **how: Any) -> Crowd:
    """A Crowd from tokens (runs, n, d), in causal order."""
    runs, n, d = start.shape
    room = -(-n // TILE) * TILE
    x = torch.empty((d, runs, room), dtype=start.dtype, device=start.device)
    x[:, :, :n] = start.permute(2, 0, 1)
    x[:, :, n:] = x[:, :, :1]
    number = torch.full((runs, room), NOBODY, dtype=torch.int32, device=start.device)
    number[:, :n] = torch.arange(n, dtype=torch.int32, device=start.device)
    diagonal = torch.tensor(value, dtype=start.dtype, device=start.device)
    made = Crowd(beta, diagonal, x.view(d, -1), number.view(-1), runs, n, leading, **how)
    made.sort()
    return made


def follow(
    these: Crowd, times: tuple[float, ...], h: float, radius: float, tell: Any = None
) -> dict[str, list[list[int]]]:
    """Clusters of all tokens and of the first half of them at these times, (runs, times). h to times[0], then 2 h."""
    found: dict[str, list[list[int]]] = {"all": [], "half": []}
    now = 0.0
    for end in times:
        length = h if end == times[0] else 2 * h
        steps = round((end - now) / length)
        for k in range(steps):
            if k % (4 if now + k * length < 8 else 20) == 0:  # directions in L change little while tokens come to it
                these.sort()
            these.step((end - now) / steps)
        now = end
        for part, share in (("all", 1.0), ("half", 0.5)):
            found[part].append(these.clusters(radius, share))
        if tell is not None:
            tell(end, these)
    return {part: [list(row) for row in zip(*rows, strict=True)] for part, rows in found.items()}
