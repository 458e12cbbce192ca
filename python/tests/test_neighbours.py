"""The package in the libraries that its users have; what is not installed is skipped."""

import datetime
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pysimile import Encoder, Index, UsageError

MODEL = os.environ.get("PYSIMILE_MODEL", "simile-mini-3-static")
EXAMPLES = Path(__file__).parents[2] / "examples" / "python"
ANIMALS = ["a cat purrs", "the kitten drinks milk", "cats sleep all day", "a lion is a big cat", "a cat hunts mice"]
MONEY = ["the bank raised its rates", "loans cost more", "pay the invoice", "a bank account", "interest on savings"]


def test_langchain(tmp_path):
    pytest.importorskip("langchain_core")
    from pysimile.langchain import SimileEmbeddings, SimileVectorStore

    embeddings = SimileEmbeddings(MODEL)
    assert np.allclose(embeddings.embed_query("a cat"), Encoder(MODEL).encode("a cat"))
    store = SimileVectorStore.from_texts(ANIMALS + MONEY, embeddings, [{"n": n, "name": f"O'{n}"} for n in range(10)],
                                         path=str(tmp_path / "kb"))
    assert store.similarity_search("purring cat", 1)[0].page_content == "a cat purrs"
    assert store.similarity_search("purring cat", 5, filter={"n": 7, "name": "O'7"})[0].page_content == MONEY[2]
    documents = store.as_retriever(search_kwargs={"k": 3}).invoke("savings account")
    assert len(documents) == 3 and documents[0].page_content in MONEY
    assert store.get_by_ids([documents[0].id])[0].page_content == documents[0].page_content
    assert store.delete([documents[0].id]) and not store.delete(["nobody"])
    assert len(store.similarity_search_by_vector(embeddings.embed_query("milk"), 2)) == 2
    assert all(0 <= score <= 1 for _, score in store.similarity_search_with_relevance_scores("cat", 3))


@pytest.mark.parametrize("filter, found", [
    ({"lang": ["de", "en"]}, ["a", "b"]),
    ({"year": {"$gte": 2021}}, ["b", "c"]),
    ({"year": {"$gt": 2020, "$lt": 2022}, "lang": "de"}, ["b"]),
    ({"year": {"$ne": 2021}}, ["a", "c"]),
    ({"lang": {"$in": ["en"]}}, ["a"]),
    ({"lang": {"$nin": ["en", "de"]}}, ["c"]),
    ({"year": np.int64(2021)}, ["b"]),
    ({"day": datetime.date(2024, 5, 1)}, ["a"]),
    ({"day": None}, ["b", "c"]),
    ({"day": {"$ne": None}}, ["a"]),
    ("year >= 2021", ["b", "c"]),
    ({}, ["a", "b", "c"]),
])
def test_langchain_filters(langchain_store, filter, found):
    assert sorted(one.id for one in langchain_store.similarity_search("apple", 5, filter=filter)) == found


@pytest.mark.parametrize("filter, error, message", [
    ({"$or": [{"lang": "de"}]}, UsageError, r"filter: '\$or' is not supported, only columns with \$eq, \$ne"),
    ({"lang": {"$like": "d"}}, UsageError, r"filter: '\$like' is not supported"),
    ({"lang": []}, UsageError, "filter: 'lang' in: expected a list of values, found list"),
    ({"lang": {"$in": "de"}}, UsageError, "filter: 'lang' in: expected a list of values, found str 'de'"),
    ({"year": {"$gt": None}}, UsageError, "filter: 'year' >: expected a text, a number"),
    ({"year": float("inf")}, TypeError, "filter: 'year' =: expected a text, a finite number"),
    (len, TypeError, "filter: expected a dict or a text, found builtin"),
])
def test_langchain_refuses_other_filters(langchain_store, filter, error, message):
    with pytest.raises(error, match=message):
        langchain_store.similarity_search("apple", filter=filter)


@pytest.fixture()
def langchain_store(tmp_path):
    pytest.importorskip("langchain_core")
    from pysimile.langchain import SimileEmbeddings, SimileVectorStore

    return SimileVectorStore.from_texts(
        ["a red apple", "ein Apfel", "une pomme"], SimileEmbeddings(MODEL),
        [{"lang": "en", "year": 2020, "day": datetime.date(2024, 5, 1)}, {"lang": "de", "year": 2021, "day": None},
         {"lang": "fr", "year": 2022}], ids=["a", "b", "c"], path=str(tmp_path / "kb"))


def test_langchain_embeddings_have_their_prompts(tmp_path):
    pytest.importorskip("langchain_core")
    from pysimile.langchain import SimileEmbeddings, SimileVectorStore

    embeddings = SimileEmbeddings(MODEL, prompts={"query": "q: "})
    assert embeddings.embed_query("cat") == Encoder(MODEL).encode("q: cat").tolist()
    with pytest.raises(UsageError, match="has prompts"):  # the index would embed without them
        SimileVectorStore.from_texts(["a"], embeddings, path=str(tmp_path / "kb"))
    store = SimileVectorStore.from_texts(["a"], SimileEmbeddings(MODEL, truncate_dim=8), path=str(tmp_path / "kb"))
    assert len(store.similarity_search_by_vector([0.1] * 8)) == 1


