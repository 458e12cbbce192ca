#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares Simile with the real transformers and sentence-transformers on random models.

    python3 compare_sentence_transformers.py --simile ../../build/dev/cli/simile [--part PART ...] [--keep FOLDER]

Parts, all by default:

    vectors     every family, pooling and way of storing weights: vectors of odd texts
    prompts     a model with prompts: ranking (MAP), pairs (AP, F1, MCC) and STS (Spearman, Pearson)
    folders     what `simile convert` writes loads there with the same vectors, and int8 is refused
    rerank      cross-encoders of every family, as transformers and as CrossEncoder save them: the scores of a search
    losses      fifty steps of AdamW under losses that both have: the loss of every step
    published   with --model, the folder of a published model: ids and vectors of --texts, three precisions, fifty
                steps of MNRL, CoSENT and MSE (losses and weights), folders saved by each and read by the other

Prints a line for each comparison. Exits 0 when all agree, 1 when one differs, 2 when it could not run, and 77, with
the reason, where torch, transformers or sentence-transformers is missing. Needs no network.
"""
import argparse
import csv
import importlib.util
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
PACKAGES = ("numpy", "torch", "tokenizers", "transformers", "sentence_transformers")
LIMIT_VECTORS = 2e-5  # of the largest number of a vector
LIMIT_METRICS = 1e-6
LIMIT_CORRELATION = 1e-4  # cosines there are floats: near ones may change places
LIMIT_LOSSES = 1e-4  # relative
# Absolute, relative, relative. On odd texts, such as a word 200 times, torch in single precision is itself up to
# 1.2e-6 from torch in double precision (all-mpnet-base-v2).
LIMIT_PUBLISHED = {"vectors": 1e-6, "odd vectors": 5e-6, "losses": 1e-5, "weights": 2e-3}

WORDS = ("how do i reset my password where is the new bill can you change an old address why was it not sent "
         "to me when does a second card arrive for this account under another name").split()
ODD_TEXTS = ["", " ", "a", "  two  spaces and a tab\t", "line\nbreak", "CAPITALS and Ünïcödé", "naïve café",
             "中文字 and kana かな", "emoji 👩‍🚀 and flags 🇩🇪", "a" * 300, "<pad>", "the <pad> in a text <pad>",
             "<s> the </s>", "<mask>", "... !!! ???", "number 1,234.5e-6", "word " * 200, "\u200bzero width",
             "\ufeffmark", "e\u0301 decomposed", "ﬁ ligature"]
SIZES = {"hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 96,
         "max_position_embeddings": 130, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
# model_type: class of the config, of the model, and what differs from SIZES.
FAMILIES = {
    "bert": ("BertConfig", "BertModel", {}),
    "roberta": ("RobertaConfig", "RobertaModel", {"type_vocab_size": 1}),
    "xlm-roberta": ("XLMRobertaConfig", "XLMRobertaModel", {"type_vocab_size": 1}),
    "camembert": ("CamembertConfig", "CamembertModel", {"type_vocab_size": 1}),
    "distilbert": ("DistilBertConfig", "DistilBertModel",
                   {"dim": 48, "n_layers": 3, "n_heads": 4, "hidden_dim": 96, "hidden_size": None,
                    "num_hidden_layers": None, "num_attention_heads": None, "intermediate_size": None}),
    "mpnet": ("MPNetConfig", "MPNetModel", {"relative_attention_num_buckets": 32}),
    "electra": ("ElectraConfig", "ElectraModel", {"embedding_size": 24}),
    "albert": ("AlbertConfig", "AlbertModel", {"embedding_size": 24, "num_hidden_groups": 1}),
    "modernbert": ("ModernBertConfig", "ModernBertModel",
                   {"local_attention": 16, "cls_token_id": 0, "sep_token_id": 2, "reference_compile": False,
                    "attn_implementation": "eager"}),
}
POOLINGS = ("cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")
STORAGES = ("safetensors", "shards", "bin", "fp16", "bf16")


class Comparison:
    def __init__(self):
        self.failed = 0

    def tell(self, what, difference, limit):
        good = difference <= limit
        self.failed += not good
        print(f"{'agrees ' if good else 'DIFFERS'} {what}: {difference:.2e} (at most {limit:.0e})", flush=True)

    def check(self, what, good):
        self.failed += not good
        print(f"{'agrees ' if good else 'DIFFERS'} {what}", flush=True)


class Simile:
    def __init__(self, program):
        self.program = os.path.abspath(program)

    def __call__(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"simile {' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return done.stdout

    def vectors(self, folder, texts, *arguments):
        import numpy
        with tempfile.TemporaryDirectory() as work:
            source, output = os.path.join(work, "texts.jsonl"), os.path.join(work, "vectors.npy")
            with open(source, "w", encoding="utf-8") as file:
                file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
            self("encode", "--model", folder, "--input", source, "--output", output, *arguments)
            return numpy.load(output)

    def metrics(self, folder, *arguments):
        report = json.loads(self("evaluate", "--json", "--model", folder, *arguments))
        return report["metrics"]


def missing_packages():
    return [name for name in PACKAGES if importlib.util.find_spec(name) is None]


def version_of(package):
    return tuple(int(part) for part in package.__version__.split(".")[:2] if part.isdigit())


def strips_texts():
    """Versions up to 5.3 strip texts and prompts, which Simile does not follow."""
    import sentence_transformers
    return version_of(sentence_transformers) < (5, 4)


def some_texts(count, seed):
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randint(1, 12))) for _ in range(count)]


def odd_texts():
    texts = ODD_TEXTS + some_texts(60, 1)
    return [text.strip() for text in texts] if strips_texts() else texts


def make_tokenizer():
    """Byte-level BPE with <s> 0, <pad> 1, </s> 2, <unk> 3, <mask> 4, as the families that count positions need it."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    names = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=names,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(some_texts(400, 2), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", cls_token="<s>",
                                   sep_token="</s>", pad_token="<pad>", unk_token="<unk>", mask_token="<mask>",
                                   model_max_length=128)


