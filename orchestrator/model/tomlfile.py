"""Reading a TOML file that a person wrote: its table, the line of each key, and every fault of it at once."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, get_args

import tomllib
import tree_sitter_toml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from tree_sitter import Language, Node, Parser

from orchestrator.model.faults import BadFile, Fault, nearest, shown

T = TypeVar("T", bound=BaseModel)
MOST_BYTES = 256 * 1024
Lines = Mapping[str, int]
_LITERAL = re.compile(r"[^',\s]+(?=')|\b\d+\b")
_WANTED = {
    "model_type": "must be a table",
    "dict_type": "must be a table",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "string_type": "must be a string in quotes",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "decimal_type": "must be a number",
    "decimal_parsing": "must be a number",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be {ge} at least",
    "less_than_equal": "must be {le} at most",
}
_AT_LINE = re.compile(r"\(at line (\d+), column \d+\)")


def parse(text: str) -> tuple[dict[str, Any], Lines]:
    """The table, and the line of each key path. Raises BadFile."""
    size_bytes = len(text.encode(errors="replace"))
    if size_bytes > MOST_BYTES:
        raise BadFile([Fault("", None, f"the file has {size_bytes} bytes; at most {MOST_BYTES} are read")])
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadFile([_syntax(str(error), text)]) from None
    except RecursionError:
        raise BadFile([Fault("", None, "the file is nested too deeply")]) from None
    return table, _lines(text)


def decode(data: bytes) -> str:
    """The text of a file's bytes. Raises BadFile."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise BadFile([Fault("", line, "the file is not UTF-8")]) from None


def _syntax(message: str, text: str) -> Fault:
    at = _AT_LINE.search(message)
    line = int(at.group(1)) if at else text.count("\n") + 1
    return Fault("", line, f"this is not TOML: {_AT_LINE.sub('', message).strip().rstrip(':')}")


# ---------------------------------------------------------------- lines


def _lines(text: str) -> dict[str, int]:
    data = text.encode(errors="replace")
    root = Parser(Language(tree_sitter_toml.language())).parse(data).root_node
    found: dict[str, int] = {}
    for path, line in _walk(root, ""):
        found.setdefault(path, line)
    return found


def _walk(node: Node, prefix: str) -> Iterator[tuple[str, int]]:
    for child in node.named_children:
        if child.type in ("table", "table_array_element"):
            path = _key(child.named_children[0])
            yield path, child.start_point[0] + 1
            yield from _walk(child, path)
        elif child.type == "pair":
            key, value = child.named_children[0], child.named_children[-1]
            path = f"{prefix}.{_key(key)}" if prefix else _key(key)
            yield path, child.start_point[0] + 1
            if value.type == "inline_table":
                yield from _walk(value, path)


def _key(node: Node) -> str:
    """A key as a dotted path without quotes."""
    if node.type == "dotted_key":
        return ".".join(_key(part) for part in node.named_children)
    text = (node.text or b"").decode(errors="replace")
    return text.strip("\"'") if node.type == "quoted_key" else text


def line_of(lines: Lines, path: str) -> int | None:
    """The line of a key, or of the nearest table around it that has one."""
    parts = path.split(".")
    for end in range(len(parts), 0, -1):
        line = lines.get(".".join(parts[:end]))
        if line is not None:
            return line
    return None


# ---------------------------------------------------------------- validation


def validate(kind: type[T], table: Mapping[str, Any], lines: Lines) -> tuple[T | None, list[Fault]]:
    """The model, or every fault."""
    try:
        return kind.model_validate(table), []
    except ValidationError as error:
        return None, _unique(_fault(kind, found, lines) for found in error.errors())
    except RecursionError:
        return None, [Fault("", None, "the file is nested too deeply")]


def _unique(faults: Iterator[Fault]) -> list[Fault]:
    """One fault a place: a union of types would tell each of its own."""
    first: dict[str, Fault] = {}
    for fault in faults:
        first.setdefault(fault.path, fault)
    return list(first.values())


def _fault(kind: type[BaseModel], found: ErrorDetails, lines: Lines) -> Fault:
    path = _path(found["loc"])
    return Fault(path, line_of(lines, path), _message(kind, found))


def _path(where: tuple[int | str, ...]) -> str:
    """The key path, without the names that pydantic gives to the members of a union."""
    return ".".join(str(part) for part in where if not re.search(r"[\[\]()]", str(part)))


def _message(kind: type[BaseModel], found: ErrorDetails) -> str:
    name = str(found["loc"][-1]) if found["loc"] else ""
    given = shown(found["input"])
    if found["type"] == "extra_forbidden":
        return f"unknown key; {nearest(name, _keys_at(kind, found['loc'][:-1]))}"
    if found["type"] == "missing":
        return "is missing"
    if found["type"] == "literal_error":
        expected = str(found["ctx"]["expected"])
        return f"{given} is not allowed; {nearest(str(found['input']), re.findall(_LITERAL, expected))}"
    if found["type"] == "value_error":
        return found["msg"].removeprefix("Value error, ")
    return f"{_wanted(found)}; found {given}"


def _wanted(found: ErrorDetails) -> str:
    """What pydantic asks for, as one says it of TOML: https://docs.pydantic.dev/latest/errors/validation_errors/."""
    wanted = _WANTED.get(found["type"])
    return wanted.format(**found.get("ctx", {})) if wanted else found["msg"]


def _keys_at(kind: type[BaseModel], where: tuple[int | str, ...]) -> list[str]:
    """The keys that a table may have, following the path through models."""
    current: type[BaseModel] | None = kind
    for part in where:
        if current is None or part not in _by_alias(current):
            continue
        current = _model_in(_by_alias(current)[str(part)])
    return list(_by_alias(current)) if current is not None else []


def _by_alias(kind: type[BaseModel]) -> dict[str, Any]:
    return {field.alias or name: field.annotation for name, field in kind.model_fields.items()}


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = (_model_in(part) for part in get_args(annotation))
    return next((model for model in inner if model is not None), None)
