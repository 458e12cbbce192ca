#!/usr/bin/env python3
"""hub_server.py FOLDER NAME [--slow BYTES_PER_SECOND]: serves FOLDER as the model NAME of a Hugging Face hub.

For tests: the part of the hub's protocol by which models are fetched. Prints its address in a line. Files of 64 kB
and more are large files (LFS): the hub names their SHA-256 and sends to another server, which is not told the token.
NAME-gated needs the token "secret" whose owner accepted conditions, NAME-private does not exist without it.
"""
import hashlib, http.server, json, os, re, sys, threading, time, urllib.parse

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LARGE = 64 << 10


class Hub:
    def __init__(self, folder, name, rate):
        self.name, self.rate, self.files = name, rate, {}
        for root, _, names in os.walk(folder):
            for file in names:
                path = os.path.join(root, file)
                with open(path, "rb") as opened:
                    content = opened.read()
                self.files[os.path.relpath(path, folder)] = content
        self.storage = None

    def etag(self, content):
        if len(content) >= LARGE:
            return hashlib.sha256(content).hexdigest()
        return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub = None

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if not any(name == "Content-Length" for name, _ in headers):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.send_slowly(body)

    def send_slowly(self, body):
        step = 1 << 16 if not self.hub.rate else max(1, self.hub.rate // 20)
        for begin in range(0, len(body), step):
            self.wfile.write(body[begin : begin + step])
            if self.hub.rate:
                time.sleep(0.05)

    def send_bytes(self, content, headers):
        match = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        begin = int(match[1]) if match else 0
        if match and begin >= len(content):
            return self.answer(416)
        if match:
            headers = [*headers, ("Content-Range", "bytes %d-%d/%d" % (begin, len(content) - 1, len(content)))]
        self.answer(206 if match else 200, content[begin:], headers)

    def allowed(self, repository):
        """Answers, and returns False, for a model that is not for everyone."""
        has_token = self.headers.get("Authorization") == "Bearer secret"
        kind = repository[len(self.hub.name) :]
        if repository.startswith(self.hub.name) and (kind == "" or (kind in ("-gated", "-private") and has_token)):
            return True
        code = "GatedRepo" if kind == "-gated" else "RepoNotFound"
        self.answer(401, headers=[("X-Error-Code", code), ("X-Error-Message", "no")])
        return False

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
        if path.startswith("/storage/"):
            if "Authorization" in self.headers:
                return self.answer(400, b"the token came to the wrong server")
            return self.send_bytes(self.hub.files[path[len("/storage/") :]], [])
        info = re.fullmatch(r"/api/models/(.+?)(?:/(revision|tree)/(.+))?", path)
        file = re.fullmatch(r"/(.+?)/resolve/([^/]+)/(.+)", path)
        found = info or file
        if not found or not self.allowed(found[1]):
            return None if found else self.answer(404)
        revision = found[3] if info else found[2]
        if revision not in (None, "main", "v1", COMMIT):
            return self.answer(404, headers=[("X-Error-Code", "RevisionNotFound")])
        if info:
            return self.send_info(info)
        content = self.hub.files.get(file[3])
        if content is None:
            return self.answer(404, headers=[("X-Error-Code", "EntryNotFound"), ("X-Repo-Commit", COMMIT)])
        headers = [("X-Repo-Commit", COMMIT), ("ETag", '"%s"' % self.hub.etag(content))]
        if len(content) < LARGE:
            return self.send_bytes(content, headers)
        headers[1] = ("ETag", '"of-the-redirect"')
        headers += [("X-Linked-Etag", '"%s"' % self.hub.etag(content)), ("X-Linked-Size", str(len(content)))]
        self.answer(302, headers=[*headers, ("Location", "%s/storage/%s" % (self.hub.storage, file[3]))])

    def send_info(self, info):
        if info[2] == "tree":
            body = [
                {"type": "file", "path": name, "size": len(content), "oid": self.hub.etag(content)}
                for name, content in sorted(self.hub.files.items())
            ]
        else:
            names = [{"rfilename": name} for name in sorted(self.hub.files)]
            body = {"id": info[1], "modelId": info[1], "sha": COMMIT, "siblings": names, "tags": [], "private": False,
                    "gated": False, "disabled": False, "downloads": 0, "likes": 0}
        self.answer(200, json.dumps(body).encode(), [("Content-Type", "application/json"), ("X-Repo-Commit", COMMIT)])


def main():
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    rate = int(words.pop()) if "--slow" in sys.argv else 0
    Handler.hub = Hub(words[0], words[1], rate)
    http.server.ThreadingHTTPServer.handle_error = lambda *_: None  # clients that are killed
    storage = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Handler.hub.storage = "http://localhost:%d" % storage.server_port  # another host than 127.0.0.1
    threading.Thread(target=storage.serve_forever, daemon=True).start()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print("http://127.0.0.1:%d" % server.server_port, flush=True)
    server.serve_forever()


main()
