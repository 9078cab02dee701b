import BothyServer
import BothyStore
import BothySync
import HTTPTypes
import NIOCore
import Testing

@Suite("Compression")
struct GzipTests {
  @Test("large answers are gzip for those who ask; records with strong tags and small answers are not")
  func answers() async throws {
    try await ServerUnderTest().run { call in
      let long = String(repeating: "x", count: 2000)
      _ = try await call(.put, "/v1/spaces/hut/records/T/1", #"{"fields":{"a":"\#(long)"}}"#)
      let gzip: HTTPFields = [.acceptEncoding: "br, gzip;q=0.5"]
      let packed = try await call(.get, "/v1/spaces/hut/changes", nil, gzip)
      #expect(packed.headers[.contentEncoding] == "gzip")
      #expect(packed.bytes.count < 500)
      #expect(packed.headers[.contentLength] == String(packed.bytes.count))
      let plain = try await call(.get, "/v1/spaces/hut/changes")
      #expect(plain.headers[.contentEncoding] == nil)
      let refused = try await call(.get, "/v1/spaces/hut/changes", nil, [.acceptEncoding: "gzip;q=0"])
      #expect(refused.headers[.contentEncoding] == nil)
      let record = try await call(.get, "/v1/spaces/hut/records/T/1", nil, gzip)
      #expect(record.headers[.contentEncoding] == nil)
      #expect(try await call(.get, "/healthz", nil, gzip).headers[.contentEncoding] == nil)
      // What the server packs, it unpacks: the page is no sync request, but it is read to its first member.
      let sent = try await call.send(
        .post, "/v1/spaces/hut/sync", ByteBuffer(bytes: packed.bytes), [.contentEncoding: "gzip"])
      #expect(sent.status == 400)
      #expect(sent.text.contains("no member 'container'"), "\(sent.text)")
    }
  }

  @Test("a small body that unpacks beyond the limit is 413, a broken one 400")
  func bombs() async throws {
    try await ServerUnderTest(limits: .init(bodySize: 1500)).run { call in
      let long = String(repeating: "x", count: 1400)
      let address = "/v1/spaces/hut/records/T/1"
      _ = try await call(.put, address, #"{"fields":{"a":"\#(long)"}}"#)
      let page = try await call(.get, "/v1/spaces/hut/changes", nil, [.acceptEncoding: "gzip"])
      let bomb = ByteBuffer(bytes: page.bytes)
      #expect(page.headers[.contentEncoding] == "gzip")
      #expect(
        try await call.send(.post, "/v1/spaces/hut/sync", bomb, [.contentEncoding: "gzip"]).status == 413)
      let half = ByteBuffer(bytes: page.bytes.prefix(20))
      #expect(
        try await call.send(.post, "/v1/spaces/hut/sync", half, [.contentEncoding: "gzip"]).status == 400)
    }
  }
}
