import pytest

from eastwest.catalog import Catalog, CatalogError, UnknownPartError


def with_text(tmp_path, text):
    path = tmp_path / "parts.yaml"
    path.write_text(text)
    return Catalog.bundled().with_file(path, "parts.yaml")


def mistakes(tmp_path, text):
    with pytest.raises(CatalogError) as caught:
        with_text(tmp_path, text)
    return str(caught.value).splitlines()


def test_an_entry_like_another_states_only_what_differs(tmp_path):
    catalog = with_text(tmp_path, "nics:\n  fast: {like: connectx-7, port: 1.6 Tb/s}\n")
    assert catalog.nic("fast").port_bps == 1.6e12
    assert catalog.nic("fast").pcie_bps == catalog.nic("connectx-7").pcie_bps
    assert catalog.sources("nics", "fast")["pcie"] == catalog.sources("nics", "connectx-7")["pcie"]
    assert catalog.sources("nics", "fast")["port"] == "given in parts.yaml"


def test_a_source_may_be_given(tmp_path):
    text = "nics:\n  fast: {like: connectx-7, port: {value: 1.6 Tb/s, source: [leaflet, page 3]}}\n"
    assert with_text(tmp_path, text).sources("nics", "fast")["port"] == "leaflet; page 3"


def test_a_server_may_name_parts_of_the_same_file(tmp_path):
    text = "servers:\n  mine: {like: hgx-h100, nic: fast}\nnics:\n  fast: {like: connectx-7, port: 1.6 Tb/s}\n"
    assert with_text(tmp_path, text).server("mine").nic.port_bps == 1.6e12


def test_an_own_entry_wins_and_the_bundled_catalogue_stays_as_it_is(tmp_path):
    catalog = with_text(tmp_path, "nics:\n  connectx-7: {like: connectx-8}\n")
    assert catalog.server("hgx-h100").nic.port_bps == 800e9
    assert Catalog.bundled().server("hgx-h100").nic.port_bps == 400e9


def test_servers_have_an_nvlink_domain_of_their_own_unless_they_share_one(tmp_path):
    catalog = with_text(tmp_path, "servers:\n  tray: {like: hgx-h100, nvlink_domain_servers: 18}\n")
    assert catalog.server("tray").nvlink_domain_servers == 18
    assert catalog.server("hgx-h100").nvlink_domain_servers == 1


def test_all_mistakes_are_told_at_once_with_their_places(tmp_path):
    text = """nics:
  a: {like: connectx-7, prt: 3 Gb/s, port: 400 GHz}
  b: {like: connectx9}
gpu: {}
servers:
  s: {like: hgx-h100, nic: connectx-77, gpus: 0}
  t: {gpus: 8}
  u: {}
"""
    said = mistakes(tmp_path, text)
    assert said[0].startswith("parts.yaml:2:25: unknown figure 'prt' of NIC 'a'; did you mean 'port'?")
    assert said[1].startswith("parts.yaml:2:44: port of 'a': '400 GHz' is a frequency, not a rate")
    assert said[2].startswith("parts.yaml:3:13: 'connectx9' is no other NIC; did you mean 'connectx-8'?")
    assert said[3].startswith("parts.yaml:4:1: unknown kind of part 'gpu'; did you mean 'gpus'?")
    assert said[4].startswith("parts.yaml:6:28: 'connectx-77' is no NIC; did you mean 'connectx-7'?")
    assert said[5].startswith("parts.yaml:6:47: gpus of 's': 0 is no count")
    assert said[6] == "parts.yaml:7:3: server 't' lacks gpu, nics, nic, power"
    assert said[7] == "parts.yaml:8:3: server 'u' is a mapping of figures, not an empty mapping"


@pytest.mark.parametrize("technology", ["ultra-ethernet", "mrc"])
@pytest.mark.parametrize("lacks", ["places_out_of_order: false", "retransmission: go-back-n"])
def test_a_nic_that_cannot_be_sprayed_at_speaks_no_transport_that_sprays(tmp_path, technology, lacks):
    said = mistakes(tmp_path, f"nics:\n  n: {{like: pollara-400, {lacks}, technologies: [{technology}]}}\n")
    assert f"'n' cannot speak {technology}, which sprays" in said[0]
    assert said[0].startswith("parts.yaml:2:")


def test_a_dpu_of_ones_own(tmp_path):
    catalog = with_text(tmp_path, "nics:\n  d: {like: connectx-8, offloads: [firewall], host_cores_saved: 6}\n")
    assert catalog.nic("d").offloads == ("firewall",)
    assert catalog.nic("d").host_cores_saved == 6
    assert catalog.nic("d").max_planes == 8


@pytest.mark.parametrize(
    ("figure", "complaint"),
    [
        ("max_planes: 0", "is no count"),
        ("host_cores_saved: many", "is no count"),
        ("offloads: firewall", "write a list, as in [a, b]"),
        ("offloads: ['']", "is no text"),
        ("latency: 2 s", "'2 s' is more than 1 s, the longest that a part may hold data up"),
        ("technologies: [roce]", "'roce' is none of rocev2, infiniband, ultra-ethernet, mrc"),
    ],
)
def test_what_a_nic_can_do_is_checked(tmp_path, figure, complaint):
    assert complaint in mistakes(tmp_path, f"nics:\n  n: {{like: connectx-8, {figure}}}\n")[0]


def test_a_switch_says_which_technologies_it_carries(tmp_path):
    catalog = with_text(tmp_path, "switches:\n  s: {like: sn5600, technologies: [rocev2]}\n")
    assert catalog.switch("s").technologies == ("rocev2",)


def test_a_rack_and_a_mesh_of_ones_own(tmp_path):
    text = (
        "gpus:\n  g: {like: b200, joined: mesh}\nservers:\n  s: {like: gb200-nvl72, gpu: g, nvlink_domain_servers: 9}\n"
    )
    server = with_text(tmp_path, text).server("s")
    assert (server.gpu.joined, server.gpus * server.nvlink_domain_servers) == ("mesh", 36)


def test_likes_that_go_in_a_circle_are_refused(tmp_path):
    said = mistakes(tmp_path, "nics:\n  a: {like: b}\n  b: {like: a}\n")
    assert any("is like itself" in each for each in said)


@pytest.mark.parametrize(
    "text", ["", "3", "[gpus]", "gpus: 3", "gpus: {a: 3}", "nics: {a: {like: [b]}}", "nics: {a: {like: a}}"]
)
def test_what_is_no_catalogue_is_refused(tmp_path, text):
    assert mistakes(tmp_path, text)


@pytest.mark.parametrize("value", ["1.5", "0", "3 / 2", "x", "true", "0/0", "1/0"])
def test_an_efficiency_is_a_share_of_one(tmp_path, value):
    assert "is no share of 1" in mistakes(tmp_path, f"gpus:\n  g: {{like: b200, pcie_efficiency: {value}}}\n")[0]


def test_a_name_that_is_not_there_is_told_with_the_nearest():
    with pytest.raises(UnknownPartError, match="did you mean 'sn5400'") as caught:
        Catalog.bundled().switch("sn540")
    assert caught.value.nearest == "sn5400"
    with pytest.raises(UnknownPartError, match="did you mean 'h100-sxm'"):
        Catalog.bundled().listing("h100sxm")


def test_the_listing_can_be_narrowed_to_a_kind():
    assert {each["kind"] for each in Catalog.bundled().listing(kind="nics")} == {"nics"}
