"""What the program `simile` does, called from Python: it runs beside and may be stopped with Ctrl-C."""

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ._errors import Error, InputError, UsageError
from .encoder import Encoder

BASELINES = ("bm25", "tfidf")


def program() -> str:
    """The path of the program `simile` that the package brings."""
    return str(Path(__file__).parent / "bin" / "simile")


def run(arguments: list[str], *, quiet: bool = True, tick: Callable[[], None] | None = None) -> str:
    """Runs the program and returns what it printed. Progress goes to standard error, unless `quiet`.

    `tick` is called five times a second while the program runs, and once at its end. An exception in it, as Ctrl-C,
    stops the program.

    Raises:
        UsageError, InputError, Error: as the program's exit code says, with its message.
    """
    messages = []

    def read(stream: Any) -> None:
        for line in stream:
            messages.append(line)
            if not quiet:
                sys.stderr.write(line)

    with tempfile.TemporaryFile("w+", encoding="utf-8") as printed:
        # In a process group of its own, so that Ctrl-C reaches it once: a second signal would end it before it has saved.
        with subprocess.Popen([program(), *arguments], stdout=printed, stderr=subprocess.PIPE, text=True,
                              process_group=0) as process:
            reader = threading.Thread(target=read, args=(process.stderr,), daemon=True)
            reader.start()
            try:
                while process.poll() is None:
                    try:
                        process.wait(0.2 if tick else None)
                    except subprocess.TimeoutExpired:
                        tick()
                if tick:
                    tick()
            except BaseException:
                process.terminate()
                process.wait()
                raise
            reader.join()
        if process.returncode == 0:
            printed.seek(0)
            return printed.read()
    if process.returncode in (130, -2):
        raise KeyboardInterrupt
    kind = {2: UsageError, 3: InputError}.get(process.returncode, Error)
    text = "".join(messages if quiet else messages[-1:]).strip()
    raise kind(text or f"simile {arguments[0]} ended with {process.returncode}")


def _flags(options: dict[str, Any]) -> list[str]:
    flags = []
    for name, value in options.items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        if value is True:
            flags.append(flag)
        elif isinstance(value, (list, tuple)):
            for item in value:
                flags += [flag, str(item)]
        elif value is not None and value is not False:
            flags += [flag, str(value)]
    return flags


def evaluate(model: Any, task: str, *, quiet: bool = True, **options: Any) -> Any:
    """Scores models on a task, as `simile evaluate` does, and returns what it prints with --json.

    Args:
        model: an Encoder, a name or folder, "bm25", "hybrid:NAME", or a list of these.
        task: "sts", "pairs", "ranking", "classification", "geometry" or a task file.
        options: the flags of `simile evaluate` with _ for -, as `data="test.tsv"`.

    Raises:
        UsageError: an encoder that the program cannot make, as one with prompts of its own; encoders of different
            `precision` or `truncate_dim`, or of others than `options` say.
    """
    models = model if isinstance(model, (list, tuple)) else [model]
    names = [one.model if isinstance(one, Encoder) else str(one) for one in models]
    # The program has one precision and one number of dimensions for all models; the baselines have neither.
    settings = [one.program_options() if isinstance(one, Encoder) else {} for one in models if one not in BASELINES]
    for mine in settings:
        if mine != settings[0] or any(options.get(name, value) != value for name, value in mine.items()):
            found = ", ".join(map(str, [*settings, {name: options[name] for name in mine if name in options}]))
            raise UsageError("evaluate: expected models of the same precision and dimensions, also in the options; "
                             f"found {found}; evaluate them one after the other")
    options = {**options, **(settings[0] if settings else {})}
    return json.loads(run(["evaluate", *_flags({"model": names, "task": task, **options}), "--json"], quiet=quiet))


def _new_lines(output: Path) -> Iterator[list[dict[str, Any]]]:
    """The lines of the run's metrics.jsonl, and of those of its seeds or folds, that came since the last time."""
    places: dict[int, int] = {}  # by inode
    while True:
        found = []
        for path in sorted([*output.glob("metrics.jsonl"), *output.glob("run-*/metrics.jsonl")]):
            with path.open("rb") as file:
                about = os.fstat(file.fileno())
                place = min(places.get(about.st_ino, 0), about.st_size)
                file.seek(place)
                whole = file.read().rpartition(b"\n")
            places[about.st_ino] = place + len(whole[0]) + len(whole[1])
            found += [json.loads(line) for line in whole[0].splitlines()]
        yield found


def train(recipe: Any, output: str, *, quiet: bool = False, resume: bool = False, overwrite: bool = False,
          on_progress: Callable[[dict[str, Any]], None] | None = None, **overrides: Any) -> dict[str, Any]:
    """Trains by a recipe, a file or a dict, and returns the run's results.json. Needs `pip install pysimile[train]`.

    The model is in OUTPUT/model. `overrides` replace values of the recipe, dotted keys as `{"stages.epochs": 2}`.
    `on_progress` is called with each new line of metrics.jsonl, as `{"step": 7, "loss": 0.4, ...}`. An exception in it
    stops the run, which `resume=True` continues.
    """
    if isinstance(recipe, dict):
        folder = Path(output).parent
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / (Path(output).name + ".recipe.yaml")
        path.write_text(json.dumps(recipe), encoding="utf-8")  # JSON is YAML
        recipe = path
    keep = [flag for flag, is_set in (("--resume", resume), ("--overwrite", overwrite)) if is_set]
    values = [f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in overrides.items()]
    tick = None
    if on_progress:
        lines = _new_lines(Path(output))
        next(lines)  # of an earlier run

        def tick() -> None:
            for line in next(lines):
                on_progress(line)

    run(["train", str(recipe), *values, "--output", str(output), *keep], quiet=quiet, tick=tick)
    return json.loads((Path(output) / "results.json").read_text(encoding="utf-8"))


def compare(*runs: str, quiet: bool = True, **options: Any) -> Any:
    """Compares runs or predictions by paired tests, as `simile compare` does; returns what it prints with --json."""
    return json.loads(run(["compare", *map(str, runs), *_flags(options), "--json"], quiet=quiet))
