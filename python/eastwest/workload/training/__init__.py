"""Training jobs: models, what they cost in arithmetic, memory and time, and what their ranks do in a step."""