@pytest.fixture()
def llama_query(tmp_path):
    pytest.importorskip("llama_index.core")
    from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
    from llama_index.core.vector_stores.types import VectorStoreQuery

    from pysimile.llama_index import SimileVectorStore

    with Index.create(str(tmp_path / "kb"), model=MODEL):
        pass
    store = SimileVectorStore(Index.open(str(tmp_path / "kb")))
    store.add([TextNode(id_=f"n{n}", text=text, metadata={"year": 2020 + n},
                        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=f"d{n // 2}")})
               for n, text in enumerate(["apple red", "apple green", "pear", "plum"])])
    vector = Encoder(MODEL).encode("plum").tolist()

    def query(mode="default", **options):
        from llama_index.core.vector_stores.types import VectorStoreQueryMode
        return store.query(VectorStoreQuery(query_embedding=vector, query_str="red", similarity_top_k=10,
                                            mode=VectorStoreQueryMode(mode), **options)).ids

    return query


def test_llama_index_filters(llama_query):
    from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters

    def filters(condition, *tests):
        return MetadataFilters(condition=condition, filters=[
            one if isinstance(one, MetadataFilters) else MetadataFilter(key="year", operator=one[0], value=one[1])
            for one in tests])

    empty = filters("and")
    for made, found in (
            (filters("not", ("==", 2020)), ["n1", "n2", "n3"]),
            (filters("not", ("==", 2020), (">=", 2022)), ["n1"]),
            (filters("or", ("==", 2020), (">=", 2022)), ["n0", "n2", "n3"]),
            (filters("and", filters("not", ("<", 2022)), ("!=", 2023)), ["n2"]),
            (filters("and", empty, ("in", [2020, 2021])), ["n0", "n1"]),
            (filters("and", ("nin", [2020, 2021])), ["n2", "n3"]),
            (filters("not", empty), ["n0", "n1", "n2", "n3"]), (empty, ["n0", "n1", "n2", "n3"])):
        assert sorted(llama_query(filters=made)) == found
    assert sorted(llama_query(doc_ids=["d1"])) == ["n2", "n3"]
    assert llama_query(doc_ids=["d1"], filters=filters("or", ("==", 2020), ("==", 2022))) == ["n2"]
    with pytest.raises(UsageError, match="filter 'text_match' is not supported, only ==, !=, >, >=, <, <=, in, nin"):
        llama_query(filters=filters("and", ("text_match", "2")))


def test_llama_index_queries(llama_query):
    assert llama_query("hybrid", alpha=1)[0] == "n3" and llama_query("hybrid", alpha=0)[0] == "n0"
    assert llama_query("hybrid", alpha=0, hybrid_top_k=1) == ["n0"]
    for mode in ("sparse", "mmr"):
        with pytest.raises(UsageError, match=f"mode '{mode}' is not supported, only default, hybrid, text_search"):
            llama_query(mode)
    with pytest.raises(UsageError, match="node_ids are not supported"):
        llama_query(node_ids=["n3"])


def test_quantized_as_by_sentence_transformers():
    quantization = pytest.importorskip("sentence_transformers.util")
    from pysimile.encoder import quantize

    vectors = np.random.default_rng(0).normal(size=(200, 64)).astype(np.float32)
    vectors[:, 0] = 0.3
    vectors[1:, 1] = np.nextafter(vectors[0, 1], np.float32(9))
    for precision in ("float32", "int8", "uint8", "binary", "ubinary"):
        theirs = quantization.quantize_embeddings(vectors, precision)
        ours = quantize(vectors, precision)
        assert ours.dtype == theirs.dtype and np.array_equal(ours, theirs)


def test_llama_index(tmp_path):
    pytest.importorskip("llama_index.core")
    from llama_index.core import Document, StorageContext, VectorStoreIndex
    from llama_index.core.vector_stores import ExactMatchFilter, MetadataFilters

    from pysimile.llama_index import SimileEmbedding, SimileVectorStore

    with Index.create(str(tmp_path / "kb"), model=MODEL):
        pass
    store = SimileVectorStore(Index.open(str(tmp_path / "kb")))
    documents = [Document(text=text, doc_id=f"d{n}", metadata={"about": "cats" if text in ANIMALS else "money"})
                 for n, text in enumerate(ANIMALS + MONEY)]
    index = VectorStoreIndex.from_documents(documents, storage_context=StorageContext.from_defaults(vector_store=store),
                                            embed_model=SimileEmbedding(MODEL))
    assert index.as_retriever(similarity_top_k=1).retrieve("a purring cat")[0].text == "a cat purrs"
    filters = MetadataFilters(filters=[ExactMatchFilter(key="about", value="money")])
    for mode in ("default", "hybrid", "text_search"):
        found = index.as_retriever(similarity_top_k=3, filters=filters, vector_store_query_mode=mode).retrieve("cat bank")
        assert found and all(one.metadata["about"] == "money" for one in found)
    index.delete_ref_doc("d0")
    assert index.as_retriever(similarity_top_k=1).retrieve("a purring cat")[0].text != "a cat purrs"


