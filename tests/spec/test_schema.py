import jsonschema
import pytest
from ruamel.yaml import YAML

from eastwest import spec
from eastwest.spec.schema import DIALECT

SCHEMA = spec.json_schema()


def valid(text):
    return jsonschema.Draft202012Validator(SCHEMA).is_valid(YAML(typ="safe").load(text))


def test_the_schema_is_one_of_draft_2020_12():
    assert SCHEMA["$schema"] == DIALECT
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_the_bundled_and_the_starting_study_fit_the_schema():
    from importlib.resources import files

    assert valid((files("eastwest") / "studies" / "pune-1024.yaml").read_text())
    assert valid(spec.starting_file())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("switch: sn5400", "swich: sn5400"),
        ("shape: leaf-spine", "shape: leaf-spin"),
        ("servers: 4", "servers: 0"),
        ("link: 400 Gb/s", "link: 400"),
        ("kind: measured", "kind: guessed"),
    ],
)
def test_what_is_plainly_wrong_does_not_fit_the_schema(small, old, new):
    assert valid(small)
    assert not valid(small.replace(old, new))


def test_a_fabric_like_another_need_not_state_the_rest(small):
    assert valid(small.replace("workloads:", "  two: {like: one}\nworkloads:"))
    assert not valid(small.replace("workloads:", "  two: {link: 400 Gb/s}\nworkloads:"))


def test_every_entry_is_described_for_the_editor():
    for definition in [SCHEMA, *SCHEMA["$defs"].values()]:
        assert definition.get("description"), definition["title"]
        for name, entry in definition["properties"].items():
            assert "description" in entry or "$ref" in entry or "const" in entry or name in ("name", "kind"), (
                definition["title"],
                name,
            )


def test_every_default_in_the_schema_is_valid_where_it_stands():
    schema = spec.json_schema()

    def defaults(node):
        if isinstance(node, dict):
            if "default" in node:
                yield node
            for value in node.values():
                yield from defaults(value)
        elif isinstance(node, list):
            for value in node:
                yield from defaults(value)

    found = list(defaults(schema["$defs"])) + list(defaults(schema["properties"]))
    assert len(found) > 10
    for node in found:
        jsonschema.Draft202012Validator({**node, "$defs": schema["$defs"]}).validate(node["default"])
