import BothyServer
import BothyStore
import Foundation
import HTTPTypes
import NIOCore
import Testing

/// Compressed bodies with more behind their end.
@Suite("Ends of compressed bodies", .timeLimit(.minutes(5)))
struct GzipEndTests {
  @Test("A compressed body with bytes after its end is 400")
  func trailing() async throws {
    try await ServerUnderTest().run { call in
      let body = try Gzip.compress(Array(#"{"device":"d","schema":1,"pulls":[{"container":"T"}]}"#.utf8))
      let fields: HTTPFields = [.contentEncoding: "gzip"]
      let whole = try await call.send(.post, "/v1/spaces/hut/sync", ByteBuffer(bytes: body), fields)
      #expect(whole.status == 200, "\(whole.text)")
      let rests: [[UInt8]] = [[0], body]
      for rest in rests {
        let reply = try await call.send(
          .post, "/v1/spaces/hut/sync", ByteBuffer(bytes: body + rest), fields)
        #expect(reply.status == 400)
        #expect(try reply.code() == "malformed", "\(reply.text)")
      }
    }
  }
}
