# Copyright: the paddleflow.core authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""What can be waited for, as functions of an object's state. They ask nobody and know no time."""

from __future__ import annotations

import re
import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

Object = dict[str, t.Any]
# None is asked about an object that is not there.
Check: t.TypeAlias = "Callable[[Object | None], Verdict]"

ABSENT = "it does not exist"
# Compiled when a path is read: most modules wait for none.
_STEP = (
    r"""\.?(?:(?P<name>[\w-]+)|\[(?P<index>-?\d+)\]|\[(?P<quote>['"])(?P<key>.+?)(?P=quote)\]"""
    r"""|\[\?\(@\.(?P<field>[\w-]+)\s*==\s*(?P<mark>['"])(?P<wanted>.*?)(?P=mark)\)\])"""
)


class Verdict(t.NamedTuple):
    state: t.Literal["ready", "waiting", "failed"]
    why: str = ""


_READY = Verdict("ready")


class PathError(ValueError):
    pass


def deleted(uid: str = "") -> Check:
    """It is gone. With ``uid``, one that was made anew under its name does not count as it."""

    def check(found: Object | None) -> Verdict:
        if found is None or (uid and found["metadata"].get("uid") != uid):
            return _READY
        finalizers = ", ".join(found["metadata"].get("finalizers") or ())
        if found["metadata"].get("deletionTimestamp") and finalizers:
            return Verdict("waiting", f"it is being deleted, which waits for its finalizers {finalizers}")
        return Verdict("waiting", "it still exists")

    return check


def exists() -> Check:
    return lambda found: Verdict("waiting", ABSENT) if found is None else _READY


def condition(type_: str, status: str = "True", reason: str = "") -> Check:
    """Its status has that condition, and means the object as it is now."""

    def check(found: Object | None) -> Verdict:
        if found is None:
            return Verdict("waiting", ABSENT)
        for one in (found.get("status") or {}).get("conditions") or ():
            if str(one.get("type")).lower() != type_.lower():
                continue
            if _outdated(found, one):
                return Verdict("waiting", f"{said(one)}, of an earlier generation")
            right = str(one.get("status")).lower() == status.lower() and reason in ("", one.get("reason"))
            return _READY if right else Verdict("waiting", said(one))
        return Verdict("waiting", f"it has no condition {type_}")

    return check


def said(one: Mapping[str, t.Any]) -> str:
    """What a condition says."""
    if "type" not in one:  # Volcano's jobs note each phase that they came into
        return f"its last phase is {one.get('status')}"
    text = f"its condition {one['type']} is {one.get('status')}"
    return text + "".join(f"{mark}{one[key]}" for mark, key in ((", ", "reason"), (": ", "message")) if one.get(key))


def last(found: Mapping[str, t.Any]) -> str:
    """What the newest condition says, as an addition to what else there is to say; empty when there is none."""
    conditions = (found.get("status") or {}).get("conditions") or ()
    newest = max(conditions, key=lambda one: str(one.get("lastTransitionTime") or ""), default=None)
    return f"; {said(newest)}" if newest else ""


def there(path: str) -> Check:
    """Anything stands at a path.

    :raises PathError: when the path cannot be read
    """
    steps = _steps(path)
    return satisfies(lambda found: _at(found, steps) not in (_MISSING, None), f"its {path} is set")


def value(path: str, wanted: t.Any) -> Check:
    """What stands at a path is ``wanted``, be it written as text or not (``3`` and ``"3"``, ``true`` and ``"True"``).

    :raises PathError: when the path cannot be read
    """
    return _among(path, (wanted,))


def _among(path: str, words: Collection[t.Any]) -> Check:
    steps = _steps(path)
    texts = {str(word).lower() for word in words}
    allowed = f"{'one of ' if len(words) > 1 else ''}{', '.join(map(repr, words))}"

    def check(found: Object | None) -> Verdict:
        if found is None:
            return Verdict("waiting", ABSENT)
        there = _at(found, steps)
        if steps and steps[0] == "status" and _outdated(found, {}):
            return Verdict("waiting", f"its {path} is of an earlier generation")
        if there is not _MISSING and (there in words or str(there).lower() in texts):
            return _READY
        now = "not set" if there is _MISSING else repr(there)
        return Verdict("waiting", f"its {path} is {now}, and not {allowed}{last(found)}")

    return check


def one_of(path: str, ready: Collection[str], failed: Collection[str] = ()) -> Check:
    """What stands at a path is one of the words, and failed for good when it is one of the others.

    :raises PathError: when the path cannot be read
    """

    def ended(found: Object) -> str:
        there = at(found, path)
        return f"its {path} is {there!r}{last(found)}" if there in failed and not _outdated(found, {}) else ""

    return unless(ended, _among(path, ready))


def either(one: Check, other: Check) -> Check:
    def check(found: Object | None) -> Verdict:
        first = one(found)
        return other(found) if first.state == "waiting" and found is not None else first

    return check


def satisfies(test: Callable[[Object], bool], what: str) -> Check:
    """:param what: what holds when the test passes: ``every task runs``"""

    def check(found: Object | None) -> Verdict:
        if found is None:
            return Verdict("waiting", ABSENT)
        return _READY if test(found) else Verdict("waiting", f"not yet so: {what}{last(found)}")

    return check


def unless(failed: Callable[[Object], str], check: Check) -> Check:
    """``check``, but failed for good as soon as ``failed`` gives a reason."""

    def both(found: Object | None) -> Verdict:
        reason = failed(found) if found is not None else ""
        return Verdict("failed", reason) if reason else check(found)

    return both


def at(found: Mapping[str, t.Any], path: str) -> t.Any:
    """What stands at a path (``status.state.phase``, ``spec.tasks[0].name``, ``metadata.labels['a.b/c']``,
    ``status.conditions[?(@.type=="Ready")].status``), or None.

    :raises PathError: when the path cannot be read
    """
    there = _at(found, _steps(path))
    return None if there is _MISSING else there


_MISSING = object()


def _steps(path: str) -> list[str | int | tuple[str, str]]:
    text = path.strip().removeprefix("{").removesuffix("}").removeprefix("$").removeprefix(".")
    steps: list[str | int | tuple[str, str]] = []
    place, pattern = 0, re.compile(_STEP)
    while place < len(text):
        step = pattern.match(text, place)
        if step is None:
            raise PathError(
                f"The path {path!r} cannot be read from {text[place:]!r} on: write it as status.state.phase."
            )
        if step["index"]:
            steps.append(int(step["index"]))
        elif step["field"]:
            steps.append((step["field"], step["wanted"]))
        else:
            steps.append(step["name"] or step["key"])
        place = step.end()
    if not steps:
        raise PathError("The path is empty: write it as status.state.phase.")
    return steps


def _at(found: t.Any, steps: list[str | int | tuple[str, str]]) -> t.Any:
    for step in steps:
        if isinstance(step, tuple):
            field, wanted = step
            items = found if isinstance(found, list) else ()
            found = next((one for one in items if isinstance(one, dict) and str(one.get(field)) == wanted), _MISSING)
        elif isinstance(step, int):
            inside = isinstance(found, list) and -len(found) <= step < len(found)
            found = found[step] if inside else _MISSING
        else:
            found = found.get(step, _MISSING) if isinstance(found, dict) else _MISSING
    return found


def _outdated(found: Object, one: Mapping[str, t.Any]) -> bool:
    """Whether a controller said it of an earlier generation."""
    generation = found["metadata"].get("generation")
    observed = one.get("observedGeneration") or (found.get("status") or {}).get("observedGeneration")
    return isinstance(generation, int) and isinstance(observed, int) and observed < generation
