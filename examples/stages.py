"""A pipeline: each rank takes a block from the rank before, calculates, and hands it on; fifty blocks.

python examples/stages.py
"""

import cutthrough as ct


def stage(rank: ct.Rank) -> None:
    for _ in range(50):
        if rank.number > 0:
            rank.recv(rank.number - 1)
        rank.calc("20 us")
        if rank.number < rank.ranks - 1:
            rank.isend(rank.number + 1, "128 KiB")


program = ct.Program(8, stage)
print(program.run("torus:8")[0]["time_ns"], "ns")
