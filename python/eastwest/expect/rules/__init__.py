"""The hypotheses that are tried on a log that falls short: each is a function from a comparison to a finding, or None.

`log` reads what NCCL itself said, `rates` simulates links and algorithms that would be as slow as measured, `shape`
looks at what is left: time lost at every size, sizes that stand out, logs that get worse with more servers.
"""
