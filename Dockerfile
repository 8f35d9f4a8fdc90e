# The MCP server (docs/mcp.md) in an image of its own: videos are mounted at /data, jobs are kept in
# /var/lib/acuity.
#
#     docker build -t acuity .
#     docker run --rm -i --init -v /home/me/videos:/data:ro acuity

FROM python:3.11-slim AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends g++ \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /build
COPY pyproject.toml CMakeLists.txt LICENSE README.md ./
COPY native native
COPY src src
COPY runtime/pyproject.toml runtime/README.md runtime/LICENSE runtime/
COPY runtime/src runtime/src
# Everything as wheels, so that the image below needs neither a compiler nor the network.
RUN pip wheel --no-cache-dir --wheel-dir /wheels ./runtime ".[otel,cluster]"

FROM python:3.11-slim
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir --no-index --find-links /wheels "acuity-vmaf[otel,cluster]"
RUN useradd --uid 10001 --create-home --home-dir /var/lib/acuity acuity \
    && install --directory --owner acuity --group acuity /data
ENV VMAF_MCP_ALLOW=/data \
    ACUITY_DATA=/var/lib/acuity
USER 10001:10001
WORKDIR /var/lib/acuity
VOLUME ["/var/lib/acuity"]
EXPOSE 8080
# Only a server with --metrics can be checked; one on stdio is watched by the client that started it.
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s CMD ["python", "-c", "import urllib.request as http; b'--metrics' in open('/proc/1/cmdline', 'rb').read() and http.urlopen('http://127.0.0.1:9090/readyz', timeout=4)"]
ENTRYPOINT ["vmaf-mcp"]
CMD ["--stdio"]
