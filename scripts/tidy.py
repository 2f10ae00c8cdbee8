"""What a machine can say about the layout: each rule with its reason, each exception with its own.

`make tidy` prints what is not in order; tests/test_tidy.py fails on it, and shows that each rule can fail.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

TOP = Path(__file__).parents[1]
LONGEST_MODULE, LONGEST_FUNCTION = 400, 60
FOLDERS = ("src", "tests", "scripts", "benchmarks", "docs", "deploy", "examples", "scenarios", "requirements")
READABLE = (".py", ".md", ".yaml", ".toml", ".sh", ".txt", ".json", "")


@dataclass(frozen=True, slots=True)
class File:
    """One file of the repository."""

    path: str
    text: str

    @property
    def tree(self) -> ast.Module:
        """The syntax of a Python file."""
        return ast.parse(self.text)

    def within(self, *folders: str) -> bool:
        """Whether it is Python in one of these folders."""
        return self.path.endswith(".py") and self.path.startswith(folders)


@dataclass(frozen=True, slots=True)
class Finding:
    """What is not in order, and where."""

    path: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}"


@dataclass(frozen=True, slots=True)
class Rule:
    """What is asked of every file, why, and who is let off for which reason."""

    name: str
    reason: str
    find: Callable[[File], Iterator[Finding]]
    exceptions: Mapping[str, str] = field(default_factory=dict)  # Path, or path and name, → reason.

    def findings(self, files: list[File]) -> list[Finding]:
        """All that is not in order and has no excuse."""
        return [each for file in files for each in self.find(file) if not self._excused(each)]

    def _excused(self, finding: Finding) -> bool:
        return finding.path in self.exceptions or f"{finding.path}:{finding.what.split(' ')[0]}" in self.exceptions

    def unused(self, files: list[File]) -> list[str]:
        """Exceptions that excuse nothing any more."""
        found = {key for file in files for each in self.find(file) for key in _keys(each)}
        return [key for key in self.exceptions if key not in found]


def _keys(finding: Finding) -> tuple[str, str]:
    return finding.path, f"{finding.path}:{finding.what.split(' ')[0]}"


def long_modules(file: File) -> Iterator[Finding]:
    """Python files that are too long to read at a sitting."""
    lines = file.text.count("\n")
    if file.within("src/", "scripts/") and lines > LONGEST_MODULE:
        yield Finding(file.path, LONGEST_MODULE, f"{lines} lines, more than {LONGEST_MODULE}")


def long_functions(file: File) -> Iterator[Finding]:
    """Functions that do not fit on a screen, their arguments and docstring left out."""
    if not file.within("src/", "scripts/"):
        return
    for node in ast.walk(file.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            documented = ast.get_docstring(node) is not None and len(node.body) > 1
            first = node.body[1 if documented else 0]
            length = (node.end_lineno or first.lineno) - first.lineno + 1
            if length > LONGEST_FUNCTION:
                yield Finding(file.path, node.lineno, f"{node.name} has {length} lines, more than {LONGEST_FUNCTION}")


def empty_names(file: File) -> Iterator[Finding]:
    """Modules whose name says nothing about their subject."""
    name = Path(file.path).stem
    if file.path.endswith(".py") and re.fullmatch(r"_?(utils?|commons?|helpers?|managers?|base|misc|stuff)", name):
        yield Finding(file.path, 1, f"{name} is no subject")


def sleeping_tests(file: File) -> Iterator[Finding]:
    """Waits for a time instead of for a condition, in real time; in a loop that asks again they are how one waits."""
    if not file.within("tests/") or "sleep" not in file.text:
        return
    tree = file.tree
    all_real = any(isinstance(node, ast.Assign) and "sockets" in ast.unparse(node) for node in tree.body)
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            real = all_real or any("sockets" in ast.unparse(each) for each in function.decorator_list)
            for call in _sleeps_outside_of_loops(function):
                if call.startswith("time.") or (real and call not in ("asyncio.sleep(0)", "asyncio.sleep(0.0)")):
                    yield Finding(file.path, function.lineno, f"{function.name} does {call}")


def _sleeps_outside_of_loops(node: ast.AST) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call) and ast.unparse(child.func) in ("time.sleep", "asyncio.sleep"):
            yield ast.unparse(child)
        loops = ast.While | ast.For | ast.AsyncFor
        if not isinstance(child, loops | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _sleeps_outside_of_loops(child)


IMPURE = frozenset(
    {"asyncio", "time", "random", "datetime", "socket", "threading", "subprocess", "sqlite3", "os", "secrets"}
)


def impure_decisions(file: File) -> Iterator[Finding]:
    """Decisions and objects that could read a clock, chance or the world outside, or wait."""
    if not file.within("src/eachnode/decisions/", "src/eachnode/objects/"):
        return
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names]
            for name in names:
                if name.split(".")[0] in IMPURE:
                    yield Finding(file.path, node.lineno, f"{name} is imported")
        elif isinstance(node, ast.AsyncFunctionDef | ast.Await):
            yield Finding(file.path, node.lineno, "await in what has to be pure")
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("open", "print", "input")
        ):
            yield Finding(file.path, node.lineno, f"{node.func.id} in what has to be pure")


def promises(file: File) -> Iterator[Finding]:
    """Notes of what ought to be done, and code that is not there."""
    if not file.within("src/", "tests/", "scripts/", "benchmarks/"):
        return
    for number, line in enumerate(file.text.splitlines(), 1):
        if re.search(r"#.*\b(TOD[O]|FIXM[E]|XX[X]|HAC[K])\b|\braise NotImplemented[E]rror\b", line):
            yield Finding(file.path, number, "what is not done is not in the code")


# Written so that this file does not find itself.
PLACES = re.compile(r"(?<![\w/.-])/(?:work|root|home/[a-z]+)/|" + "file://" + r"/(?:opt|work)|index[-]url\s*=?\s*http")


def places(file: File) -> Iterator[Finding]:
    """Names of one machine or one workplace."""
    for number, line in enumerate(file.text.splitlines(), 1):
        if PLACES.search(line):
            yield Finding(file.path, number, "a path or registry of somebody's machine")


def bare_excuses(file: File) -> Iterator[Finding]:
    """Checks that are switched off without a word why."""
    if not file.within("src/", "tests/", "scripts/", "benchmarks/"):
        return
    for number, line in enumerate(file.text.splitlines(), 1):
        found = re.search(r"# (?:noqa|type: ignore)(?:: ?[A-Z0-9, ]+|\[[a-z, -]+\])?(.*)", line)
        if found and not re.search(r"\w{2,}", found[1]):
            yield Finding(file.path, number, "a check is switched off without the reason beside it")


def undescribed_modules(file: File) -> Iterator[Finding]:
    """Modules of the package that do not begin by saying what they are."""
    if file.within("src/") and file.text.strip() and ast.get_docstring(file.tree) is None:
        yield Finding(file.path, 1, "has no docstring")


RULES = (
    Rule(
        "long modules",
        "A file has one subject, and one sitting is enough to read it.",
        long_modules,
        {
            "src/eachnode/runtime/informer.py": "a state machine is followed from its first state to its last",
            "scripts/make_field_tables.py": "run when the published schema is renewed, and read then as a whole",
        },
    ),
    Rule("long functions", "A function is seen as a whole, or it is not understood as a whole.", long_functions),
    Rule("empty names", "A name that fits everything collects everything; a subject has a name.", empty_names),
    Rule(
        "sleeping tests",
        "A test that waits for a time is slow on a good day and wrong on a bad one.",
        sleeping_tests,
        {
            "tests/replay/player.py": "recordings say how long was waited",
            "tests/client/test_cluster.py:handler": "a test server that is slow, or keeps a watch open",
        },
    ),
    Rule(
        "impure decisions",
        "What is pure can be shown, tried, replayed and trusted: plan, why and simulate rest on it.",
        impure_decisions,
        {"src/eachnode/objects/clock.py": "spells a moment that it is given; asks for none"},
    ),
    Rule("promises", "What is missing belongs into an issue, where it is seen.", promises),
    Rule("places", "The repository works anywhere, and tells nothing about where it was made.", places),
    Rule("bare excuses", "An exception without its reason is the rule for whoever comes next.", bare_excuses),
    Rule(
        "undescribed modules",
        "A newcomer reads the first line of a file to know whether to read on.",
        undescribed_modules,
    ),
)


def files() -> list[File]:
    """Every file that people wrote; what is generated or recorded is left out."""
    tops = [path for path in sorted(TOP.iterdir()) if path.is_file() and path.suffix in (".md", ".toml", "")]
    found = [path for folder in FOLDERS for path in sorted((TOP / folder).rglob("*")) if path.is_file()]
    return [
        File(path.relative_to(TOP).as_posix(), path.read_text())
        for path in [*tops, *found]
        if path.suffix in READABLE and "__pycache__" not in path.parts and path.stat().st_size < 500_000
    ]


def main() -> int:
    """Print what is not in order; 1 if anything is not."""
    everything = files()
    untidy = 0
    for rule in RULES:
        findings = [str(each) for each in rule.findings(everything)]
        findings += [f"{key}: needs no exception any more" for key in rule.unused(everything)]
        if findings:
            untidy += len(findings)
            print(f"{rule.name}: {rule.reason}", *(f"  {each}" for each in findings), sep="\n")
    print(f"{len(everything)} files, {len(RULES)} rules, {untidy} findings", file=sys.stderr)
    return 1 if untidy else 0


if __name__ == "__main__":
    sys.exit(main())
