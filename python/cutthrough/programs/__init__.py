"""Programs of ranks: the messages and computation of each rank of a parallel program.

>>> import cutthrough as ct
>>> def ring(rank):
...     for _ in range(10):
...         rank.calc("5 us")
...         rank.sendrecv((rank.number + 1) % rank.ranks, "64 KiB", (rank.number - 1) % rank.ranks)
>>> program = ct.Program(8, ring)
>>> program.matrix()[0].tolist()
[0, 655360, 0, 0, 0, 0, 0, 0]
>>> results = program.run(ct.Torus([8]))
>>> results[0]["program_called_back"]
False
"""

from cutthrough.programs.calling import Communicator, Rank
from cutthrough.programs.found import ANY, Found, Message, Moment, Probed, Request
from cutthrough.programs.program import Program

__all__ = ["ANY", "Communicator", "Found", "Message", "Moment", "Probed", "Program", "Rank", "Request"]
