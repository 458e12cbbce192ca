# Searches your documents by meaning and by words: python3 search.py [MODEL]
import sys
import tempfile

from pysimile import Index

documents = [
    {"id": "password", "text": "To reset your password, follow the link in the e-mail that we send you."},
    {"id": "refund", "text": "Money is returned to the card that you paid with within five days."},
    {"id": "hours", "text": "The shop is open from nine to six, on Sundays until noon."},
]
with tempfile.TemporaryDirectory() as folder:
    with Index.create(folder + "/kb", model=sys.argv[1] if len(sys.argv) > 1 else "simile-mini-3-static") as index:
        index.add(documents)
    for hit in Index.open(folder + "/kb").search("I forgot my password", k=2):
        print(f"{hit.score:.3f}  {hit.id}  {hit.text}")
