"""eastwest designs, proves, builds and runs the network of an AI cluster.

`run` is the main job in one call. The parts are `eastwest.fabric`, `eastwest.workload` and `eastwest.engine`.
"""

from eastwest.notebook import Answer, run

__all__ = ["Answer", "run"]