def make_encoder(family, vocabulary, seed=1):
    import torch
    import transformers
    config_class, model_class, other = FAMILIES[family]
    if not hasattr(transformers, model_class):
        return None
    settings = {**SIZES, "vocab_size": vocabulary, **other}
    settings = {key: value for key, value in settings.items() if value is not None}
    torch.manual_seed(seed)
    model = getattr(transformers, model_class)(getattr(transformers, config_class)(**settings))
    with torch.no_grad():  # far enough from zero that all parts count
        for name, weight in model.named_parameters():
            if weight.dim() > 1:
                weight.normal_(0, 0.15)
            elif name.endswith("bias"):
                weight.normal_(0, 0.05)
    return model.eval()


def write_json(path, value):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        json.dump(value, file, indent=2)


def save_encoder(model, tokenizer, folder, storage="safetensors"):
    import torch
    os.makedirs(folder, exist_ok=True)
    if storage in ("fp16", "bf16"):
        model = model.to(torch.float16 if storage == "fp16" else torch.bfloat16)
    model.save_pretrained(folder, max_shard_size="60KB" if storage == "shards" else "5GB")
    if storage == "bin":
        for name in os.listdir(folder):
            if ".safetensors" in name:
                os.remove(os.path.join(folder, name))
        torch.save(model.state_dict(), os.path.join(folder, "pytorch_model.bin"))
    tokenizer.save_pretrained(folder)


def add_modules(folder, pooling, size=48, prompts=None, default=None):
    """The files of sentence-transformers in its older schema, which all versions read."""
    package = "sentence_transformers.models."
    write_json(os.path.join(folder, "modules.json"), [
        {"idx": 0, "name": "0", "path": "", "type": package + "Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": package + "Pooling"}])
    flags = {"cls": "cls_token", "max": "max_tokens", "mean": "mean_tokens", "weightedmean": "weightedmean_tokens"}
    newer = ("weightedmean", "lasttoken")  # keys that 2.2 does not know
    write_json(os.path.join(folder, "1_Pooling/config.json"), {
        "word_embedding_dimension": size,
        **{"pooling_mode_" + flags.get(mode, mode): mode == pooling
           for mode in POOLINGS if mode == pooling or mode not in newer}})
    write_json(os.path.join(folder, "sentence_bert_config.json"), {"max_seq_length": 64, "do_lower_case": False})
    write_json(os.path.join(folder, "config_sentence_transformers.json"),
               {"prompts": prompts or {}, "default_prompt_name": default, "similarity_fn_name": "cosine"})


def load_theirs(folder):
    """In single precision, whatever the weights are stored in."""
    from sentence_transformers import SentenceTransformer
    model = SentenceTransformer(folder, device="cpu")
    return model.float().eval()


