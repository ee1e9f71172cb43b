#!/usr/bin/env python3
"""Writes src/api.ts: the types of the HTTP service, made from its OpenAPI document.

    sandbox-run-http --openapi | sdk/typescript/generate_types.py > sdk/typescript/src/api.ts

tests/blackbox/test_sdk_typescript.py compares the file with what this makes.
"""
import json
import sys

HEAD = """/* Made by generate_types.py from the OpenAPI document of sandbox-run-http: do not edit. */

/** The schemas of the service by name; parts of one are "name_part". */
export interface Schemas {
"""
PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
SHORT = 88  # columns of an object that stands in one line
WIDE = 116
PLACE = "#/components/schemas/"


def name_of(ref):
    return ref.removeprefix(PLACE)


def quoted(text):
    return json.dumps(text)


def key_of(name):
    return name if name.isidentifier() else quoted(name)


def union(parts):
    return " | ".join(dict.fromkeys(parts))


def fold(text, indent):
    """A long union over several lines."""
    if len(text) < WIDE - 40:
        return text
    lines = [""]
    for part in text.split(" | "):
        if len(lines[-1]) + len(part) > WIDE - 40:
            lines.append("")
        lines[-1] += f" | {part}"
    return "".join(f"\n{indent}   {line}" for line in lines)


def of_object(schema, indent):
    needed = set(schema.get("required", ()))
    lines = []
    for name, part in schema.get("properties", {}).items():
        if isinstance(part, dict) and part.get("description"):
            lines.append(f"{indent}  /** {part['description']} */")
        lines.append(f"{indent}  {key_of(name)}{'' if name in needed else '?'}: {type_of(part, indent + '  ')};")
    rest = schema.get("additionalProperties", True)
    if not lines:
        return "Record<string, never>" if rest is False else f"Record<string, {type_of(rest, indent)}>"
    if rest is not False:
        lines.append(f"{indent}  [field: string]: unknown;")
    short = "{ " + " ".join(line.strip() for line in lines)[:-1] + " }"
    if len(indent) + len(short) < SHORT and "\n" not in short and "/**" not in short:
        return short
    return "{\n" + "\n".join(lines) + f"\n{indent}}}"


def of_type(kind, schema, indent):
    if kind == "array":
        inner = type_of(schema.get("items", True), indent)
        return f"({inner})[]" if "|" in inner and not inner.startswith("{") else f"{inner}[]"
    return of_object(schema, indent) if kind == "object" else PLAIN[kind]


def type_of(schema, indent=""):
    """A type of TypeScript for a schema; what a schema says beyond it is for the server to check."""
    if schema is True or not schema:
        return "unknown"
    if "$ref" in schema:
        return f"Schemas[{quoted(name_of(schema['$ref']))}]"
    if "const" in schema:
        return quoted(schema["const"])
    if "enum" in schema:
        return fold(union(quoted(value) for value in schema["enum"]), indent)
    if "type" not in schema:
        for word, joint in (("oneOf", " | "), ("anyOf", " | "), ("allOf", " & ")):
            if word in schema:
                return joint.join(dict.fromkeys(type_of(part, indent) for part in schema[word]))
        return of_object(schema, indent) if "properties" in schema else "unknown"
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return union(of_type(kind, schema, indent) for kind in kinds)


def main():
    rows = json.load(sys.stdin)["components"]["schemas"].items()
    sys.stdout.write(HEAD + "".join(f"  {key_of(name)}: {type_of(schema, '  ')};\n" for name, schema in rows) + "}\n")


if __name__ == "__main__":
    main()
