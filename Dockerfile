# An image of the server, from the tarball that scripts/package makes. It needs no network.
#
#   scripts/package
#   docker build -t bothy .
#   docker run -p 8080:8080 -v bothy:/var/lib/bothy -v ./bothy:/etc/bothy:ro bothy
FROM debian:bookworm-slim
ADD .build/package/bothy.tar.gz /opt
RUN useradd --system --user-group --no-create-home --home-dir /var/lib/bothy --shell /usr/sbin/nologin bothy
RUN install -d -o bothy -g bothy -m 0700 /var/lib/bothy && install -d -o bothy -g bothy -m 0750 /etc/bothy
USER bothy
VOLUME /var/lib/bothy
EXPOSE 8080
STOPSIGNAL SIGTERM
ENTRYPOINT ["/opt/bothy/bin/bothy"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8080", "--database", "/var/lib/bothy/server.sqlite", "--schema", "/etc/bothy/schema.json", "--tokens", "/etc/bothy/tokens.json"]