def largest_difference(ours, theirs):
    import numpy
    theirs = numpy.asarray(theirs, dtype=numpy.float64)
    scale = numpy.maximum(numpy.abs(theirs).max(axis=1), 1e-6)
    return float((numpy.abs(ours - theirs).max(axis=1) / scale).max())


def compare_vectors(simile, work, result):
    tokenizer, texts = make_tokenizer(), odd_texts()
    for family in FAMILIES:
        encoder = make_encoder(family, len(tokenizer))
        if encoder is None:
            print(f"skipped {family}: this transformers does not have it")
            continue
        cases = [("safetensors", pooling) for pooling in POOLINGS]
        cases += [(storage, "mean") for storage in STORAGES[1:]]
        for storage, pooling in cases:
            folder = os.path.join(work, f"{family}-{storage}-{pooling}")
            save_encoder(encoder if storage not in ("fp16", "bf16") else make_encoder(family, len(tokenizer)),
                         tokenizer, folder, storage)
            add_modules(folder, pooling)
            theirs = load_theirs(folder).encode(texts, batch_size=16, show_progress_bar=False)
            result.tell(f"vectors {family}, {storage}, {pooling}",
                        largest_difference(simile.vectors(folder, texts), theirs), LIMIT_VECTORS)
            shutil.rmtree(folder)


def write_tsv(path, header, rows):
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter="\t", lineterminator="\n").writerows([header, *rows])


def their_metric(values, ending):
    """Of an evaluator's answer, whose names begin with those of the set and the similarity."""
    found = [value for name, value in values.items() if name.lower().replace("-", "_").endswith(ending)]
    if len(found) != 1:
        raise RuntimeError(f"expected one metric that ends in {ending}, found {sorted(values)}")
    return float(found[0])


def compare_ranking(simile, folder, work, result):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.evaluation import InformationRetrievalEvaluator
    if not hasattr(SentenceTransformer, "encode_query"):
        print("skipped ranking with prompts: this sentence-transformers has no encode_query (5.0 and later have)")
        return
    queries = {f"q{i}": text for i, text in enumerate(some_texts(30, 5))}
    corpus = {f"d{i}": text for i, text in enumerate(dict.fromkeys(some_texts(200, 6)))}
    draw = random.Random(7)
    relevant = {query: set(draw.sample(sorted(corpus), 3)) for query in queries}
    size = len(corpus)
    evaluator = InformationRetrievalEvaluator(queries, corpus, relevant, map_at_k=[size], mrr_at_k=[size],
                                              ndcg_at_k=[10], accuracy_at_k=[1], precision_recall_at_k=[1],
                                              name="set", show_progress_bar=False, write_csv=False)
    theirs = evaluator(load_theirs(folder))
    paths = [os.path.join(work, name) for name in ("q.tsv", "c.tsv", "r.tsv")]
    write_tsv(paths[0], ["id", "text"], queries.items())
    write_tsv(paths[1], ["id", "text"], corpus.items())
    write_tsv(paths[2], ["query_id", "doc_id", "relevance"],
              [(query, document, 1) for query in queries for document in sorted(relevant[query])])
    ours = simile.metrics(folder, "--task", "ranking", "--queries", paths[0], "--corpus", paths[1], "--qrels",
                          paths[2], "--depth", 0, "--metrics", "map", "mrr", "ndcg@10")
    for name, ending in (("map", f"map@{size}"), ("mrr", f"mrr@{size}"), ("ndcg@10", "ndcg@10")):
        result.tell(f"ranking with prompts, {name}", abs(ours[name] - their_metric(theirs, ending)), LIMIT_METRICS)


