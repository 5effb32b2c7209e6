"""Read, change and write TLC's configuration files; this module runs nothing.

`given` writes values of constants that a configuration cannot express, as a module beside it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from canvass.tlc.errors import ConfigError, TlcError
from canvass.tlc.values import Value, format_value, function

_TOKEN: Final = re.compile(
    r"(?P<skip>\s+|\\\*[^\n]*|\(\*.*?\*\))"
    r'|(?P<token>"(?:[^"\\\n]|\\.)*"|<-|[\w!]+|\S)',
    re.DOTALL | re.ASCII,
)
_SINGLE: Final = {
    "SPECIFICATION": "specification",
    "INIT": "init",
    "NEXT": "next",
    "SYMMETRY": "symmetry",
    "VIEW": "view",
    "ALIAS": "alias",
    "POSTCONDITION": "postcondition",
    "CHECK_DEADLOCK": "check_deadlock",
}
_MANY: Final = {
    "INVARIANT": "invariants",
    "PROPERTY": "properties",
    "CONSTRAINT": "constraints",
    "ACTION_CONSTRAINT": "action_constraints",
}
_PLURAL: Final = {
    "CONSTANTS": "CONSTANT",
    "INVARIANTS": "INVARIANT",
    "PROPERTIES": "PROPERTY",
    "CONSTRAINTS": "CONSTRAINT",
    "ACTION_CONSTRAINTS": "ACTION_CONSTRAINT",
}
_BRACKETS: Final = {"{": 1, "(": 1, "[": 1, "}": -1, ")": -1, "]": -1}


@dataclass(frozen=True, kw_only=True)
class TlcConfig:
    """The contents of a configuration file.

    Attributes
    ----------
    constants : dict
        For the name of each constant (or ``name(arguments)``) the text after it: ``= value`` or
        ``<- operator``.
    specification, init, next, symmetry, view, alias, postcondition : str or None
        Names of operators. ``alias`` and ``postcondition`` are not in TLC 2.15.
    invariants, properties, constraints, action_constraints : tuple of str
        Names of operators.
    check_deadlock : bool or None
        ``None`` without ``CHECK_DEADLOCK``. TLC gets the value as an option, because TLC 2.15
        rejects ``CHECK_DEADLOCK`` in the file.
    """

    constants: Mapping[str, str] = field(default_factory=dict)
    specification: str | None = None
    init: str | None = None
    next: str | None = None
    symmetry: str | None = None
    view: str | None = None
    alias: str | None = None
    postcondition: str | None = None
    invariants: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    action_constraints: tuple[str, ...] = ()
    check_deadlock: bool | None = None

    def names(self) -> tuple[str, ...]:
        """Give the constants and operators that the configuration names; ``A!B`` gives ``A``."""
        singles = (getattr(self, name) for name in _SINGLE.values() if name != "check_deadlock")
        many = (name for group in _MANY.values() for name in getattr(self, group))
        replacing = (text[2:] for text in self.constants.values() if text.startswith("<-"))
        named = (*self.constants, *replacing, *filter(None, singles), *many)
        return tuple(re.split(r"[!(]", name.strip())[0] for name in named)

    def text(self) -> str:
        """Return the file's text, without ``CHECK_DEADLOCK``."""
        lines = [f"CONSTANT {name} {value}" for name, value in self.constants.items()]
        for keyword, attribute in _SINGLE.items():
            value = getattr(self, attribute)
            if value is not None and attribute != "check_deadlock":
                lines.append(f"{keyword} {value}")
        for keyword, attribute in _MANY.items():
            lines += [f"{keyword} {name}" for name in getattr(self, attribute)]
        return "\n".join(lines) + "\n"


def parse_config(text: str, name: str = "configuration") -> TlcConfig:
    """Read a configuration file.

    Parameters
    ----------
    text
        The text of the file.
    name
        The name of the file, for messages.

    Raises
    ------
    ConfigError
        When a keyword is missing, a keyword has no names, or an assignment has no value.
    """
    tokens = [match["token"] for match in _TOKEN.finditer(text) if match["token"]]
    singles: dict[str, str] = {}
    many: dict[str, list[str]] = {attribute: [] for attribute in _MANY.values()}
    constants: dict[str, str] = {}
    at = 0
    while at < len(tokens):
        keyword = _PLURAL.get(tokens[at], tokens[at])
        end = at + 1
        while end < len(tokens) and not _is_keyword(tokens[end]):
            end += 1
        words = tokens[at + 1 : end]
        if keyword == "CONSTANT":
            constants.update(_assignments(words, name))
        elif keyword in _MANY:
            many[_MANY[keyword]] += words
        elif keyword in _SINGLE and len(words) == 1:
            singles[_SINGLE[keyword]] = words[0]
        elif keyword in _SINGLE:
            raise ConfigError(
                f"{name}: {keyword} needs one name, not {ascii(' '.join(words))[:60]}"
            )
        else:
            raise ConfigError(f"{name}: a keyword was expected, not {ascii(keyword)[:60]}")
        at = end
    deadlock = singles.pop("check_deadlock", None)
    if deadlock not in (None, "TRUE", "FALSE"):
        raise ConfigError(f"{name}: CHECK_DEADLOCK is TRUE or FALSE, not {ascii(deadlock)[:60]}")
    names: dict[str, Any] = {attribute: tuple(listed) for attribute, listed in many.items()}
    names.update(singles)
    checks = None if deadlock is None else deadlock == "TRUE"
    return TlcConfig(constants=constants, check_deadlock=checks, **names)


