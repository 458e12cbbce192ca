"""The package against the program, and what its users do: threads, fork, Ctrl-C, odd texts.

Run with pytest where `pysimile` is installed. PYSIMILE_MODEL names another model than the one that it brings.
"""

import datetime
import json
import multiprocessing
import os
import pickle
import random
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import pysimile
from pysimile import Encoder, Index, InputError, UsageError
from pysimile.encoder import quantize

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


@pytest.mark.parametrize("prompts, query, document", [
    ({"query": "q: ", "document": "d: ", "passage": "p: "}, "q: cats", "d: cats"),
    ({"passage": "p: ", "corpus": "c: ", "other": "o: "}, "cats", "p: cats"),
    ({"corpus": "c: "}, "cats", "c: cats"),
    ({"query": "", "document": ""}, "cats", "cats"),
])
def test_roles_have_their_prompts(prompts, query, document):
    encoder = Encoder(MODEL, prompts=prompts)
    for text, role in ((query, encoder.encode_query), (document, encoder.encode_document)):
        assert np.array_equal(role("cats"), encoder.encode(text))
        assert np.array_equal(role("cats", prompt="x: "), encoder.encode("x: cats"))
        assert np.array_equal(role(["cats"], next(iter(prompts))), encoder.encode([prompts[next(iter(prompts))] + "cats"]))


def test_default_prompt_is_of_encode_alone():
    encoder = Encoder(MODEL, prompts={"x": "x: "}, default_prompt_name="x")
    assert np.array_equal(encoder.encode("cats"), encoder.encode("x: cats", prompt=""))
    assert np.array_equal(encoder.encode_query("cats"), encoder.encode("cats", prompt=""))


def test_later_changes_count_and_are_pickled():
    encoder = Encoder(MODEL, prompts={"query": "q: ", "x": "x: "})
    expected = encoder.encode("z: cats", truncate_dim=8)
    encoder.prompts["query"] = "z: "
    del encoder.prompts["x"]
    encoder.truncate_dim = 8
    encoder.similarity_fn_name = "dot"
    for one in (encoder, pickle.loads(pickle.dumps(encoder))):
        assert np.array_equal(one.encode_query("cats"), expected)
        assert (one.prompts, one.get_embedding_dimension()) == ({"query": "z: "}, 8)
        assert one.similarity([[2, 0]], [[3, 0]]).tolist() == [[6]]


def test_max_seq_length_may_be_set():
    encoder = Encoder(MODEL)
    encoder.max_seq_length = 3
    assert [len(ids) for ids in encoder.tokenize(["one two three four five six", "one"])] == [3, len(encoder.tokenize("one"))]
    assert pickle.loads(pickle.dumps(encoder)).max_seq_length == 3
    with pytest.raises(InputError, match="the length limit is 0"):
        encoder.max_seq_length = 0


@pytest.mark.parametrize("name, matrix, pairs", [
    ("cosine", [[1, 0.6], [0, 0.8]], [1, 0.8]),
    ("dot", [[6, 6], [0, 8]], [6, 8]),
    ("euclidean", [[-1, -4.1231055], [-3.6055512, -3.6055512]], [-1, -3.6055512]),
    ("manhattan", [[-1, -5], [-5, -5]], [-1, -5]),
])
def test_similarity(name, matrix, pairs):
    encoder = Encoder(model_name_or_path=MODEL, similarity_fn_name=name)
    left, right = [[2, 0], [0, 2]], [[3, 0], [3, 4]]
    assert encoder.similarity_fn_name == name
    assert encoder.similarity(left, right) == pytest.approx(np.array(matrix))
    assert encoder.similarity_pairwise(left, right) == pytest.approx(np.array(pairs))
    assert encoder.similarity_pairwise(left[0], right[0]) == pytest.approx(pairs[0])