def compare_pairs(simile, folder, work, result):
    from sentence_transformers.evaluation import BinaryClassificationEvaluator, EmbeddingSimilarityEvaluator
    left, right = some_texts(150, 8), some_texts(150, 9)
    draw = random.Random(10)
    scores = [round(draw.random(), 3) for _ in left]
    labels = [int(score > 0.6) for score in scores]
    model = load_theirs(folder)
    path = os.path.join(work, "pairs.tsv")
    write_tsv(path, ["sentence1", "sentence2", "score"], zip(left, right, labels))
    theirs = BinaryClassificationEvaluator(left, right, labels, name="set", write_csv=False)(model)
    ours = simile.metrics(folder, "--task", "pairs", "--data", path)
    if isinstance(theirs, dict):
        for name in ("f1", "ap", "mcc"):
            if any(key.endswith("cosine_" + name) for key in theirs):
                result.tell(f"pairs, {name}", abs(ours[name] - their_metric(theirs, "cosine_" + name)), LIMIT_METRICS)
    write_tsv(path, ["sentence1", "sentence2", "score"], zip(left, right, scores))
    theirs = EmbeddingSimilarityEvaluator(left, right, scores, name="set", write_csv=False)(model)
    ours = simile.metrics(folder, "--task", "sts", "--data", path)
    if not isinstance(theirs, dict):
        theirs = {"spearman_cosine": theirs}
    for name in ("spearman", "pearson"):
        if any(key.endswith(name + "_cosine") for key in theirs):
            result.tell(f"sts, {name}", abs(ours[name] - their_metric(theirs, name + "_cosine")), LIMIT_CORRELATION)


def compare_prompts(simile, work, result):
    tokenizer = make_tokenizer()
    folder = os.path.join(work, "prompts")
    save_encoder(make_encoder("bert", len(tokenizer)), tokenizer, folder)
    add_modules(folder, "mean", prompts={"query": "how: ", "document": "card: ", "other": "me: "}, default="other")
    compare_ranking(simile, folder, work, result)
    compare_pairs(simile, folder, work, result)


def compare_folders(simile, work, result):
    tokenizer, texts = make_tokenizer(), odd_texts()
    source = os.path.join(work, "source")
    save_encoder(make_encoder("bert", len(tokenizer)), tokenizer, source)
    add_modules(source, "mean")
    for precision in ("fp32", "fp16", "bf16"):
        folder = os.path.join(work, precision)
        simile("convert", "--model", source, "--output", folder, "--precision", precision)
        # Without float(): what config.json declares is what they compute in.
        from sentence_transformers import SentenceTransformer
        model = SentenceTransformer(folder, device="cpu").eval()
        result.check(f"a folder in {precision} is computed in float32",
                     str(next(model.parameters()).dtype) == "torch.float32")
        result.tell(f"vectors of a folder in {precision}",
                    largest_difference(simile.vectors(folder, texts), model.encode(texts, show_progress_bar=False)),
                    LIMIT_VECTORS)
    folder = os.path.join(work, "int8")
    simile("convert", "--model", source, "--output", folder, "--precision", "int8")
    try:
        load_theirs(folder)
        refused = False
    except (OSError, ValueError, RuntimeError, TypeError) as error:
        refused = True
        print(f"        ({str(error).splitlines()[0][:100]})")
    result.check("a folder in int8 is refused", refused)


# Name here: loss in a recipe, columns, class there, its arguments.
def their_losses():
    from sentence_transformers import losses
    distance = losses.SiameseDistanceMetric.COSINE_DISTANCE
    return {
        "mnrl": ({"name": "mnrl", "scale": 20, "duplicates": "negatives"}, "pairs", losses.MultipleNegativesRankingLoss, {"scale": 20}),
        "mse": ({"name": "mse"}, "scores", losses.CosineSimilarityLoss, {}),
        "cosent": ({"name": "cosent", "scale": 20}, "scores", losses.CoSENTLoss, {"scale": 20}),
        "angle": ({"name": "angle", "scale": 20}, "scores", losses.AnglELoss, {"scale": 20}),
        "contrastive": ({"name": "contrastive", "margin": 0.5}, "labels", losses.ContrastiveLoss,
                        {"margin": 0.5, "distance_metric": distance}),
        "online_contrastive": ({"name": "online_contrastive", "margin": 0.5}, "labels",
                               losses.OnlineContrastiveLoss, {"margin": 0.5, "distance_metric": distance}),
        "triplet": ({"name": "triplet", "margin": 5}, "triplets", losses.TripletLoss, {"triplet_margin": 5}),
        "batch_hard": ({"name": "triplet", "mining": "batch_hard", "margin": 5}, "classes",
                       losses.BatchHardTripletLoss, {"margin": 5}),
    }


