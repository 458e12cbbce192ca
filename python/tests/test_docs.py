"""Runs the blocks of docs/python.md one after the other, and the examples that need nothing else."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_every_block_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 6
    names = {}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), names)
    assert (names["hit"].id, len(names["index"])) == ("refund", 3)


@pytest.mark.parametrize("arguments, found", [
    (["search.py"], r"^\d\.\d{3}  password  To reset your password"),
    (["drop_in.py"], r"^\(3, 192\)$"),
    (["compare.py", str(ROOT / "examples" / "faq"), "simile-mini-3-static", "bm25"],
     r"^map: -0\.\d{3}, 95% interval -0\.\d{3} to -0\.\d{3}$"),
])
def test_examples(arguments, found):
    done = subprocess.run([sys.executable, ROOT / "examples" / "python" / arguments[0], *arguments[1:]],
                          capture_output=True, text=True, check=True)
    assert re.search(found, done.stdout, re.MULTILINE), done.stdout