def test_arguments_of_sentence_transformers(encoder):
    same = Encoder(model_name_or_path=MODEL, device="cuda", cache_folder="x", local_files_only=True, token="x",
                   trust_remote_code=True, backend="torch", modules=None, model_kwargs={})
    assert np.array_equal(same.encode(inputs=["a"]), encoder.encode(sentences=["a"]))
    assert Encoder(MODEL, truncate_dim=10000).get_sentence_embedding_dimension() == encoder.encode("a").size
    assert Encoder(MODEL, truncate_dim=8).get_sentence_embedding_dimension() == 8
    assert encoder.tokenize("hello") == encoder.tokenize(["hello"])[0]


def test_quantized_vectors():
    vectors = np.array([[-128, 0.3, 0.5], [-0.5, 0.3, 0.5], [127, 0.3, np.nextafter(np.float32(0.5), np.float32(1))]],
                       np.float32)
    assert quantize(vectors, "int8").tolist() == [[-128, -128, -128], [-1, -128, -128], [127, -128, 126]]
    assert quantize(vectors, "uint8").tolist() == [[0, 0, 0], [127, 0, 0], [255, 0, 254]]
    assert quantize(vectors[:, :2], "binary").tolist() == [[-64], [-64], [64]]
    for precision, shape in (("int8", (0, 3)), ("uint8", (0, 3)), ("binary", (0, 1))):
        assert quantize(vectors[:0], precision).shape == shape


