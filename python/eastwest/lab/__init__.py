"""A fabric's control plane running on one Linux machine: `eastwest lab`.

`labs` brings a lab up from what `eastwest build` wrote and takes it down; `registry` knows the labs of this machine,
and `sandbox` keeps all that a lab is in namespaces that end with one process. `wiring` makes nodes and cables of
network namespaces and veth pairs, `faults` breaks them, `traffic` sends between servers, `tables` reads what switches
forward by.

**A driver** is what a lab of one technology needs beyond that: an object with the methods of `driver.Driver`, in a
module of its own (`ethernet`, `mrc`), and a line in `drivers.DRIVERS`. The verbs know no more of it. To write
one:

* `start(lab, nodes)` finds an empty sandbox, the built files in `lab.built`, and in `nodes` what is in their
  plan.json. Anything run with `lab.inside([...])` (in the lab) or `lab.on(node, [...])` (in a node) dies with the
  lab. Nothing may be left elsewhere: files go to `lab.folder` or `lab.node(name)`, whose `run`, `tmp` and `frr` are
  that node's /run, /var/tmp and /etc/frr. `wiring.lay` makes namespaces and cables for those who have some.
* `state(lab, nodes)` says what is wrong, node by node; `up` waits until nothing is.
* What a person must install goes into `tools`, what the kernel must offer into `features`: `machine.check` tells it
  before anything is made.
* Keep nothing in the object: the next command is another process.
"""

from eastwest.lab.failure import LabError, MissingError

__all__ = ["LabError", "MissingError"]
