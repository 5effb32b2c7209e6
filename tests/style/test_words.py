"""No text or name has a word that `docs/glossary.md` replaces."""

from __future__ import annotations

import re
from collections import Counter

from support.checkout import ROOT, tracked

GLOSSARY = ROOT / "docs" / "glossary.md"

SUFFIXES = ("*.cfg", "*.js", "*.md", "*.py", "*.tla", "*.toml", "*.ts", "*.tsx", "*.txt")
LEFT_OUT = {"docs/glossary.md", "tests/style/test_words.py"}
BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_")


def replaced_words() -> list[str]:
    """The words in the last table of the glossary, each once."""
    table = GLOSSARY.read_text().split("## Words to replace", 1)[1]
    rows = [line.split("|")[2] for line in table.splitlines() if line.startswith("| ")]
    return sorted({word.replace("_", " ") for row in rows for word in re.findall(r"`(.+?)`", row)})


def count_words(text: str, words: list[str]) -> Counter[str]:
    """How often each of ``words`` stands in ``text``, names split into their words."""
    plain = re.sub(r"\s+", " ", BOUNDARY.sub(" ", text)).lower()
    one_of = "|".join(sorted(map(re.escape, words), key=len, reverse=True))
    return Counter(re.findall(rf"\b({one_of})\b", plain))


def test_no_replaced_word_is_used() -> None:
    words = replaced_words()
    assert "hole" in words, "the table of the glossary was not read"
    used = {}
    for path in tracked(*SUFFIXES):
        name = path.relative_to(ROOT).as_posix()
        text = name + "\n" + path.read_text(errors="replace")
        if name not in LEFT_OUT and (counts := count_words(text, words)):
            used[name] = dict(counts)

    assert used == {}, "docs/glossary.md says which word to use instead"


def test_a_name_is_split_into_its_words() -> None:
    words = ["hole", "turned off"]
    text = "class LogHole: the_hole = 1  # turned_off, turned\noff; whole"

    assert count_words(text, words) == {"hole": 2, "turned off": 2}
