"""Clients of other servers against `simile serve`, as their users call them.

    python3 -m venv /tmp/clients && /tmp/clients/bin/pip install openai cohere langchain-openai \\
        langchain-cohere llama-index-embeddings-openai \\
        llama-index-postprocessor-cohere-rerank llama-index-embeddings-text-embeddings-inference \\
        huggingface_hub requests numpy
    /tmp/clients/bin/python tests/real_clients.py build/dev/cli/simile

Each client is compared with /embed and /rerank themselves; one that is not installed is skipped. Exit code 1 when one
fails, 77 when none is installed.
"""

import importlib
import json
import os
import subprocess
import sys
import tempfile
import traceback
import urllib.request

TEXTS = ["how do I reset my password", "our prices", "a cat sat on the mat"]
QUERY = "forgotten password"
KEY = "sesame"


class Server:
    def __init__(self, program, folder):
        keys = os.path.join(folder, "keys")
        with open(keys, "w") as file:
            file.write('{key: %s, name: clients, role: read}\n' % KEY)
        words = [program, "serve", "--model", "simile-mini-3", "--api-key-file", keys, "--port", "0"]
        self.log = open(os.path.join(folder, "log"), "w")
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.url = self.process.stdout.readline().split()[-1]

    def post(self, path, body):
        request = urllib.request.Request(
            self.url + path, json.dumps(body).encode(),
            {"Content-Type": "application/json", "Authorization": "Bearer " + KEY})
        return json.load(urllib.request.urlopen(request))

    def stop(self):
        self.process.terminate()
        return self.process.wait()


def same(found, expected):
    assert len(found) == len(expected), (len(found), len(expected))
    for a, b in zip(found, expected):
        assert max(abs(x - y) for x, y in zip(a, b)) < 1e-6


def order(results):
    return [result.index for result in results]


def openai(server, vectors, _):
    from openai import NotFoundError, OpenAI

    client = OpenAI(base_url=server.url + "/v1", api_key=KEY)
    for encoding in ("float", "base64"):
        reply = client.embeddings.create(model="text-embedding-3-small", input=TEXTS, encoding_format=encoding)
        if encoding == "float":
            same([one.embedding for one in reply.data], vectors)
    reply = client.embeddings.create(model="simile-mini-3", input=TEXTS)
    same([one.embedding for one in reply.data], vectors)
    assert [model.id for model in client.models.list()] == ["simile-mini-3"]
    try:
        client.models.retrieve("gpt")
        raise AssertionError("an unknown model was found")
    except NotFoundError:
        pass


def cohere(server, _, ranks):
    import cohere

    for make in (cohere.Client, cohere.ClientV2):
        client = make(api_key=KEY, base_url=server.url)
        reply = client.rerank(model="rerank-v3.5", query=QUERY, documents=TEXTS, top_n=2)
        assert order(reply.results) == ranks[:2], reply
        assert reply.results[0].relevance_score > reply.results[1].relevance_score
    try:
        cohere.ClientV2(api_key="wrong", base_url=server.url).rerank(model="x", query=QUERY, documents=TEXTS)
        raise AssertionError("a wrong key was taken")
    except cohere.UnauthorizedError:
        pass


def langchain_openai(server, vectors, _):
    from langchain_openai import OpenAIEmbeddings

    made = {"base_url": server.url + "/v1", "api_key": KEY}
    same(OpenAIEmbeddings(check_embedding_ctx_length=False, **made).embed_documents(TEXTS), vectors)
    try:
        OpenAIEmbeddings(**made).embed_documents(TEXTS)  # sends the ids of tiktoken
        raise AssertionError("ids of another tokenizer were taken")
    except Exception as error:
        assert "check_embedding_ctx_length=False" in str(error) or "tiktoken" in repr(error).lower(), error


def langchain_cohere(server, _, ranks):
    from langchain_cohere import CohereRerank

    reranker = CohereRerank(model="rerank-v3.5", cohere_api_key=KEY, base_url=server.url, top_n=3)
    assert [one["index"] for one in reranker.rerank(TEXTS, QUERY)] == ranks


def llama_index_openai(server, vectors, _):
    from llama_index.embeddings.openai import OpenAIEmbedding

    model = OpenAIEmbedding(api_base=server.url + "/v1", api_key=KEY, model_name="any-model")
    same(model.get_text_embedding_batch(TEXTS), vectors)


def llama_index_tei(server, vectors, _):
    from llama_index.embeddings.text_embeddings_inference import TextEmbeddingsInference

    model = TextEmbeddingsInference(model_name="simile-mini-3", base_url=server.url, auth_token=KEY,
                                    text_instruction="", query_instruction="")
    same(model.get_text_embedding_batch(TEXTS), vectors)


def llama_index_cohere(server, _, ranks):
    from llama_index.core.schema import NodeWithScore, TextNode
    from llama_index.postprocessor.cohere_rerank import CohereRerank

    nodes = [NodeWithScore(node=TextNode(text=text, id_=str(i)), score=0.0) for i, text in enumerate(TEXTS)]
    reranker = CohereRerank(model="rerank-v3.5", api_key=KEY, base_url=server.url, top_n=3)
    found = reranker.postprocess_nodes(nodes, query_str=QUERY)
    assert [int(one.node.node_id) for one in found] == ranks


def huggingface_hub(server, vectors, _):
    from huggingface_hub import InferenceClient

    client = InferenceClient(server.url, token=KEY)  # POST /
    same([list(map(float, client.feature_extraction(text).reshape(-1))) for text in TEXTS], vectors)
    similar = InferenceClient(server.url + "/similarity", token=KEY).sentence_similarity(TEXTS[0], other_sentences=TEXTS)
    assert similar[0] > 0.9999 and similar[1] < 0.9


def requests(server, vectors, _):
    import requests

    head = {"Authorization": "Bearer " + KEY}
    many = requests.post(server.url + "/embed", json={"inputs": TEXTS * 10}, headers=head)
    assert many.headers["Content-Encoding"] == "gzip"
    same(many.json(), vectors * 10)


CLIENTS = {openai: "openai", cohere: "cohere", langchain_openai: "langchain_openai",
           langchain_cohere: "langchain_cohere",
           llama_index_openai: "llama_index.embeddings.openai",
           llama_index_tei: "llama_index.embeddings.text_embeddings_inference",
           llama_index_cohere: "llama_index.postprocessor.cohere_rerank",
           huggingface_hub: "huggingface_hub", requests: "requests"}


def main():
    tried = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        server = Server(os.path.realpath(sys.argv[1]), folder)
        vectors = server.post("/embed", {"inputs": TEXTS})
        ranks = [one["index"] for one in server.post("/rerank", {"query": QUERY, "texts": TEXTS})]
        for client, package in CLIENTS.items():
            try:
                importlib.import_module(package)
            except ImportError:
                print(f"skipped: {package} is not installed")
                continue
            tried += 1
            try:
                client(server, vectors, ranks)
                print(f"{package}: right")
            except Exception:
                failed += 1
                print(f"{package}: FAILED\n{traceback.format_exc()}")
        code = server.stop()
        assert code == 0, f"the server ended with {code}"
        server.log.close()
        with open(os.path.join(folder, "log")) as log:
            lines = [json.loads(line) for line in log if line.startswith("{")]
        assert all(line["status"] < 500 for line in lines if "status" in line)
        assert all(line["key"] == "clients" for line in lines if line.get("status") == 200), lines
    return 1 if failed else 77 if tried == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
