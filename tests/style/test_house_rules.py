"""The house rules that ruff and mypy do not know."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from hypothesis import HealthCheck, settings

from support.checkout import ROOT, tracked

FORBIDDEN_IN_CLUSTER = {
    *("asyncio", "datetime", "io", "logging", "multiprocessing", "os", "pathlib", "random"),
    *("secrets", "selectors", "shutil", "socket", "subprocess", "sys", "tempfile", "threading"),
    *("time", "uuid"),
}
FORBIDDEN_CALLS = {"open", "print", "input", "eval", "exec", "__import__", "hash", "id"}
DOORS: dict[str, frozenset[str]] = {
    "archive/storage.py": frozenset({"os", "pathlib"}),
    "client/connection.py": frozenset({"asyncio", "secrets", "time"}),
    "transport/links.py": frozenset({"asyncio"}),
    "runner/cluster_run.py": frozenset({"asyncio", "pathlib", "secrets", "time"}),
    "runner/commands.py": frozenset({"asyncio", "os", "random", "sys"}),
    "runner/configuration.py": frozenset({"os", "pathlib"}),
    "runner/load.py": frozenset({"asyncio", "time"}),
    "runner/member_process.py": frozenset({"asyncio", "os", "pathlib", "secrets", "sys", "time"}),
    "runner/supervisor.py": frozenset({"asyncio", "socket", "sys"}),
}
"""Modules around ``canvass.cluster`` that are doors to the outside, with what each may import."""
SEEDED = ("simulation/", "archive/memory.py")
"""May draw from a `random.Random` that they are given or make of a seed, and nothing else."""

# Assembled, so that this file does not hold what it forbids.
MACHINE_PATHS = tuple("/" + folder + "/" for folder in ("work", "root", "home", "opt/pypi"))
PACKAGE_HOSTS = tuple(
    ".".join((*host, "org"))
    for host in (("pypi",), ("python" + "hosted",), ("registry", "npm" + "js"), ("deb", "debian"))
)


def sources() -> tuple[Path, ...]:
    found = tracked("*.py")
    assert found, "the tree has no Python: the list of files is wrong"
    return found


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imported(tree: ast.Module) -> Iterator[str]:
    """Top-level names of what a module imports, wherever in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def test_no_file_names_a_machine_or_a_package_host() -> None:
    wrong = []
    for path in tracked():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # Binary.
        wrong += [
            f"{name_of(path)}: {word}" for word in MACHINE_PATHS + PACKAGE_HOSTS if word in text
        ]

    assert wrong == []


def test_positions_are_written_as_aeron_writes_them() -> None:
    grouped = re.compile(r"[Pp]osition:" + r",")
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in sources()
        if "tests" not in path.relative_to(ROOT).parts
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if grouped.search(line)
    ]
    assert found == []


def test_every_module_says_what_lives_there() -> None:
    without = [
        name_of(path)
        for path in sources()
        if not path.read_text().lstrip().startswith(('"""', 'r"""', "#!"))
    ]

    assert without == []


def test_no_clock_decides_what_hypothesis_says_of_a_property() -> None:
    assert settings().deadline is None
    assert HealthCheck.too_slow in settings().suppress_health_check


def test_make_bench_runs_every_script_in_benchmarks_and_no_helper() -> None:
    recipe = (ROOT / "Makefile").read_text("utf-8").partition("\nbench:")[2].partition("\n\n")[0]
    assert "benchmarks/[a-z]*.py" in recipe
    for path in (ROOT / "benchmarks").glob("*.py"):
        runs = 'if __name__ == "__main__":' in path.read_text("utf-8")
        assert runs == (not path.name.startswith("_")), path.name


def test_make_bench_fails_where_a_benchmark_fails(tmp_path: Path) -> None:
    (tmp_path / "benchmarks").mkdir()
    for name, code in (("bad", 3), ("good", 0), ("_helper", 4)):
        (tmp_path / "benchmarks" / f"{name}.py").write_text(f"raise SystemExit({code})")
    named = [f"-o{target}" for target in ("java", "page-if-possible")]
    command = ["make", "-f", str(ROOT / "Makefile"), *named, f"BIN={Path(sys.executable).parent}"]
    done = subprocess.run(
        [*command, "bench"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert (done.returncode != 0, done.stdout.split()) == (
        True,
        ["#", "benchmarks/bad.py", "#", "benchmarks/good.py"],
    )
    assert "failed: benchmarks/bad.py\n" in done.stderr


def test_the_namespace_package_has_no_init_file() -> None:
    assert list(ROOT.glob("*/canvass/__init__.py")) == []


def test_the_cluster_reaches_clock_chance_and_files_only_through_its_port() -> None:
    wrong = []
    for path in sources():
        name = name_of(path)
        if name.startswith("impl/canvass/cluster/"):
            tree = ast.parse(path.read_bytes())
            reached = set(imported(tree)) & FORBIDDEN_IN_CLUSTER
            called = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
            wrong += [f"{name}: {each}" for each in sorted(reached | called & FORBIDDEN_CALLS)]

    assert wrong == []


def test_what_surrounds_the_cluster_is_stepped_too_but_for_its_doors() -> None:
    wrong, seen = [], set()
    for path in sources():
        name = name_of(path).removeprefix("impl/canvass/")
        if name == name_of(path) or name.startswith("cluster/"):
            continue
        allowed = DOORS.get(name, frozenset({"random"} if name.startswith(SEEDED) else ()))
        reached = set(imported(ast.parse(path.read_bytes()))) & FORBIDDEN_IN_CLUSTER
        wrong += [f"{name}: {module}" for module in sorted(reached - allowed)]
        seen |= {name} & DOORS.keys()

    assert wrong == []
    assert seen == DOORS.keys()


def test_the_cluster_depends_on_no_other_part_of_canvass() -> None:
    wrong = []
    for path in sources():
        if name_of(path).startswith("impl/canvass/cluster/"):
            for node in ast.walk(ast.parse(path.read_bytes())):
                if isinstance(node, ast.ImportFrom) and node.module:
                    head, _, rest = node.module.partition(".")
                    if head == "canvass" and rest.partition(".")[0] != "cluster":
                        wrong.append(f"{name_of(path)}: {node.module}")

    assert wrong == []


def test_each_package_tells_type_checkers_that_it_is_typed() -> None:
    """In a namespace package the marker belongs into each package below it."""
    packages = [path.parent for path in ROOT.glob("*/canvass/*/__init__.py")]

    assert packages
    assert [path for path in packages if not (path / "py.typed").is_file()] == []
