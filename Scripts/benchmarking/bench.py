"""The contestants, made when they are first needed, and their measuring in turn."""

import time

from crowd import Crowd
from rows import COPYING, CROWDED, OLD, PEER, TUNNELD, VETH
from side import BareSide, TunneldSide, WireGuardGoSide
from table import number


class Bench:
    """`programs`: a wireguard-go by contestant."""

    def __init__(self, lab, options, programs):
        self.lab, self.pairs, self.sides = lab, options.pairs, {}
        self.seconds, self.short, self.trial = (1, 1, 0.3) if options.quick else (4, 2, 1)
        self.resting, self.idle = (5, 10) if options.quick else (30, 60)
        self._crowd = None

        def tunneld(**more):
            return TunneldSide(lab, without_ipsec_mb=options.libcrypto, **more)
        self.makers = {
            TUNNELD: tunneld,
            PEER: lambda: WireGuardGoSide(lab, programs[PEER]),
            OLD: lambda: WireGuardGoSide(lab, programs[OLD]),
            VETH: lambda: BareSide(lab),
            COPYING: lambda: tunneld(programs=options.copying),
            CROWDED[TUNNELD]: lambda: self.crowded(tunneld(crowd=self.crowd.peers())),
            CROWDED[PEER]: lambda: self.crowded(WireGuardGoSide(lab, programs[PEER], crowd=self.crowd.peers())),
        }

    @property
    def crowd(self):
        if self._crowd is None:
            self._crowd = Crowd()
        return self._crowd

    def crowded(self, side):
        self.crowd.settle(side)
        return side

    def side(self, name):
        if name not in self.sides:
            self.sides[name] = self.makers[name]()
        return self.sides[name]

    def rest(self):
        """Lets the last keepalives and worker threads come to an end."""
        time.sleep(self.resting)

    def measure(self, row):
        """The values of both contestants by unit, pair by pair, in turn A B, B A, A B …"""
        sides = [self.side(name) for name in row.between]
        values = [[], []]
        if row.together:
            values = [[value] for value in row.measure(self, sides)]
        for turn in range(0 if row.together else self.pairs):
            for index in (0, 1) if turn % 2 == 0 else (1, 0):
                values[index].append(row.measure(self, sides[index]))
            unit = next(iter(row.units))
            print(f"{row.title}: " + " against ".join(number(v[-1][unit]) for v in values) + f" {unit}", flush=True)
        return values
