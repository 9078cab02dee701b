import BothyServer
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import Foundation
import HTTPTypes
import NIOCore
import Testing

/// The routes of blobs, used like any HTTP client uses them.
@Suite("Blob routes", .timeLimit(.minutes(5)))
struct BlobRouteTests {
  /// SHA-256 of `hello world` (a well-known value).
  private let name = "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9"
  private let text = "hello world"
  private let bytesType: HTTPFields = [.contentType: "application/octet-stream"]

  private func address(_ space: String = "hut") -> String { "/v1/spaces/\(space)/blobs/\(name)" }

  private func withServer(
    limits: BlobLimits? = BlobLimits(), tokens: String? = nil,
    _ body: @Sendable (RouteClient) async throws -> Void
  ) async throws {
    let temporary = try TemporaryFolder()
    let folder = temporary.file("vault")
    var server = try ServerUnderTest(tokens: tokens)
    server.configuration.blobs = limits.map { FolderBlobStorage(at: folder, limits: $0, now: { 1000 }) }
    try await server.run(body)
  }

  private func part(_ offset: Int, of length: Int = 11) -> HTTPFields {
    var fields = bytesType
    if let name = HTTPField.Name("Upload-Offset") { fields[name] = String(offset) }
    if let name = HTTPField.Name("Upload-Length") { fields[name] = String(length) }
    return fields
  }

  @Test("A blob sent in one request is served whole, with immutable cache fields")
  func whole() async throws {
    try await withServer { call in
      #expect(try await call(.get, address()).status == 404)
      let made = try await call(.put, address(), text, bytesType)
      #expect(made.status == 201)
      #expect(try await call(.put, address(), text, bytesType).status == 200)
      #expect(try await call(.put, address(), "hello there", bytesType).status == 422)
      let found = try await call(.get, address())
      #expect(found.status == 200)
      #expect(found.text == text)
      #expect(found.tag == "\"\(name)\"")
      #expect(found.headers[.cacheControl] == "private, max-age=31536000, immutable")
      #expect(found.headers[.contentType] == "application/octet-stream")
      #expect(found.headers[.contentDisposition] == "attachment")
      #expect(found.headers[.acceptRanges] == "bytes")
      let head = try await call(.head, address())
      #expect(head.status == 200)
      #expect(head.bytes.isEmpty)
      #expect(head.headers[.contentLength] == "11")
      let again = try await call(.get, address(), nil, [.ifNoneMatch: "\"\(name)\""])
      #expect(again.status == 304)
    }
  }