@pytest.mark.parametrize("call, error, message", [
    (lambda e: e.encode([1]), TypeError, "expected a text"),
    (lambda e: e.encode(["a", 1]), TypeError, r"text 1: expected a text \(str\), found int"),
    (lambda e: e.encode({"a": 1}), TypeError, "encode: expected a text or an iterable of texts, found dict"),
    (lambda e: e.tokenize(b"a"), TypeError, "tokenize: expected a text or an iterable of texts, found bytes"),
    (lambda e: e.encode("a", precision="int8"), UsageError, "was given one text; give two or more"),
    (lambda e: e.encode("a", precision="int9"), UsageError, "expected float32, int8, uint8, binary, ubinary, found 'int9'"),
    (lambda e: e.encode("a", processing_kwargs={"a": 1}), UsageError, "encode: processing_kwargs="),
    (lambda e: Encoder(MODEL, model_kwargs={"a": 1}), UsageError, "Encoder: model_kwargs={'a': 1} would change"),
    (lambda e: Encoder(MODEL, backend="onnx"), UsageError, "Encoder: backend='onnx' would change"),
    (lambda e: Encoder(MODEL, colour=1), TypeError, "colour"),
    (lambda e: Encoder(MODEL, similarity_fn_name="x"), UsageError, "expected cosine, dot, euclidean, manhattan, found 'x'"),
    (lambda e: Encoder(), TypeError, "Encoder: expected a model"),
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


def metadata_of(index):
    return {row["id"]: row.get("metadata") for row in index.documents()}


def test_values_of_metadata(index):
    index.delete(filter="exists n")
    index.add([{"id": np.int64(7), "text": "a", "title": None, "metadata": {
        "none": None, "nan": float("nan"), "int": np.int64(5), "float": np.float32(1.5), "day": datetime.date(2024, 5, 1),
        "time": datetime.datetime(2024, 5, 1, 12, 30), "time64": np.datetime64("2024-05-01T12:30:00.000000000"),
        "array": np.array([1, 2]), "list": ("a", None)}}, {"id": "x\ud800", "text": "y\ud800", "metadata": {"a": "\udc00"}}])
    assert metadata_of(index) == {
        "7": {"int": 5, "float": 1.5, "day": "2024-05-01", "time": "2024-05-01T12:30:00",
              "time64": "2024-05-01T12:30:00.000000000", "array": [1, 2], "list": ["a"]},
        "x\ufffd": {"a": "\ufffd"}}
    hits = index.search("a", np.int64(1), filter="time64 = 2024-05-01", min_similarity=np.float32(-1))
    assert [hit.id for hit in hits] == ["7"]
    assert index.search("y\ud800", 1)[0].text == "y\ufffd"
    assert index.delete(["x\ud800"]) == 1


@pytest.mark.parametrize("documents, error, message", [
    ({"id": "a", "text": "b"}, TypeError, "expected a list of documents or a table, found dict"),
    ("text", TypeError, "expected a list of documents or a table, found str 'text'"),
    (["text"], TypeError, "document 0: expected a mapping with id and text, found str 'text'"),
    ([{"id": "a", "text": "b"}, {"id": "c"}], UsageError, r"document 1 \('c'\): 'text' is missing"),
    ([{"text": "b"}], UsageError, r"document 0 \(None\): 'id' is missing"),
    ([{"id": "a", "text": b"b"}], TypeError, r"document 0 \('a'\): 'text': expected a text, found bytes b'b'"),
    ([{"id": "a", "text": "b", "year": 1}], UsageError, r"document 0 \('a'\): unknown key 'year'"),
    ([{"id": "a", "text": "b", "metadata": {"v": float("inf")}}], TypeError, r"\('a'\): metadata 'v': .*, found float inf"),
    ([{"id": "a", "text": "b", "metadata": {"v": {"w": 1}}}], TypeError, r"\('a'\): metadata 'v': .*, found dict"),
    ([{"id": "a", "text": "b", "metadata": "x"}], TypeError, r"'metadata': expected a mapping, found str 'x'"),
])
def test_errors_name_document_and_column(index, documents, error, message):
    with pytest.raises(error, match=message):
        index.add(documents)
    assert len(index) == 120


def test_columns_of_tables(index, tmp_path):
    pandas = pytest.importorskip("pandas")
    index.delete(filter="exists n")
    table = pandas.DataFrame({"id": ["a", "b"], "text": ["a", "b"], "day": pandas.to_datetime(["2024-01-01", None]),
                              "tags": [np.array(["x", "y"]), np.array([], str)],
                              "year": pandas.array([2020, None], dtype="Int64")})
    index.add(table)
    expected = {"a": {"day": "2024-01-01T00:00:00", "tags": ["x", "y"], "year": 2020}, "b": {"tags": []}}
    assert metadata_of(index) == expected
    pytest.importorskip("pyarrow")
    table.to_parquet(tmp_path / "t.parquet")
    index.add(pandas.read_parquet(tmp_path / "t.parquet"))
    assert metadata_of(index) == expected
    with pytest.raises(TypeError, match=r"document 1 \('b'\): metadata 'v': .*, found float inf"):
        index.add(pandas.DataFrame({"id": ["a", "b"], "text": ["a", "b"], "v": [1, np.inf]}))


def test_texts_without_text(index, caplog):
    index.add([{"id": "full", "text": "a"}, {"id": "blank", "text": " "}, {"id": "titled", "title": "a", "text": ""}])
    assert [record.message for record in caplog.records] == [
        '1 of 3 documents have no text (the first: "blank") and were indexed so; leave them out']
    for query, place in (("", 0), (["a", " \n"], 1)):
        with pytest.raises(UsageError, match=f"query {place} is an empty text"):
            index.search(query)


def cross_encoder(folder):
    """A model whose score is the sigmoid of 2, whatever it reads."""
    shutil.copytree(Path(__file__).parents[2] / "tests" / "golden" / "tiny-bert", folder)
    data = (folder / "model.safetensors").read_bytes()
    size, = struct.unpack("<Q", data[:8])
    header, data = json.loads(data[8:8 + size]), data[8 + size:]
    for name, shape, values in (("classifier.weight", [1, 32], [0] * 32), ("classifier.bias", [1], [2]),
                                ("pooler.dense.weight", [32, 32], [0] * 1024), ("pooler.dense.bias", [32], [0] * 32)):
        if name not in header:
            header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + 4 * len(values)]}
            data += struct.pack(f"<{len(values)}f", *values)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    config = json.loads((folder / "config.json").read_text())
    config.update(architectures=["BertForSequenceClassification"], id2label={"0": "LABEL_0"})
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_rerank(index, tmp_path):
    model = cross_encoder(tmp_path / "cross")
    with Index.create(str(tmp_path / "new"), model=MODEL, rerank_model=model) as new:
        new.add([{"id": "a", "text": "the cat"}])
    for one in (Index.open(index.path, rerank_model=model), new):
        hits = one.search("reset the password", 3, rerank=True)
        assert [hit.score for hit in hits] == pytest.approx([0.8807970779778823] * min(3, len(one)))
        assert "search_score" in hits[0].details
    line = run("search", "--index", index.path, "--query", "cat", "--rerank", str(model), "--json")
    assert [hit["id"] for hit in json.loads(line)["hits"]] == [
        hit.id for hit in Index.open(index.path, rerank_model=model).search("cat", rerank=True)]
    with pytest.raises(UsageError, match="open the index with Index.open"):
        index.search("cat", rerank=True)
    with pytest.raises(InputError, match="no-such-model"):
        Index.open(index.path, rerank_model="no-such-model")


