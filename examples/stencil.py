"""A stencil: ranks on a grid of 4 x 4 calculate, and exchange their edges with four neighbours, ten times.

python examples/stencil.py
"""

import cutthrough as ct


def stencil(rank: ct.Rank) -> None:
    x, y = rank.number % 4, rank.number // 4
    neighbours = [(x + 1) % 4 + 4 * y, (x - 1) % 4 + 4 * y, x + 4 * ((y + 1) % 4), x + 4 * ((y - 1) % 4)]
    for _ in range(10):
        rank.calc("5 us")
        for neighbour in neighbours:
            rank.irecv(neighbour)
            rank.isend(neighbour, "64 KiB")
        rank.waitall()


program = ct.Program(16, stencil)
print(program.run("torus:4x4")[0]["time_ns"], "ns")