  @Test("The server requests a damaged blob from devices and replaces it by an upload")
  func damaged() async throws {
    let temporary = try TemporaryFolder()
    let folder = temporary.file("vault")
    var server = try ServerUnderTest()
    server.configuration.blobs = FolderBlobStorage(at: folder, now: { 1000 })
    try await server.run { call in
      _ = try await call(.put, address(), text, bytesType)
      let files = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
      let file = try #require(files.first { $0.hasSuffix(name) })
      try Data("hello wörld".utf8).write(to: URL(fileURLWithPath: folder + "/" + file))
      let wanted = { () async throws -> Bool in
        let reply = try await call(
          .post, "/v1/spaces/hut/sync", #"{"device":"d","pulls":[{"container":"Todo"}]}"#)
        return reply.text.contains("wantedBlobs")
      }
      #expect(try await call(.head, address()).status == 200)
      #expect(try await !wanted())
      var fields: HTTPFields = [:]
      if let name = HTTPField.Name("Want-Repr-Digest") { fields[name] = "sha-256=1" }
      #expect(try await call(.head, address(), nil, fields).status == 404)
      #expect(try await wanted())
      #expect(try await call(.put, address(), text, bytesType).status == 201)
      #expect(try await call(.head, address(), nil, fields).status == 200)
      #expect(try await call(.get, address()).text == text)
      #expect(try await !wanted())
      // A missing blob that a device tried to read is requested too, and a device that has it uploads it.
      #expect(try await call(.get, address("other")).status == 404)
      let reply = try await call(
        .post, "/v1/spaces/other/sync", #"{"device":"d","pulls":[{"container":"Todo"}]}"#)
      #expect(reply.text.contains("wantedBlobs") && !reply.text.contains(name))
    }
  }

  @Test(
    "The server serves ranges as RFC 9110 defines them",
    arguments: [
      ("bytes=0-4", 206, "hello", "bytes 0-4/11"), ("bytes=6-", 206, "world", "bytes 6-10/11"),
      ("bytes=-5", 206, "world", "bytes 6-10/11"), ("bytes=6-999", 206, "world", "bytes 6-10/11"),
      ("bytes=-999", 206, "hello world", "bytes 0-10/11"), ("bytes=5-4", 200, "hello world", nil),
      ("bytes=0-1,3-4", 200, "hello world", nil), ("lines=1-2", 200, "hello world", nil),
      ("bytes=a-b", 200, "hello world", nil), ("bytes=11-", 416, nil, "bytes */11"),
      ("bytes=-0", 416, nil, "bytes */11"), ("bytes=99999999999999999999-", 200, "hello world", nil),
    ] as [(String, Int, String?, String?)])
  func ranges(field: String, status: Int, body: String?, contentRange: String?) async throws {
    try await withServer { call in
      _ = try await call(.put, address(), text, bytesType)
      let reply = try await call(.get, address(), nil, [.range: field])
      #expect(reply.status == status)
      if let body { #expect(reply.text == body) }
      #expect(reply.headers[.contentRange] == contentRange)
      let other = try await call(.get, address(), nil, [.range: field, .ifRange: "\"other\""])
      #expect(other.status == 200)
    }
  }

  @Test("Parts continue at the server's offset, which it reports on request and on mistakes")
  func parts() async throws {
    let offset = HTTPField.Name("Upload-Offset")
    try await withServer { call in
      let field = try #require(offset)
      #expect(try await call(.head, address()).headers[field] == "0")
      let first = try await call(.patch, address(), "hello", part(0))
      #expect(first.status == 204)
      #expect(first.headers[field] == "5")
      let head = try await call(.head, address())
      #expect(head.status == 404)
      #expect(head.headers[field] == "5")
      #expect(try await call(.patch, address(), "hello", part(0)).headers[field] == "5")
      let wrong = try await call(.patch, address(), "ld", part(9))
      #expect(wrong.status == 409)
      #expect(try wrong.code() == "wrongOffset")
      #expect(wrong.headers[field] == "5")
      #expect(try await call(.get, address()).status == 404)
      let last = try await call(.patch, address(), " world", part(5))
      #expect(last.status == 201)
      #expect(last.headers[field] == "11")
      #expect(try await call(.patch, address(), " world", part(5)).status == 200)
      #expect(try await call(.get, address()).text == text)
    }
  }

  @Test("Bytes of another checksum are discarded, and a put completes uploaded parts")
  func checksum() async throws {
    try await withServer { call in
      let wrong = try await call(.put, address(), "hello there", bytesType)
      #expect(wrong.status == 422)
      #expect(try wrong.code() == "checksumMismatch")
      #expect(try await call(.get, address()).status == 404)
      #expect(try await call(.patch, address(), "hello", part(0)).status == 204)
      #expect(try await call(.put, address(), text, bytesType).status == 201)
      #expect(try await call(.get, address()).text == text)
    }
  }

  @Test("Blobs that are too large, over the quota or malformed have their own codes")
  func refusals() async throws {
    try await withServer(limits: BlobLimits(largest: 10)) { call in
      let large = try await call(.put, address(), text, bytesType)
      #expect(large.status == 413)
      #expect(try large.code() == "blobTooLarge")
      #expect(try await call(.patch, address(), "h", part(0)).status == 413)
      let bad = try await call(.put, "/v1/spaces/hut/blobs/\(name.uppercased())", text, bytesType)
      #expect(bad.status == 400)
      #expect(try bad.code() == "invalidBlob")
      #expect(try await call(.patch, address(), "h", bytesType).status == 400)
      #expect(try await call(.patch, address(), "hello", part(9, of: 10)).status == 400)
      #expect(try await call(.put, address(), text, [.contentType: "text/html"]).status == 415)
      #expect(try await call(.post, address(), text).status == 405)
    }
    try await withServer(limits: BlobLimits(quota: 10)) { call in
      let full = try await call(.put, address(), text, bytesType)
      #expect(full.status == 507)
      #expect(try full.code() == "quotaExceeded")
    }
    try await withServer(limits: nil) { call in
      let none = try await call(.put, address(), text, bytesType)
      #expect(none.status == 501)
      #expect(try none.code() == "blobsUnsupported")
      #expect(try await call(.head, address()).status == 501)
    }
  }

  @Test("Only callers with access to the space can read or upload its blobs")
  func access() async throws {
    let tokens = """
      [{"token":"a-token","principal":"ann","spaces":["hut"]},{"token":"b-token","principal":"bob","spaces":["den"]}]
      """
    try await withServer(tokens: tokens) { call in
      let (ann, bob) = (call.with(token: "a-token"), call.with(token: "b-token"))
      let made = try await ann(.put, address(), text, bytesType)
      #expect(made.status == 201)
      #expect(try await call(.get, address()).status == 401)
      #expect(try await call(.put, address(), text, bytesType).status == 401)
      #expect(try await bob(.get, address()).status == 403)
      #expect(try await bob(.get, address("den")).status == 404)
      #expect(try await ann(.get, address()).text == text)
    }
  }

  @Test("A record's push protects its blob from the sweep")
  func keeping() async throws {
    let temporary = try TemporaryFolder()
    let folder = temporary.file("vault")
    let vault = FolderBlobStorage(at: folder, now: { 1000 })
    var server = try ServerUnderTest()
    server.configuration.blobs = vault
    try await server.run { call in
      _ = try await call(.put, address(), text, bytesType)
      _ = try await call(.put, address("other"), text, bytesType)
      let body = #"{"fields":{"image":{"sha256":"\#(name)","size":11}}}"#
      #expect(try await call(.put, "/v1/spaces/hut/records/Snap/1", body).status == 201)
      #expect(try await vault.sweep(before: 2000) == 1)
      #expect(try await call(.get, address()).text == text)
      #expect(try await call(.get, address("other")).status == 404)
    }
  }
}
