"""What all tests share: random cases may take their time, since the machine that runs them is seldom alone."""

from hypothesis import settings

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
