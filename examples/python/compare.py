# Which of two models answers questions better, and is the difference (the second less the first) more than chance?
#   python3 compare.py FOLDER MODEL MODEL      FOLDER has queries.tsv, corpus.tsv and qrels.test.tsv (as examples/faq)
import sys
import tempfile

import pysimile

folder, *models = sys.argv[1:]
data = {"queries": f"{folder}/queries.tsv", "corpus": f"{folder}/corpus.tsv", "qrels": f"{folder}/qrels.test.tsv"}
with tempfile.TemporaryDirectory() as scratch:
    predictions = [f"{scratch}/{number}.trec" for number in range(2)]
    for model, file in zip(models, predictions, strict=True):
        report = pysimile.evaluate(model, "ranking", **data, predictions=file)
        print(model, {name: round(value, 3) for name, value in report["metrics"].items()})
    for metric in pysimile.compare(*predictions)["reports"][0]["metrics"]:
        low, high = metric["interval"]["low"], metric["interval"]["high"]
        print(f"{metric['metric']}: {metric['difference']:+.3f}, 95% interval {low:+.3f} to {high:+.3f}")
