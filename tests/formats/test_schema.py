"""The published JSON Schema: it is what the code makes, and it accepts and refuses what the reader does."""

import json
import tomllib
import warnings
from pathlib import Path

import jsonschema
import pytest

import catena as ct
from catena import generators as g
from catena.formats.source import Source
from catena.formats.toml import read, write
from catena.simulation.scenario.file.json_schema import scenario_schema
from tests.formats.test_faults import FAULTS, GOOD
from tests.formats.test_page import EXAMPLE, INCLUDED

ROOT = Path(__file__).resolve().parents[2]
VALIDATOR = jsonschema.Draft202012Validator(scenario_schema())


def test_the_published_schema_is_the_one_that_the_code_makes():
    published = json.loads((ROOT / "docs" / "catena-model.schema.json").read_text())
    assert published == scenario_schema(), "run: catena schema > docs/catena-model.schema.json"
    jsonschema.Draft202012Validator.check_schema(published)


@pytest.mark.parametrize("text", [GOOD, EXAMPLE, INCLUDED], ids=["faults", "page", "included"])
def test_the_schema_accepts_what_the_tests_and_the_page_load(text):
    VALIDATOR.validate(tomllib.loads(text))


@pytest.mark.parametrize(
    "file", sorted((ROOT / "examples" / "models").glob("*.toml")), ids=lambda file: file.stem
)
def test_the_schema_accepts_the_models_of_the_gallery(file):
    VALIDATOR.validate(tomllib.loads(file.read_text()))


@pytest.mark.parametrize("seed", range(12))
def test_the_schema_accepts_what_is_saved(seed):
    m = g.random_mechanism(seed) if hasattr(g, "random_mechanism") else g.humanoid()
    VALIDATOR.validate(tomllib.loads(write(m, "")))


def parsed(text):
    try:
        return tomllib.loads(text)
    except ValueError:
        return None


def test_what_the_schema_refuses_the_reader_refuses_too():
    """Over the faults that the reader is tested with: the schema never refuses a file that loads, and it finds most of
    the wrong keys and types."""
    found = 0
    for old, new, *_ in FAULTS:
        content = parsed(GOOD.replace(old, new, 1))
        if content is None:
            continue
        is_valid = VALIDATOR.is_valid(content)
        found += not is_valid
        if not is_valid:
            with pytest.raises(ct.CatenaError), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                read(GOOD.replace(old, new, 1), Source("x.toml"))
    assert found > 30
