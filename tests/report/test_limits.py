from tests.report.conftest import make_result, make_row

from eastwest.report.limits import in_short, reasons_of, sentence
from eastwest.study.result import Bottleneck


def reasons(*bottlenecks):
    rows = tuple(make_row("roce-400g", 0, bottleneck=Bottleneck(where, 0.9, why)) for where, why in bottlenecks)
    return [(reason.number, reason.where, reason.text) for reason in reasons_of(make_result(rows=rows)).values()]


def test_a_reason_is_told_once_in_the_order_of_the_rows():
    full, hashed = ("NIC ports", "ports are full"), ("leaf to spine links", "ECMP put 4 flows on one")
    assert reasons(full, hashed, full) == [
        (1, "NIC ports", "Ports are full."),
        (2, "leaf to spine links", "ECMP put 4 flows on one."),
    ]


def test_two_directions_with_one_reason_go_by_the_ports_name():
    why = "ports are full"
    assert reasons(("NIC ports, leaf to server", why), ("NIC ports, server to leaf", why)) == [
        (1, "NIC ports", "Ports are full.")
    ]


def test_two_places_with_one_reason_are_both_named():
    why = "too few uplinks"
    assert reasons(("leaf to spine links", why), ("spine to leaf links", why)) == [
        (1, "leaf to spine and spine to leaf", "Too few uplinks.")
    ]


def test_a_place_in_short_has_no_direction():
    assert in_short("NIC ports, leaf to server") == "NIC ports"
    assert in_short("leaf to spine links") == "leaf to spine"


def test_a_sentence_keeps_its_abbreviations_and_ends_once():
    assert sentence("ECMP put 4 on one.") == "ECMP put 4 on one."
    assert sentence("") == ""