def test_progress_of_an_index(index, capfd):
    index.add([{"id": "a", "text": "b"}], show_progress_bar=True)
    assert "embed" in capfd.readouterr().err


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
    "index.add({'id': str(i), 'text': 'some words to be read ' * 100} for i in range(300000))",
    "pysimile.Index.open('kb').search(['some words to be read ' * 100] * 300000)",
    f"run(['serve', '--model', {MODEL!r}, '--port', '0'], quiet=False)",
])
def test_ctrl_c_stops(work, tmp_path):
    code = ("import pysimile, signal, sys\nfrom pysimile.program import run\n"
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # shells start background jobs without it
            f"encoder = pysimile.Encoder({MODEL!r})\n"
            f"pysimile.Index.create('kb', model={MODEL!r}).commit()\n"
            "index = pysimile.Index.open('kb')\n"
            f"print('ready', flush=True)\ntry:\n    {work}\nexcept KeyboardInterrupt:\n    sys.exit(42)\n")
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=tmp_path)
    child.stdout.readline()
    time.sleep(2)
    child.send_signal(signal.SIGINT)
    assert child.wait(timeout=30) == 42


def test_a_signal_stops_an_addition(index):
    class Stopped(Exception):
        pass

    def stop(*_):
        raise Stopped

    def documents():
        yield from ({"id": f"new {i}", "text": "some words to be read " * 400} for i in range(4000))
        signal.setitimer(signal.ITIMER_REAL, 0.3)

    before = signal.signal(signal.SIGALRM, stop)
    try:
        with pytest.raises(Stopped):
            index.add(documents())
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(index) == 120
    assert index.add([{"id": "new", "text": "a"}]) == 0 and len(index) == 121


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


def test_evaluate_scores_the_encoder_that_was_given(tmp_path, encoder):
    table = tmp_path / "pairs.tsv"
    table.write_text("sentence1\tsentence2\tscore\na cat\ta cat sits\t4\na dog\tthe moon\t1\na car\ta red car\t5\n")

    def evaluate(model, **options):
        return pysimile.evaluate(model, "sts", data=str(table), score_scale=5, **options)

    cut = evaluate([Encoder(MODEL, truncate_dim=4), "bm25"])
    assert cut == evaluate([encoder, "bm25"], dimensions=4) != evaluate([encoder, "bm25"])
    assert evaluate(Encoder(MODEL, truncate_dim=10000)) == evaluate(encoder)
    for model, options in (([encoder, Encoder(MODEL, truncate_dim=4)], {}), ([Encoder(MODEL, truncate_dim=4), MODEL], {}),
                           (Encoder(MODEL, truncate_dim=4), {"dimensions": 8}),
                           (Encoder(MODEL, precision="int8"), {"precision": "bf16"})):
        with pytest.raises(UsageError, match="expected models of the same precision and dimensions"):
            evaluate(model, **options)
    short = Encoder(MODEL)
    short.max_seq_length = 3
    for model, name in ((Encoder(MODEL, prompts={"p": "p: "}), "prompts"), (short, "max_seq_length"),
                        (Encoder(MODEL, similarity_fn_name="dot"), "similarity_fn_name")):
        with pytest.raises(UsageError, match=f"has {name} "):
            evaluate(model)


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
