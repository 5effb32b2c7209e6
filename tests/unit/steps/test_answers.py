"""Files of answers: two processes lose nothing, and no damage changes an answer."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from canvass.steps.answers import AnswerFile, AnswersWarning, DamagedAnswers

SPEC = "a spec"
KEYS = np.arange(40, dtype=np.uint64).reshape(20, 2)
CODES = (np.arange(20) % 2).astype(np.int8)
OTHERS = KEYS + np.uint64(1000)
FULL_DISK = """
import resource, sys, warnings
import numpy as np
from pathlib import Path
from canvass.steps.answers import AnswerFile, AnswersWarning
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
warnings.simplefilter("error")
answers = AnswerFile(Path(sys.argv[1]), "a spec")
try:
    answers.add(np.zeros((5000, 2), np.uint64), np.zeros(5000, np.int8))
except AnswersWarning as warning:
    print(warning)
"""


def codes_of(file: AnswerFile) -> list[int]:
    found: list[int] = file.read().lookup(KEYS).tolist()
    return found


def test_what_is_added_is_found_again(tmp_path: Path) -> None:
    file = AnswerFile(tmp_path / "folder" / "answers", SPEC)

    assert codes_of(file) == [-1] * 20
    file.add(KEYS[:5], CODES[:5])
    file.add(KEYS[5:], CODES[5:])

    assert codes_of(file) == CODES.tolist()
    assert file.read().lookup(OTHERS).tolist() == [-1] * 20


def test_processes_that_add_at_once_lose_nothing(tmp_path: Path) -> None:
    file = AnswerFile(tmp_path / "answers", SPEC)
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        rows = range(len(KEYS))
        list(pool.map(file.add, [KEYS[n : n + 1] for n in rows], [CODES[n : n + 1] for n in rows]))

    assert codes_of(file) == CODES.tolist()


@pytest.mark.filterwarnings("ignore::canvass.steps.answers.AnswersWarning")
def test_no_flipped_byte_changes_an_answer(tmp_path: Path) -> None:
    path = tmp_path / "answers"
    AnswerFile(path, SPEC).add(KEYS, CODES)
    whole, known = path.read_bytes(), CODES.tolist()
    lost = 0
    for place in range(0, len(whole), 5):
        changed = whole[place] ^ (1 + place * 37 % 255)
        path.write_bytes(whole[:place] + bytes([changed]) + whole[place + 1 :])
        table = AnswerFile(path, SPEC).read()
        found = table.lookup(KEYS).tolist()
        assert found in (known, [-1] * 20), place
        assert table.lookup(OTHERS).tolist() == [-1] * 20, place
        lost += found != known

    assert 5 * lost > len(KEYS) * KEYS.itemsize * 2


@pytest.mark.parametrize("size", [0, 1, 99, 100, 4096, 5000])
def test_a_truncated_file_has_no_answers(tmp_path: Path, size: int) -> None:
    path = tmp_path / "answers"
    file = AnswerFile(path, SPEC)
    file.add(KEYS, CODES)
    path.write_bytes(path.read_bytes()[:size])

    if size:
        with pytest.warns(AnswersWarning, match="damaged"):
            assert codes_of(file) == [-1] * 20
    else:
        assert codes_of(file) == [-1] * 20


def test_answers_of_another_spec_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "answers"
    AnswerFile(path, "another spec").add(KEYS, CODES)

    with pytest.raises(DamagedAnswers):
        AnswerFile(path, SPEC).checked()


def test_a_folder_that_cannot_be_made_costs_only_the_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    file = AnswerFile(tmp_path / "file" / "answers", SPEC)

    assert codes_of(file) == [-1] * 20
    with pytest.warns(AnswersWarning, match="file/answers: TLC's answers are not kept"):
        file.add(KEYS, CODES)


def test_a_full_disk_costs_only_the_file(tmp_path: Path) -> None:
    path = tmp_path / "answers"
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(path)], check=True, capture_output=True, text=True
    )

    assert "TLC's answers are not kept" in done.stdout
    assert codes_of(AnswerFile(path, SPEC)) == [-1] * 20