def test_sklearn_pipeline():
    pytest.importorskip("sklearn")
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    encoder = Encoder(MODEL)
    pipeline = make_pipeline(FunctionTransformer(encoder.encode), LogisticRegression(C=10))
    pipeline.fit(ANIMALS + MONEY, [0] * 5 + [1] * 5)
    assert list(pipeline.predict(["my kitten", "the bank"])) == [0, 1]


def test_keybert():
    keybert = pytest.importorskip("keybert")
    from keybert.backend import BaseEmbedder

    class Backend(BaseEmbedder):
        def embed(self, documents, verbose=False):
            return Encoder(MODEL).encode(documents, show_progress_bar=verbose)

    text = "The cat purrs and the kitten drinks its milk. A cat hunts mice."
    words = [word for word, _ in keybert.KeyBERT(Backend()).extract_keywords(text, top_n=3)]
    assert len(words) == 3 and "cat" in words


def test_bertopic():
    bertopic = pytest.importorskip("bertopic")
    from sklearn.cluster import KMeans
    from sklearn.decomposition import PCA

    texts = (ANIMALS + MONEY) * 6
    encoder = Encoder(MODEL)
    model = bertopic.BERTopic(hdbscan_model=KMeans(2, random_state=1), umap_model=PCA(3), min_topic_size=5)
    topics, _ = model.fit_transform(texts, encoder.encode(texts))
    assert len(set(topics[:5])) == 1 and len(set(topics)) == 2


def test_mteb(tmp_path):
    mteb = pytest.importorskip("mteb")
    datasets = pytest.importorskip("datasets")
    from mteb.abstasks.sts import AbsTaskSTS

    from pysimile.mteb import SimileModel

    class Pairs(AbsTaskSTS):
        metadata = mteb.TaskMetadata(
            name="Pairs", dataset={"path": "local/pairs", "revision": "1"}, description="", reference=None, type="STS",
            category="t2t", modalities=["text"], eval_splits=["test"], eval_langs=["eng-Latn"], main_score="cosine_spearman",
            date=None, domains=None, task_subtypes=None, license=None, annotations_creators=None, dialect=None,
            sample_creation=None, bibtex_citation=None)
        min_score, max_score = 0, 5

        def load_data(self, **_):
            rows = {"sentence1": ["a cat", "a dog", "a bank", "an invoice"], "score": [5.0, 1.0, 4.0, 0.0],
                    "sentence2": ["the cat", "the moon", "the banks", "a kitten"]}
            self.dataset = datasets.DatasetDict({"test": datasets.Dataset.from_dict(rows)})
            self.data_loaded = True

    result = mteb.evaluate(SimileModel(MODEL), Pairs(), cache=None)
    assert -1 <= result.task_results[0].get_score() <= 1


@pytest.mark.parametrize("engine", ["ray", "pyspark"])
def test_parquet(tmp_path, engine):
    pytest.importorskip(engine)
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    texts = [f"{text} {n}" for n in range(500) for text in ANIMALS + MONEY]
    table = pyarrow.table({"id": [str(n) for n in range(len(texts))], "text": texts})
    pyarrow.parquet.write_table(table, tmp_path / "texts.parquet", row_group_size=1000)
    name = "ray_encode.py" if engine == "ray" else "spark_encode.py"
    workers = ["2"] if engine == "ray" else []
    subprocess.run([sys.executable, EXAMPLES / name, tmp_path / "texts.parquet", tmp_path / "vectors", MODEL, *workers],
                   check=True, timeout=400, cwd=tmp_path)
    back = pyarrow.parquet.read_table(tmp_path / "vectors").sort_by("id").to_pydict()
    assert sorted(back["text"]) == sorted(texts)
    some = range(0, len(texts), 97)
    assert np.array_equal(np.array([back["vector"][i] for i in some], dtype=np.float32),
                          Encoder(MODEL).encode([back["text"][i] for i in some]))
    subprocess.run([sys.executable, EXAMPLES / "import_vectors.py", tmp_path / "vectors", tmp_path / "kb", MODEL], check=True,
                   cwd=tmp_path)
    assert len(Index.open(str(tmp_path / "kb"))) == len(texts)


@pytest.mark.parametrize("example, expected", [("search.py", "password"), ("drop_in.py", "(3, ")])
def test_examples(example, expected):
    done = subprocess.run([sys.executable, EXAMPLES / example, MODEL], capture_output=True, text=True, check=True)
    assert expected in done.stdout
