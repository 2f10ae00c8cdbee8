"""Which test shows which numbered behaviour of the reference; fails when one of them is shown by none.

Tests name the behaviours they show with `@pytest.mark.behaviour(51, 53)`. They are found by reading the tests, not by
running them: whether they pass is the test suite's business.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

NUMBERS = range(1, 197)  # The catalogue of the DaemonSet controller's behaviours.
ROOT = Path(__file__).resolve().parent.parent


def numbers_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[int]:
    """The behaviours that a test names; ValueError for what is not a number."""
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.behaviour":
            for argument in decorator.args:
                if not isinstance(argument, ast.Constant) or not isinstance(argument.value, int):
                    raise ValueError(f"{function.name}: behaviours are named by number, not by {ast.unparse(argument)}")
                yield argument.value


def shown(tests: Path) -> dict[int, list[str]]:
    """The tests that show each behaviour."""
    found: dict[int, list[str]] = defaultdict(list)
    for path in sorted(tests.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for number in numbers_of(node):
                    found[number].append(f"{path.relative_to(tests.parent)}::{node.name}")
    return found


def main() -> int:
    found = shown(ROOT / "tests")
    for number in NUMBERS:
        print(f"{number:4}  {found[number][0] if found[number] else '—— shown by no test'}")
        for test in found[number][1:]:
            print(f"      {test}")
    missing = [number for number in NUMBERS if not found[number]]
    unknown = sorted(number for number in found if number not in NUMBERS)
    print(f"\n{len(NUMBERS) - len(missing)} of {len(NUMBERS)} behaviours are shown by tests")
    if missing:
        print(f"not shown: {', '.join(map(str, missing))}", file=sys.stderr)
    if unknown:
        print(f"no such behaviours: {', '.join(map(str, unknown))}", file=sys.stderr)
    return 1 if missing or unknown else 0


if __name__ == "__main__":
    sys.exit(main())
