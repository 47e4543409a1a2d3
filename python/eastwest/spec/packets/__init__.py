"""Packet settings as a person writes them: of a study's fabric (`packets:`), and of `eastwest simulate --settings`.

What is left out keeps the transport's own default (`eastwest.engine.defaults`). Not here: which transport hosts speak
and how switches choose a port, which a study takes from `technology` and `balancing` and the command line has as flags.

To add a setting: a field of an entry (in `hosts`, `switches`, `classes` or `infiniband`), its name and value as
`eastwest.engine.packets.PacketSettings` has them (in the same file), the transports that know it in
`transports.KNOWN_TO` where not all do, and a row in docs/simulate.md.
"""

from eastwest.spec.packets.model import Packets, stated
from eastwest.spec.packets.transports import TRANSPORTS

__all__ = ["TRANSPORTS", "Packets", "stated"]