def training_columns(kind, count):
    """Header, columns of texts, and targets, which are None where there are none."""
    left, right, third = (some_texts(count, 20 + i) for i in range(3))
    draw = random.Random(30)
    if kind == "scores":
        return ["sentence1", "sentence2", "score"], [left, right], [round(draw.random(), 3) for _ in left]
    if kind == "labels":
        return ["sentence1", "sentence2", "score"], [left, right], [draw.randint(0, 1) for _ in left]
    if kind == "classes":
        return ["sentence", "label"], [left], [draw.randint(0, 4) for _ in left]
    columns = [left, right, third] if kind == "triplets" else [left, right]
    return ["sentence1", "sentence2", "negative"][:len(columns)], columns, None


def our_losses(simile, source, work, name, loss, kind, steps, batch, rate, rows=None):
    header, columns, targets = rows or training_columns(kind, steps * batch)
    path = os.path.join(work, f"{name}.tsv")
    write_tsv(path, header, zip(*columns, *([targets] if targets else [])))
    data = {"path": path}
    if kind == "classes":
        data["format"] = "classes"
    elif targets is None:
        data["score"] = ""
    if kind == "triplets":
        data["negatives"] = ["negative"]
    recipe = {
        "name": name, "model": source, "hidden_dropout": 0, "attention_dropout": 0,
        "data_checks": "warn", "baselines": [],
        "stages": [{
            "objectives": [{"data": data, "loss": loss, "order": "sequential", "batch_size": batch}],
            "epochs": 1, "learning_rate": rate,
            "optimizer": {"name": "adamw", "epsilon": 1e-8, "weight_decay": 0.0, "clip_norm": 1.0},
            "schedule": {"name": "constant", "warmup_fraction": 0}}]}
    write_json(os.path.join(work, f"{name}.json"), recipe)
    run = os.path.join(work, f"run-{name}")
    simile("train", os.path.join(work, f"{name}.json"), "--output", run, "--overwrite")
    with open(os.path.join(run, "metrics.jsonl")) as file:
        lines = [json.loads(line) for line in file]
    return [line["loss"] for line in lines if "loss" in line]


def tokenise_there(model, texts):
    """`preprocess` since 5.4, `tokenize` before."""
    return (model.preprocess if hasattr(model, "preprocess") else model.tokenize)(texts)


def trained_there(source, loss_class, options, kind, steps, batch, rate, rows=None):
    """The losses of the steps, and the model."""
    import torch
    model = load_theirs(source)  # evaluating, so without dropout
    loss_function = loss_class(model, **options)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0)
    _, columns, targets = rows or training_columns(kind, steps * batch)
    values = []
    for step in range(steps):
        part = slice(step * batch, (step + 1) * batch)
        features = [dict(tokenise_there(model, column[part])) for column in columns]
        labels = torch.tensor(targets[part] if targets else [0] * batch)
        loss = loss_function(features, labels.float() if kind == "scores" else labels)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        values.append(float(loss.detach()))
    return values, model


def compare_losses(simile, work, result, steps=50, batch=8, rate=1e-4):
    tokenizer = make_tokenizer()
    source = os.path.join(work, "trained")
    save_encoder(make_encoder("bert", len(tokenizer)), tokenizer, source)
    add_modules(source, "mean")
    for name, (loss, kind, loss_class, options) in their_losses().items():
        ours = our_losses(simile, source, work, name, loss, kind, steps, batch, rate)
        theirs, _ = trained_there(source, loss_class, options, kind, steps, batch, rate)
        if len(ours) != len(theirs):
            result.check(f"loss {name}: {len(ours)} steps here, {len(theirs)} there", False)
            continue
        result.tell(f"loss {name} over {steps} steps", worst_loss(ours, theirs), LIMIT_LOSSES)


def worst_loss(ours, theirs, least=1e-3):
    """The largest relative difference; of a loss below `least`, relative to that."""
    return max(abs(a - b) / max(abs(b), least) for a, b in zip(ours, theirs))


def least_exact_loss(scale):
    """A logit of fp32 near `scale` is exact to scale * 2^-24, so a smaller loss is not known to LIMIT_PUBLISHED."""
    return max(1e-3, scale * 2.0 ** -24 / LIMIT_PUBLISHED["losses"])


def compare_ids(simile, folder, texts, result):
    from transformers import AutoTokenizer
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "texts.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
        lines = simile("tokenize", "--model", folder, "--input", path).splitlines()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    theirs = tokenizer(texts, truncation=False)["input_ids"]
    different = sum(json.loads(line)["ids"] != ids for line, ids in zip(lines, theirs))
    result.check(f"ids of {len(texts)} texts ({different} differ)", len(lines) == len(texts) and different == 0)


