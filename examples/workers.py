"""A master hands a hundred tasks to the workers that ask for them; a worker that is done gets a message with tag 0.

python examples/workers.py
"""

from collections.abc import Generator
from typing import Any

import cutthrough as ct


def farm(rank: ct.Rank) -> Generator[Any, Any, None]:
    if rank.number == 0:
        for task in range(100 + rank.ranks - 1):
            request = yield rank.recv()  # from any worker
            rank.send(request.source, "16 KiB", tag=int(task < 100))
    while rank.number > 0:
        rank.send(0, 8)
        task = yield rank.recv(0)
        if task.tag == 0:
            break
        rank.calc(f"{rank.number} us")


program = ct.Program(9, farm)
point = program.run("fat-tree:k=4,n=2")[0]
print(point["time_ns"], "ns, called back:", point["program_called_back"])
print("tasks of each worker:", program.matrix("messages")[0, 1:] - 1)
