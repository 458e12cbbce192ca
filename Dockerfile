# syntax=docker/dockerfile:1
# The program without training and the libraries it loads, nothing else: docker build -t simile:0.1.0 .
# docs/deploy.md says how to run it, and its size.
FROM debian:12-slim AS build
RUN --mount=type=bind,source=scripts/install-deps.sh,target=/install-deps.sh /install-deps.sh --serving
COPY . /src
RUN /src/scripts/build-deb.sh

FROM debian:12-slim AS installed
RUN --mount=type=bind,from=build,source=/src,target=/src \
    apt-get update -qq \
    && apt-get install -y -qq --no-install-recommends /src/build/deb/simile_*.deb >/dev/null \
    && /src/scripts/image-root.sh /image

FROM scratch
COPY --from=installed /image /
# Nobody: it writes nothing of its own.
USER 65534:65534
WORKDIR /data
EXPOSE 8080
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/bin/simile"]
# Keys, one a line, are mounted here; without them the server does not start (docs/deploy.md).
CMD ["serve", "--model", "simile-mini-3", "--host", "0.0.0.0", "--port", "8080", "--api-key-file", "/run/secrets/simile-api-keys"]