def published_rows(kind, pairs, count):
    """Header, columns and targets of `count` rows of a table of real pairs."""
    with open(pairs, encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t"))[1:]
    rows = random.Random(3).sample(rows, count)
    columns = [[row[i] for row in rows] for i in (0, 1)]
    if kind == "pairs":
        return ["sentence1", "sentence2"], columns, None
    draw = random.Random(4)
    return ["sentence1", "sentence2", "score"], columns, [round(draw.random(), 3) for _ in rows]


def compare_published_losses(simile, folder, pairs, work, result, batch, steps=50, rate=2e-5):
    import torch
    for name in ("mnrl", "cosent", "mse"):
        loss, kind, loss_class, options = their_losses()[name]
        rows = published_rows(kind, pairs, steps * batch)
        ours = our_losses(simile, folder, work, name, loss, kind, steps, batch, rate, rows)
        theirs, model = trained_there(folder, loss_class, options, kind, steps, batch, rate, rows)
        least = least_exact_loss(options.get("scale", 1))
        print(f"        (losses of {name}: {min(theirs):.4f} to {max(theirs):.4f}; without a least {worst_loss(ours, theirs):.2e})")
        result.tell(f"loss {name} over {steps} steps, relative to {least:.2g} or more", worst_loss(ours, theirs, least),
                    LIMIT_PUBLISHED["losses"])
        saved = load_theirs(os.path.join(work, f"run-{name}", "model")).state_dict()
        start = load_theirs(folder).state_dict()
        # A key's bias has no gradient but rounding, which AdamW blows up to whole steps.
        names = [key for key in start if "position_ids" not in key and not key.endswith("key.bias")]
        trained = model.state_dict()
        with torch.no_grad():
            apart = sum(float((saved[key].double() - trained[key].double()).square().sum()) for key in names)
            moved = sum(float((trained[key].double() - start[key].double()).square().sum()) for key in names)
        result.tell(f"weights after {name}, {steps} steps: distance over way", (apart / moved) ** 0.5,
                    LIMIT_PUBLISHED["weights"])


def compare_published_model(simile, folder, texts, odd, pairs, work, result, batch):
    import numpy
    model = load_theirs(folder)
    compare_ids(simile, folder, texts + odd, result)
    for kind, some, limit in (("odd texts", odd, LIMIT_PUBLISHED["odd vectors"]),
                              ("real texts", texts, LIMIT_PUBLISHED["vectors"])):
        theirs = model.encode(some, batch_size=32, show_progress_bar=False)
        ours = simile.vectors(folder, some)
        result.tell(f"vectors of {len(some)} {kind}", float(numpy.abs(ours - theirs).max()), limit)
    for precision in ("bf16", "int8"):
        other = simile.vectors(folder, texts, "--precision", precision)
        cosines = (other * theirs).sum(1) / numpy.linalg.norm(other, axis=1) / numpy.linalg.norm(theirs, axis=1)
        result.tell(f"1 - mean cosine of {precision} to fp32", 1 - float(cosines.mean()), 1e-3)
    some = texts[:200]
    written, saved = os.path.join(work, "written"), os.path.join(work, "saved")
    simile("convert", "--model", folder, "--output", written, "--precision", "fp32")
    theirs_of_ours = load_theirs(written).encode(some, show_progress_bar=False)
    result.tell("vectors there of a folder that Simile saved", float(numpy.abs(theirs_of_ours - theirs[:200]).max()),
                LIMIT_PUBLISHED["vectors"])
    model.save(saved)
    result.tell("vectors here of a folder that they saved",
                float(numpy.abs(simile.vectors(saved, some) - ours[:200]).max()), LIMIT_PUBLISHED["vectors"])
    compare_published_losses(simile, folder, pairs, work, result, batch)


def compare_published(simile, work, result, arguments):
    with open(arguments.texts, encoding="utf-8") as file:
        texts = [line.rstrip("\n") for line in file][:3000]
    for folder in arguments.model:
        print(f"published model {os.path.basename(os.path.normpath(folder))}")
        here = os.path.join(work, os.path.basename(os.path.normpath(folder)))
        os.makedirs(here, exist_ok=True)
        compare_published_model(simile, folder, texts, odd_texts(), arguments.pairs, here, result, arguments.batch)


def compare_rerank(simile, work, result):
    import torch
    import transformers
    from sentence_transformers import CrossEncoder
    tokenizer, texts, query = make_tokenizer(), some_texts(40, 5), "how do i reset my password"
    corpus, index = os.path.join(work, "corpus.tsv"), os.path.join(work, "index")
    write_tsv(corpus, ["id", "text"], [[str(i), text] for i, text in enumerate(texts)])
    simile("index", "build", "--overwrite", "--model", "simile-mini-3-static", "--corpus", corpus, "--index", index)
    for family, (config_class, _, other) in FAMILIES.items():
        name = config_class.replace("Config", "ForSequenceClassification")
        if not hasattr(transformers, name):
            print(f"skipped {family}: transformers has no {name}")
            continue
        settings = {**SIZES, "vocab_size": len(tokenizer), "num_labels": 1, **other}
        torch.manual_seed(1)
        model = getattr(transformers, name)(getattr(transformers, config_class)(
            **{key: value for key, value in settings.items() if value is not None}))
        with torch.no_grad():
            for weight in model.parameters():
                if weight.dim() > 1:
                    weight.normal_(0, 0.15)
        plain, saved = os.path.join(work, f"rerank-{family}"), os.path.join(work, f"rerank-{family}-saved")
        save_encoder(model, tokenizer, plain)
        activation = torch.nn.Identity() if family in ("bert", "mpnet") else None  # None: the sigmoid
        theirs = CrossEncoder(plain, device="cpu", activation_fn=activation)
        theirs.save_pretrained(saved)
        if activation is not None:
            config = os.path.join(plain, "config.json")
            with open(config) as file:
                older = {**json.load(file), "sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity"}
            write_json(config, older)
        expected = theirs.predict([(query, text) for text in texts], show_progress_bar=False)
        for folder in (plain, saved):
            output = simile("search", "--json", "--index", index, "--rerank", folder, "--query", query,
                                "--top-k", "40", "--rerank-hits", "40")
            scores = {int(hit["id"]): hit["score"] for hit in json.loads(output)["hits"]}
            ours = [scores[i] for i in range(len(texts))]
            result.tell(f"rerank {os.path.basename(folder)}",
                        max(abs(a - float(b)) / max(1, abs(float(b))) for a, b in zip(ours, expected)), LIMIT_VECTORS)


PARTS = {"vectors": compare_vectors, "rerank": compare_rerank, "prompts": compare_prompts, "folders": compare_folders,
         "losses": compare_losses}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simile", required=True, help="the program simile, one that can train for the part losses")
    parser.add_argument("--part", action="append", choices=sorted([*PARTS, "published"]), help="default: all")
    parser.add_argument("--model", action="append", default=[], help="folder of a published model")
    faq = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/faq")
    parser.add_argument("--texts", default=os.path.join(faq, "text.txt"), help="texts, one a line")
    parser.add_argument("--pairs", default=os.path.join(faq, "train.pairs.tsv"), help="pairs, with a header")
    parser.add_argument("--batch", type=int, default=16, help="pairs of a step of a published model")
    parser.add_argument("--keep", help="folder in which models and tables stay")
    arguments = parser.parse_args()
    missing = missing_packages()
    if missing:
        print(f"skipped: Python ({sys.executable}) does not have {', '.join(missing)}")
        return SKIPPED
    os.environ["HF_HUB_OFFLINE"] = os.environ["TRANSFORMERS_OFFLINE"] = "1"
    import sentence_transformers
    import transformers
    print(f"transformers {transformers.__version__}, sentence-transformers {sentence_transformers.__version__}")
    result, simile = Comparison(), Simile(arguments.simile)
    with tempfile.TemporaryDirectory() as temporary:
        work = arguments.keep or temporary
        os.makedirs(work, exist_ok=True)
        for part in arguments.part or [*PARTS, *(["published"] if arguments.model else [])]:
            try:
                if part == "published":
                    compare_published(simile, work, result, arguments)
                else:
                    PARTS[part](simile, work, result)
            except (RuntimeError, OSError) as error:
                print(f"could not compare {part}: {error}", file=sys.stderr)
                return 2
    print("all agree" if result.failed == 0 else f"{result.failed} comparisons differ")
    return 1 if result.failed else 0


if __name__ == "__main__":
    sys.exit(main())