def read_config(path: str | os.PathLike[str]) -> TlcConfig:
    """Read a configuration file.

    Raises
    ------
    TlcError
        When there is no such file.
    ConfigError
        When it cannot be read.
    """
    file = existing_file(path, "configuration")
    try:
        return parse_config(file.read_text(encoding="utf-8"), file.name)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read: {error}") from None


def existing_file(path: str | os.PathLike[str], kind: str) -> Path:
    """Give the absolute path of a file for TLC; refuse one that TLC would take for an option.

    Raises
    ------
    TlcError
        When there is no such file, or its name begins with ``-``.
    """
    name = Path(path).name
    if name.startswith("-"):
        raise TlcError(f"the name of a {kind} must not begin with '-': {name!a}")
    absolute = Path(path).absolute()
    if not absolute.is_file():
        raise TlcError(f"{kind} does not exist: {str(absolute)!a}")
    return absolute


def _is_keyword(token: str) -> bool:
    return token in _SINGLE or token in _MANY or token in _PLURAL or token == "CONSTANT"


def _assignments(words: list[str], name: str) -> dict[str, str]:
    """Read assignments such as ``a = 1  b = {x, y}  c <- d  f(x) = 2``."""
    found: dict[str, str] = {}
    at = 0
    while at < len(words):
        start = at
        at = _skip_group(words, at + 1) if words[at + 1 : at + 2] == ["("] else at + 1
        constant = "".join(words[start:at])
        if words[at : at + 1] not in (["="], ["<-"]) or at + 1 >= len(words):
            raise ConfigError(f"{name}: '= value' or '<- operator' was expected after {constant}")
        sign, begin = words[at], at + 1
        at = _skip_group(words, begin)
        if words[begin] == "[":  # `<- [Module] operator`
            at += 1
        value = " ".join(words[begin:at])
        if value == "-":
            at += 1
            value = "-" + " ".join(words[at - 1 : at])
        found[constant] = f"{sign} {value}"
    return found


def _skip_group(words: list[str], at: int) -> int:
    """Return the index after the word or bracketed group that begins at ``at``."""
    depth = 0
    while at < len(words):
        depth += _BRACKETS.get(words[at], 0)
        at += 1
        if depth <= 0:
            break
    return at


def from_python(data: Any) -> Value:
    """Give the value of nested tuples, lists, sets, mappings and plain values.

    Raises
    ------
    TlaValueError
        If a part is no value of TLA+.
    """
    match data:
        case tuple() | list():
            return tuple(map(from_python, data))
        case AbstractSet():
            return frozenset(map(from_python, data))
        case Mapping():
            return function({from_python(key): from_python(one) for key, one in data.items()})
        case _:
            format_value(data)  # Raises an error if the data is not a value.
            plain: Value = data
            return plain


def given(
    module: Path, config: TlcConfig, constants: Mapping[str, Any], folder: Path
) -> tuple[Path, TlcConfig]:
    """Write a module that defines values of constants; give its path and its configuration.

    Parameters
    ----------
    module, config
        The module that the new one extends, and the configuration whose constants are replaced. A
        run of the new module needs the folder of ``module`` as a library.
    constants
        Python data by name of the constant. Names of fields must not be reserved words of TLA+.
    folder
        The folder to which the new module is written.
    """
    written = folder / f"Given{module.stem}.tla"
    lines = [f"---- MODULE {written.stem} ----", f"EXTENDS {module.stem}, Integers, TLC"]
    values = {name: format_value(from_python(data)) for name, data in constants.items()}
    lines += [f"Given{name} == {text}" for name, text in values.items()]
    written.write_text("\n".join([*lines, "====", ""]), encoding="utf-8")
    named = {name: f"<- Given{name}" for name in constants}
    return written, replace(config, constants={**config.constants, **named})
