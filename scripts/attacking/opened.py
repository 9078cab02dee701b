"""Attacks on a server without tokens by pages of the web, which may send simple requests to it."""

from attacking.door import each
from attacking.servers import Broken, Site
from attacking.trial import attack
from attacking.wire import head


def site(options, folder, name):
    return Site(options, folder, name, tokens=False)


@attack("a page of the web writes", "a page", "200, the record was stored", memory=32)
def page_writes(site):
    """Bodies that a page may send unasked: without a type, as text, as a form."""
    yield
    body = b'{"device":"page","operations":[{"id":"x","kind":"insert","type":"Item","record":"by-page","fields":{}}]}'
    each(site, [head("POST", "/v1/spaces/arena/sync", Content_Length=len(body), Origin="https://evil.example", **fields)
                + body for fields in [{}, {"Content_Type": "text/plain"}, {"Content_Type": "multipart/form-data"},
                                      {"Content_Type": "application/x-www-form-urlencoded"},
                                      {"Content_Type": "text/plain; application/json"}]], {415})
    yield
    with site.caller(None) as caller:
        if caller.ask("GET", "/v1/spaces/arena/records/Item/by-page")[0] != 404:
            raise Broken("the record of the page is there")


@attack("names that lead to this machine", "a page", "200 under any Host", memory=32)
def rebinding(site):
    """Requests under a name of the page that was made to lead here."""
    each(site, [head("GET", "/v1/spaces/arena/changes").replace(b"127.0.0.1", name) for name in
                [b"evil.example", b"evil.example:8080", b"localhost.evil.example", b"127.0.0.1.nip.io", b"[::ffff:7f00:1].x"]],
         {400, 421})
