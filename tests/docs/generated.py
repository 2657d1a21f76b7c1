"""The parts of pages that are made from other files of the repository.

    <!-- generated: NAME ARGUMENT -->
    ...
    <!-- end -->

NAME is schema (tables of results/schema) or file (a file in a fence, ARGUMENT being its path).
"""

import json
import pathlib
import re

PART = re.compile(r"(?m)^<!-- generated: (\w+)(?: (\S+))? -->\n(.*?)^<!-- end -->$", re.S)
SINCE = re.compile(r"Since (\d+\.\d+)(?:\. |\.$|; )")
LANGUAGES = {".cpp": "cpp", ".h": "cpp", ".py": "python", ".toml": "toml"}


class Schema:
    def __init__(self, path):
        self.whole = json.loads(path.read_text(encoding="utf-8"))
        self.definitions = self.whole["definitions"]
        # Objects with a table of their own; what else is defined is spelled out where it is used.
        self.named = [name for name, one in self.definitions.items() if "properties" in one]

    def reference(self, schema):
        return schema["$ref"].removeprefix("#/definitions/") if "$ref" in schema else None

    def type(self, schema):
        if name := self.reference(schema):
            if name not in self.named:
                return self.type(self.definitions[name])
            null = "null" in self.definitions[name]["type"]
            return f"[{name}](#{name}){' or null' if null else ''}"
        if "enum" in schema:
            return " ".join("null" if value is None else f"`{value}`" for value in schema["enum"])
        if "anyOf" in schema:
            kinds = " or ".join(self.type(one) for one in schema["anyOf"])
            return kinds.replace("or null or null", "or null")
        types = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
        return " or ".join(self.simple(one, schema) for one in types)

    def simple(self, word, schema):
        if word == "array":
            items = self.type(schema["items"])
            count = f" of {schema['minItems']}" if "maxItems" in schema else ""
            return f"array{count}: {items}"
        if word == "object":
            rest = schema.get("additionalProperties")
            return f"object of {self.type(rest)}" if isinstance(rest, dict) else "object"
        if word in ("integer", "number"):
            bounds = [f"{sign} {schema[key]}" for key, sign in
                      (("minimum", ">="), ("exclusiveMinimum", ">"), ("maximum", "<="), ("exclusiveMaximum", "<"))
                      if key in schema]
            return " ".join([word, " and ".join(bounds)]).strip()
        return word

    def rows(self, schema, prefix=""):
        """(field, type, since, what) of an object's properties, those of objects within it below."""
        for name, one in schema["properties"].items():
            field = prefix + name
            text = one.get("description", "")
            if not text and self.reference(one):
                text = self.definitions[self.reference(one)].get("description", "")
            since = ""
            if found := SINCE.match(text):
                since, text = found[1], text[found.end():]
            yield field, self.type(one), since, text
            inner = one["items"] if "items" in one else one
            if "properties" in inner:
                yield from self.rows(inner, field + ("[]." if "items" in one else "."))

    def table(self, title, schema):
        lines = [f"### {title}", "", "| field | type | since | what it is |", "|---|---|---|---|"]
        lines += [f"| `{field}` | {kind} | {since} | {text} |" for field, kind, since, text in self.rows(schema)]
        return lines + [""]

    def tables(self):
        lines = self.table("file", self.whole)
        # In the order in which a reader of the file meets them.
        for name in ["record", *(name for name in self.named if name != "record")]:
            lines += self.table(name, self.definitions[name])
        return "\n".join(lines)


def newest_schema(root):
    versions = {tuple(map(int, re.findall(r"\d+", path.name))): path
                for path in (root / "results/schema").glob("results-*.schema.json")}
    return Schema(versions[max(versions)])


def _part(name, argument, root):
    if name == "schema":
        return newest_schema(root).tables()
    if name == "file":
        text = (root / argument).read_text(encoding="utf-8")
        return f"```{LANGUAGES[pathlib.Path(argument).suffix]}\n{text}```\n"
    raise ValueError(f"generated: got '{name}', expected schema or file")


def fill(text, root):
    """A page with its generated parts as they are now."""
    def fresh(found):
        head = found[0].split("\n", 1)[0]
        return f"{head}\n\n{_part(found[1], found[2], root)}\n<!-- end -->"
    return PART.sub(fresh, text)
