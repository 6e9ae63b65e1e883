# This file is part of the paddleflow.core collection.
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later
"""The form of a noun's field table. Only type checkers read this file: nouns import it under TYPE_CHECKING.

A module pays at each call for what it imports, so a noun is data and not a class for each of its objects.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

FieldType = Literal[
    "string", "int", "quantity", "resources", "bool", "datetime", "map", "list", "object", "value", "document"
]


class Rule(TypedDict):
    """A CEL expression that the API server checks, and what it says when the expression is false."""

    rule: str
    message: str
    # The field below it that is wrong.
    fieldPath: NotRequired[str]


class Field(TypedDict):
    """One field. min and max bound the value of an int, the length of a string, the size of a list or map.

    A value is text, a number, a boolean or a list, kept as its text. A document is text, or what is kept as JSON.
    """

    type: FieldType
    required: NotRequired[bool]
    default: NotRequired[Any]
    immutable: NotRequired[bool]
    pattern: NotRequired[str]
    # The pattern in words, for people.
    says: NotRequired[str]
    enum: NotRequired[list[str]]
    # Other words that a declaration may use for those of enum, in lower case, such as the reference's.
    spellings: NotRequired[dict[str, str]]
    # Only text is taken: a number would be what YAML made of it (an unquoted 0755 is 493).
    quoted: NotRequired[bool]
    min: NotRequired[int]
    max: NotRequired[int]
    # Never part of the object, only of a Secret beside it; never shown.
    secret: NotRequired[bool]
    # Only of a declaration, such as the file that a field's text is read from: never part of the object.
    aside: NotRequired[bool]
    # Set by a state of the module or by a controller: it has no option.
    no_option: NotRequired[bool]
    # Of a datetime: one without an offset is taken too, as UTC.
    zoneless: NotRequired[bool]
    # Other names that a declaration may use, such as the reference's.
    aliases: NotRequired[list[str]]
    # What the API server checks of it beside all this; self is the field.
    rules: NotRequired[list[Rule]]
    # The path in the texts (docs/model/) when it is not the field's own path; the fields below it follow.
    doc: NotRequired[str]
    # Of an object: its fields. Of a list or map: one item.
    fields: NotRequired[dict[str, Field]]
    items: NotRequired[Field]
    # Of a list of objects: the fields that tell its items apart, so that two writers can each own some items.
    keys: NotRequired[list[str]]


class Column(TypedDict):
    """A column of `kubectl get`."""

    name: str
    type: Literal["string", "integer", "date"]
    path: str


class Scale(TypedDict):
    """Where `kubectl scale` finds the number that is wanted and the one that is there."""

    spec: str
    status: str


class Ready(TypedDict, total=False):
    """By which an object says that it is what its readers need: a condition that is true, or a value at a path."""

    condition: str
    path: str
    values: list[str]
    # Values at the path from which nothing comes any more.
    failed: list[str]


class Parts(TypedDict, total=False):
    """What only some nouns have."""

    # What it can be declared to be beyond present and absent, and what was done then. Of an object that is there, such a
    # state alone can be declared, without its fields.
    states: dict[str, str]
    # What is waited for, by state.
    ready: dict[str, Ready]

    # The field manager of a noun that is one part of an object which another noun makes: it is applied and taken away
    # by this manager alone, and the object stays.
    manager: str
    # The reference's code of what is wrong with a field (the first part of its path), where it has one of its own; under the
    # empty name, of all others.
    codes: dict[str, str]
    scale: Scale
    # What the names of its objects begin with, where others have objects of the kind too and absent must take none of theirs.
    prefix: str
    # Objects that others make, and labels and annotations of theirs are not this noun's to say.
    foreign: bool
    # Rules about the spec alone; self is the spec.
    spec_rules: list[Rule]


class Noun(Parts):
    """Something that people declare, and the kind of object that it becomes."""

    api: str
    kind: str
    plural: str
    scope: Literal["Cluster", "Namespaced"]
    # The form of its name as people give it; the object's name may be a slug of it.
    name: Field
    spec: dict[str, Field]


class OwnNoun(Noun):
    """One whose kind is ours: its definition (crds/) is generated, and spec is the object's own."""

    short_names: list[str]
    status: dict[str, Field]
    rules: list[Rule]
    columns: list[Column]
