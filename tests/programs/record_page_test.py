"""Holds docs/record.md to the schema of a record: its tables are written from it.

LINKGAIN_UPDATE_GOLDENS=1 writes them anew.
"""

import json
import os
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "record.md"
SCHEMA = json.loads((ROOT / "bench/common/record/record.schema.json").read_text())
TABLES = re.compile(r"(?<=<!-- schema -->\n)(.*?)(?=<!-- end -->)", re.S)


def resolved(schema):
    """(name of the definition or None, schema with what the reference itself says)"""
    if "$ref" not in schema:
        return None, schema
    name = schema["$ref"].split("/")[-1]
    own = {key: value for key, value in schema.items() if key != "$ref"}
    return name, {**SCHEMA["definitions"][name], **own}


def has_section(name):
    return name is not None and "properties" in SCHEMA["definitions"][name]


def type_text(schema):
    name, full = resolved(schema)
    types = full.get("type", [])
    types = [types] if isinstance(types, str) else types
    null = " or null" if "null" in types else ""
    if has_section(name):
        return f"[{name}](#{name}){null}"
    main = next((each for each in types if each != "null"), "any")
    if main == "array":
        item = full.get("items", {})
        return f"array of {type_text(item)}" if item else "array"
    if main == "object" and isinstance(full.get("additionalProperties"), dict):
        return f"object of {type_text(full['additionalProperties'])}{null}"
    return main + null


def meaning(schema):
    _, full = resolved(schema)
    words = [f"`{each}`" if each else '""' for each in full.get("enum", []) if each is not None]
    parts = [full.get("description", ""), ", ".join(words)]
    return "; ".join(part for part in parts if part).replace("|", "\\|")


def rows(schema, prefix=""):
    """A row for each key, those of inner objects and arrays' items with the path to them."""
    required = schema.get("required", [])
    for key, value in schema.get("properties", {}).items():
        name, full = resolved(value)
        marks = ("" if key in required else ", optional") + (", derived" if value.get("readOnly") else "")
        yield f"| `{prefix}{key}` | {type_text(value)}{marks} | {meaning(value)} |".replace("|  |", "| |")
        if has_section(name):
            continue
        inner, path = full, f"{prefix}{key}."
        if "items" in full:
            item_name, inner = resolved(full["items"])
            path = f"{prefix}{key}[]."
            if has_section(item_name):
                continue
        yield from rows(inner, path)


def tables():
    parts = []
    sections = [("The document", SCHEMA)]
    sections += [(name, each) for name, each in SCHEMA["definitions"].items() if "properties" in each]
    for title, schema in sections:
        text = f"## {title}\n\n"
        description = schema.get("description", "")
        if description and schema is not SCHEMA:
            text += description[0].upper() + description[1:].rstrip(".") + ".\n\n"
        text += "| Key | Type | Meaning |\n| --- | --- | --- |\n"
        parts.append(text + "\n".join(rows(schema)) + "\n")
    return "\n".join(parts)


class PublishedSchemas(unittest.TestCase):
    def test_their_patterns_are_not_of_one_language_alone(self):
        for path in sorted((ROOT / "bench").rglob("*.schema.json")):
            for pattern in re.findall(r'"pattern": *("[^"]*")', path.read_text()):
                re.compile(json.loads(pattern))

    def test_a_record_keeps_its_schema(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("no jsonschema (Debian: python3-jsonschema)")
        record = json.loads((ROOT / "results/2xH200-node-1/record.json").read_text())
        record.pop("results_digest", None)
        jsonschema.Draft7Validator(SCHEMA).validate(record)
        record["cases"][0]["case"] = ""
        with self.assertRaises(jsonschema.ValidationError):
            jsonschema.Draft7Validator(SCHEMA).validate(record)


class RecordPage(unittest.TestCase):
    def test_its_tables_are_the_schemas(self):
        old = PAGE.read_text()
        self.assertEqual(len(TABLES.findall(old)), 1)
        new = TABLES.sub(lambda _: "\n" + tables() + "\n", old)
        if os.environ.get("LINKGAIN_UPDATE_GOLDENS"):
            PAGE.write_text(new)
            self.skipTest(f"{PAGE} was written")
        self.assertEqual(old, new, "LINKGAIN_UPDATE_GOLDENS=1 writes its tables anew")

    def test_every_key_has_a_row(self):
        def keys(schema):
            for key, value in schema.get("properties", {}).items():
                yield key
                for inner in (value, value.get("items", {})):
                    yield from keys(inner)

        written = set(re.findall(r"[`.](\w+)`", PAGE.read_text()))
        for schema in (SCHEMA, *SCHEMA["definitions"].values()):
            self.assertLessEqual(set(keys(schema)), written)

    def test_its_program_is_the_one_that_is_built(self):
        folder = ROOT / "tests" / "programs" / "record_consumer"
        page = PAGE.read_text()
        text = (folder / "CMakeLists.txt").read_text() + (folder / "fastest_case.cpp").read_text()
        for line in text.splitlines():
            if line.startswith(("find_package", "target_link_libraries", "#include <linkgain/")):
                self.assertIn(line, page)


if __name__ == "__main__":
    unittest.main()
