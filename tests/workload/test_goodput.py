"""What failures leave of a job, against published intervals, limits, and jobs followed failure by failure."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eastwest.workload.goodput import Saving, best_interval_s, shares

MINUTE, HOUR = 60.0, 3600.0


def followed(every: float, saving: Saving, mtbf: float, restart: float, checkpoints: int, seed: int) -> float:
    """Time of useful work over all time of a job that fails at random, until it has made so many checkpoints."""
    draws = random.Random(seed)
    segment = every + saving.exposed_s
    now = done = safe = 0.0
    while done < checkpoints * segment:
        runs = min(draws.expovariate(1 / mtbf), checkpoints * segment - done)
        now, done = now + runs, done + runs
        if done >= checkpoints * segment:
            break
        done = safe = max(math.floor((done - saving.settling_s) / segment) * segment, safe)
        while (fails := draws.expovariate(1 / mtbf)) < restart:
            now += fails
        now += restart
    return checkpoints * (segment - saving.cost_s(every)) / now


CASES = [
    pytest.param(600.0, Saving(60.0), HOUR, 300.0, id="synchronous"),
    pytest.param(600.0, Saving(5.0, 200.0, 1.1), HOUR, 300.0, id="asynchronous, slower meanwhile"),
    pytest.param(1800.0, Saving(5.0, 1500.0), 2 * HOUR, 600.0, id="safe only just before the next"),
    pytest.param(600.0, Saving(60.0), 900.0, 600.0, id="restarts that fail too"),
]


@pytest.mark.parametrize(("every", "saving", "mtbf", "restart"), CASES)
def test_goodput_is_that_of_jobs_followed_failure_by_failure(every, saving, mtbf, restart):
    drawn = [followed(every, saving, mtbf, restart, 4000, seed) for seed in range(8)]
    assert shares(every, saving, mtbf, restart).useful == pytest.approx(sum(drawn) / len(drawn), rel=0.01)


@pytest.mark.parametrize(("mtbf", "published"), [(24 * HOUR, 117.0), (6 * HOUR, 57.0), (15 * MINUTE, 9.1)])
def test_the_best_interval_is_that_of_daly_s_examples(mtbf, published):
    """Daly 2006, figures 3 to 5: a dump of 5 minutes, a restart of 10; his series is an approximation."""
    assert best_interval_s(Saving(5 * MINUTE), mtbf, 10 * MINUTE) / MINUTE == pytest.approx(published, rel=0.01)


def test_for_cheap_checkpoints_the_best_interval_is_young_s():
    assert best_interval_s(Saving(0.01), 100 * HOUR, 60.0) == pytest.approx(math.sqrt(2 * 0.01 * 100 * HOUR), rel=1e-2)


def test_safe_at_once_it_is_daly_s_complete_model():
    """M e^(R/M) (e^((T + d)/M) - 1) for T of work."""
    every, dump, mtbf, restart = 3000.0, 300.0, 21600.0, 600.0
    whole = mtbf * math.exp(restart / mtbf) * math.expm1((every + dump) / mtbf)
    assert shares(every, Saving(dump), mtbf, restart).useful == pytest.approx(every / whole, rel=1e-12)


def test_where_nothing_fails_only_checkpoints_cost_time():
    found = shares(90.0, Saving(10.0), math.inf, 600.0)
    assert (found.useful, found.checkpoints, found.lost, found.restarts) == pytest.approx((0.9, 0.1, 0.0, 0.0))


def test_a_job_that_fails_before_any_checkpoint_gets_nowhere():
    assert shares(1e6, Saving(10.0), 1.0, 600.0).useful == 0.0


TIMES = st.floats(1.0, 1e4)


@settings(max_examples=50)
@given(TIMES, st.builds(Saving, TIMES, st.just(0.0)), st.floats(1e3, 1e8), TIMES)
def test_shares_add_up_to_all_the_time(every, saving, mtbf, restart):
    found = shares(every, saving, mtbf, restart)
    assert found.useful + found.checkpoints + found.lost + found.restarts == pytest.approx(1.0)


@settings(max_examples=25)
@given(st.floats(0.1, 100.0), st.floats(0.0, 1000.0), st.floats(1e4, 1e7), st.floats(0.3, 3.0))
def test_no_other_interval_leaves_more(exposed, settling, mtbf, other):
    saving = Saving(exposed, settling)
    best = best_interval_s(saving, mtbf, 600.0)
    if (every := other * best) >= settling:
        most = shares(best, saving, mtbf, 600.0).useful
        assert shares(every, saving, mtbf, 600.0).useful <= most * (1 + 1e-9)
