"""The package against the program, and what its users do: threads, fork, Ctrl-C, odd texts.

Run with pytest where `pysimile` is installed. PYSIMILE_MODEL names another model than the one that it brings.
"""

import json
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import pysimile
from pysimile import Encoder, Index, InputError, UsageError

MODEL = os.environ.get("PYSIMILE_MODEL", "simile-mini-3-static")
TEXTS = ["How do I reset my password?", "Opening hours on Sunday", "", "naïve café \u4f60\u597d", "a\tb\nc", "\U0001f600"]


@pytest.fixture(scope="module")
def encoder():
    return Encoder(MODEL)


def run(*arguments, text=None):
    done = subprocess.run([pysimile.program(), *arguments], input=text, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture()
def index(tmp_path):
    path = str(tmp_path / "kb")
    with Index.create(path, model=MODEL) as made:
        made.add({"id": str(i), "text": f"{text or 'nothing'} {i}", "metadata": {"n": i, "even": i % 2 == 0}}
                 for i, text in enumerate(TEXTS * 20))
    return Index.open(path)


def test_vectors_are_those_of_the_program(encoder, tmp_path):
    texts = [text.replace("\n", " ").replace("\t", " ") or "x" for text in TEXTS]
    run("encode", "--model", MODEL, "--output", str(tmp_path / "v.npy"), text="\n".join(texts) + "\n")
    assert np.array_equal(np.load(tmp_path / "v.npy"), encoder.encode(texts))


def test_hits_are_those_of_the_program(index):
    for mode in (None, "vector", "lexical", "hybrid"):
        flags = [] if mode is None else ["--mode", mode]
        line = run("search", "--index", index.path, "--query", "reset the password", "--json", *flags)
        theirs = [(hit["id"], hit["score"]) for hit in json.loads(line)["hits"]]
        assert theirs == [(hit.id, hit.score) for hit in index.search("reset the password", mode=mode)]


def test_encode_takes_what_sentence_transformers_takes(encoder):
    one = encoder.encode("a text")
    assert one.shape == (encoder.get_sentence_embedding_dimension(),) and one.dtype == np.float32
    several = encoder.encode(("a text", "another"), batch_size=1, show_progress_bar=False, convert_to_numpy=True,
                             device="cpu", normalize_embeddings=True)
    assert several.shape == (2, one.size)
    assert np.allclose(np.linalg.norm(several, axis=1), 1, atol=1e-6)
    assert encoder.encode([]).shape == (0, one.size)
    assert encoder.encode(["a", "b"], truncate_dim=8).shape == (2, 8)
    assert encoder.encode(["a", "b", "c"], precision="ubinary").shape == (3, one.size // 8)
    assert encoder.encode(["a", "b", "c"], precision="int8").dtype == np.int8
    assert encoder.similarity(several, several).shape == (2, 2)


def test_prompts():
    with_prompts = Encoder(MODEL, prompts={"query": "search: "})
    expected = with_prompts.encode("search: cats")
    assert np.array_equal(with_prompts.encode("cats", prompt_name="query"), expected)
    assert np.array_equal(with_prompts.encode("cats", prompt="search: "), expected)
    with pytest.raises(UsageError, match="no prompt 'passage'; it has query"):
        with_prompts.encode("cats", prompt_name="passage")


@pytest.mark.parametrize("call, error, message", [
    (lambda e: e.encode([1]), TypeError, "expected a text"),
    (lambda e: e.encode(None), TypeError, "iter"),
    (lambda e: e.encode(["a"], colour=1), TypeError, "colour"),
    (lambda e: e.encode(["a"], output_value="token_embeddings"), UsageError, "output_value"),
    (lambda e: Encoder("no-such-model"), InputError, "no-such-model"),
    (lambda e: Index.open("no-such-index"), InputError, "no-such-index"),
])
def test_errors_have_the_text_of_the_program(encoder, call, error, message):
    with pytest.raises(error, match=message):
        call(encoder)


def test_index(index):
    assert len(index) == index.count() == 120 and index.count("even = true") == 60
    assert index.add([{"id": "0", "text": "zebra crossing"}, {"id": "new", "title": "A", "text": "b"}]) == 1
    assert index.search("zebra", 1)[0].id == "0"
    assert [len(hits) for hits in index.search(["a", "b"], 3)] == [3, 3]
    assert index.search("a", 5, filter="n < 3")[0].metadata["n"] < 3
    assert len(list(index.documents())) == 121
    assert index.delete(["new"]) == 1 and index.delete(filter="n >= 100") == 20
    with pytest.raises(InputError, match='no document "nobody"; nothing was removed'):
        index.delete(["1", "nobody"])
    with pytest.raises(UsageError, match="filter"):
        index.search("a", filter="n >>> 3")
    with pytest.raises(UsageError, match="did you mean 'mode'"):
        Index.create(index.path + "2", model=MODEL, mod="vector")


def test_tables_are_taken(tmp_path):
    columns = {"id": [1, 2], "text": ["a cat", "a dog"], "legs": [4.0, None]}
    for name in ("pandas", "polars", "pyarrow"):
        module = pytest.importorskip(name)
        table = module.table(columns) if name == "pyarrow" else module.DataFrame(columns)
        with Index.create(str(tmp_path / name), model=MODEL) as made:
            made.add(table)
        rows = list(Index.open(str(tmp_path / name)).documents())
        assert [(row["id"], row.get("metadata")) for row in rows] == [("1", {"legs": 4}), ("2", None)]


def test_threads_encode_at_once(encoder):
    texts = [f"text number {i}" for i in range(500)]
    expected = encoder.encode(texts)
    same = []
    threads = [threading.Thread(target=lambda: same.append(np.array_equal(encoder.encode(texts), expected)))
               for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert same == [True] * 8


def encode_in_child(texts):
    return Encoder(MODEL).encode(texts)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes(encoder, method):
    texts = [f"text number {i}" for i in range(300)]
    expected = encoder.encode(texts)
    with multiprocessing.get_context(method).Pool(2) as pool:
        for vectors in pool.map(encode_in_child, [texts] * 4):
            assert np.array_equal(vectors, expected)
    assert np.array_equal(pickle.loads(pickle.dumps(encoder)).encode(texts), expected)


def test_a_forked_child_uses_the_parents_encoder(encoder):
    texts = [f"text number {i}" for i in range(3000)]
    expected = encoder.encode(texts)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(encoder.encode(texts), expected) else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("work", [
    "encoder.encode(['some words to be read ' * 100] * 300000)",
    f"run(['serve', '--model', {MODEL!r}, '--port', '0'], quiet=False)",
])
def test_ctrl_c_stops(work):
    code = ("import pysimile, signal, sys\nfrom pysimile.program import run\n"
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # shells start background jobs without it
            f"encoder = pysimile.Encoder({MODEL!r})\n"
            f"print('ready', flush=True)\ntry:\n    {work}\nexcept KeyboardInterrupt:\n    sys.exit(42)\n")
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    child.stdout.readline()
    time.sleep(2)
    child.send_signal(signal.SIGINT)
    assert child.wait(timeout=30) == 42


def odd_texts(count):
    draw = random.Random(7)
    ranges = [(32, 127), (0, 32), (0x300, 0x370), (0x4E00, 0x9FFF), (0x1F300, 0x1F6FF), (0xD800, 0xE000), (0xE000, 0x110000)]
    for _ in range(count):
        low, high = draw.choice(ranges)
        yield "".join(chr(draw.randrange(low, high)) for _ in range(draw.randrange(0, 40)))


def test_odd_texts_neither_crash_nor_leak(encoder):
    def resident():
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    texts = list(odd_texts(100000))
    encoder.encode(texts[:50000])
    before = resident()
    vectors = encoder.encode(texts)
    assert np.isfinite(vectors).all()
    size = vectors.nbytes
    for _ in range(4):
        del vectors
        vectors = encoder.encode(texts)
    assert resident() - before < 2 * size + (64 << 20)


def test_evaluate(tmp_path, encoder):
    table = tmp_path / "pairs.tsv"
    table.write_text("sentence1\tsentence2\tscore\na cat\ta cat sits\t4\na dog\tthe moon\t1\na car\ta red car\t5\n")
    by_python = pysimile.evaluate([encoder, "bm25"], "sts", data=str(table), score_scale=5)
    by_program = run("evaluate", "--model", encoder.model, "bm25", "--task", "sts", "--data", str(table),
                     "--score-scale", "5", "--json")
    assert by_python == json.loads(by_program)
    for quiet in (True, False):
        with pytest.raises(InputError, match="nowhere.tsv"):
            pysimile.evaluate(encoder, "sts", data="nowhere.tsv", quiet=quiet)


def test_training_tells_its_progress(tmp_path):
    examples = Path(__file__).parents[2] / "examples" / "faq"
    recipe = {"model": MODEL, "stages": {"objectives": {
        "data": {"path": str(examples / "train.pairs.tsv"), "left": "question", "right": "answer", "limit": 256},
        "loss": "mnrl", "batch_size": 64}, "epochs": 2}}
    lines = []
    try:
        pysimile.train(recipe, str(tmp_path / "run"), quiet=True, on_progress=lines.append)
    except pysimile.Error as error:
        if "cannot train" not in str(error):
            raise
        pytest.skip("the program cannot train")
    assert [line["step"] for line in lines if "loss" in line] == list(range(1, 9))

    def stop(line):
        raise ValueError(line["step"])

    with pytest.raises(ValueError, match="1"):
        pysimile.train(recipe, str(tmp_path / "stopped"), quiet=True, on_progress=stop)
