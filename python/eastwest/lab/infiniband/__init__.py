"""InfiniBand labs: a simulated network, managed by the real OpenSM from the files that `eastwest build` wrote.

ibsim plays switches and adapters, and carries management packets alone: who may talk to whom and over which path is
real, traffic is not. Not here: the verbs (`cli`), or what an Ethernet lab does.
"""

from eastwest.lab.infiniband.driver import INFINIBAND, InfiniBand

__all__ = ["INFINIBAND", "InfiniBand"]
