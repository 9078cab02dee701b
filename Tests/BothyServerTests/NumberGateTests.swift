import BothyServer
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import Foundation
import HTTPTypes
import NIOCore
import Testing

/// Each input of the server with extreme numbers. It has to respond, and its process has to continue.
@Suite("Extreme numbers as input", .timeLimit(.minutes(5)))
struct NumberGateTests {
  static let extremes = [
    "0", "-1", "9223372036854775807", "-9223372036854775808", "18446744073709551615", "1e308", "-1e308",
    "NaN",
    "inf", String(repeating: "9", count: 40), "9223372036854775808", "4294967296", "-0", "+1", "1.5", "",
  ]
  /// SHA-256 of `hello world`.
  private static let blob = "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9"
  private let bytesType: HTTPFields = [.contentType: "application/octet-stream"]

  private func withServer(_ body: @Sendable (RouteClient) async throws -> Void) async throws {
    let folder = try TemporaryFolder()
    var server = try ServerUnderTest()
    server.configuration.blobs = FolderBlobStorage(
      at: folder.file("vault"), limits: BlobLimits(), now: { 1000 })
    try await server.run { call async throws in
      let address = "/v1/spaces/hut/blobs/\(Self.blob)"
      #expect(try await call(.put, address, "hello world", bytesType).status == 201)
      #expect(
        try await call(.put, "/v1/spaces/hut/records/Todo/1", #"{"fields":{"title":"t"}}"#).status == 201)
      try await body(call)
    }
  }

  @Test("Each parameter of each route gets a response other than a server failure")
  func routes() async throws {
    try await withServer { call in
      let document = try await call(.get, "/openapi.json").json()
      var tried = 0
      for (pattern, item) in document["paths"]?.objectValue ?? [:] {
        for (method, operation) in item.objectValue ?? [:] where operation["operationId"] != nil {
          guard pattern.contains("events") == false, let method = HTTPRequest.Method(method.uppercased())
          else {
            continue
          }
          let parameters =
            (operation["parameters"]?.arrayValue ?? []) + (item["parameters"]?.arrayValue ?? [])
          for parameter in parameters {
            for number in Self.extremes {
              let status = try await Self.status(call, method, pattern, parameter, number)
              #expect((100..<500).contains(status), "\(method) \(pattern) \(parameter) \(number)")
              tried += 1
            }
          }
        }
      }
      #expect(tried > 300)
    }
  }

  private static func status(
    _ call: RouteClient, _ method: HTTPRequest.Method, _ pattern: String, _ parameter: JSONValue,
    _ number: String
  ) async throws -> Int {
    var path =
      pattern.replacing("{space}", with: "hut").replacing("{sha256}", with: blob).replacing(
        "{type}", with: "Todo")
    var fields = HTTPFields()
    let name = parameter["name"]?.stringValue ?? ""
    switch parameter["in"]?.stringValue {
    case "path": path = path.replacing("{\(name)}", with: number.isEmpty ? "0" : number)
    case "header": if let field = HTTPField.Name(name) { fields[field] = number }
    default:
      // `type` needs `id`, and `in` needs `parts`.
      path += "?\(name)=\(number)" + (name == "in" ? "&parts=4" : name == "id" ? "&type=Todo" : "")
    }
    path = path.replacing(/\{[a-z]+\}/, with: "1")
    let body = method == .get || method == .delete || method == .head ? nil : "{}"
    return try await call(method, path, body, fields).status
  }

  @Test("Each form of a byte range gets a response, with the largest number too")
  func ranges() async throws {
    try await withServer { call in
      let address = "/v1/spaces/hut/blobs/\(Self.blob)"
      for number in Self.extremes {
        for range in [
          "bytes=0-\(number)", "bytes=\(number)-", "bytes=-\(number)", "bytes=\(number)-\(number)",
        ] {
          let reply = try await call(.get, address, nil, [.range: range])
          #expect([200, 206, 416].contains(reply.status), "\(range)")
        }
      }
      let whole = try await call(.get, address, nil, [.range: "bytes=0-9223372036854775807"])
      #expect(whole.status == 206 && whole.text == "hello world")
      let last = try await call(.get, address, nil, [.range: "bytes=10-10"])
      #expect(last.status == 206 && last.text == "d")
    }
  }

  @Test("Each number of a sync request gets a response at its extremes")
  func sync() async throws {
    try await withServer { call in
      for number in Self.extremes where !number.isEmpty {
        for json in [
          #"{"device":"d","schema":\#(number),"limit":\#(number),"pulls":[{"container":"","children":true}]}"#,
          #"{"device":"d","limit":\#(number),"pulls":[{"container":"","cursor":"e.\#(number).m.\#(number)"}]}"#,
          #"{"device":"d","operations":[{"id":"a\#(number)","kind":"insert","type":"Todo","record":"r","modified":\#(number)}]}"#,
          #"{"device":"d","operations":[{"id":"b","kind":"insert","type":"T","record":"r","fields":{"p":{"sha256":"\#(Self.blob)","size":\#(number)},"n":\#(number)}}]}"#,
          #"{"device":"d","operations":[{"id":"c","kind":"insert","type":"T","record":"r","group":{"id":"g","size":\#(number)}}]}"#,
        ] {
          let status = try await call(.post, "/v1/spaces/hut/sync", json).status
          #expect((200..<500).contains(status), "\(json)")
        }
      }
    }
  }

  @Test("Each number of a query gets a response at its extremes")
  func queries() async throws {
    try await withServer { call in
      for number in Self.extremes where !number.isEmpty {
        for json in [
          #"{"type":"Todo","limit":\#(number),"offset":\#(number)}"#,
          #"{"type":"Todo","limit":\#(number)}"#,
          #"{"type":"Todo","offset":\#(number)}"#,
          #"{"type":"Todo","where":{"field":"n","is":"equal","value":\#(number)}}"#,
          #"{"type":"Todo","where":{"field":"c","is":"near","lat":\#(number),"lon":\#(number),"within":\#(number)}}"#,
        ] {
          for route in ["query", "count"] {
            let status = try await call(.post, "/v1/spaces/hut/\(route)", json).status
            #expect((200..<500).contains(status), "\(json)")
          }
        }
      }
    }
  }

  @Test("The proxy survives extreme numbers in an origin's fields and in requests")
  func proxy() async throws {
    for number in Self.extremes {
      let proxy = try ProxyUnderTest()
      proxy.origin.answers(
        200,
        [
          .cacheControl: "max-age=\(number), stale-while-revalidate=\(number), stale-if-error=\(number)",
          .age: number, .eTag: "\"1\"", .retryAfter: number, .contentLength: number, .lastModified: number,
          .expires: number, .date: number,
        ], "map")
      proxy.origin.answers(503, [.retryAfter: number], "")
      proxy.origin.answers(200, [:], "map")
      proxy.origin.answers(200, [:], "map")
      for fields: HTTPFields in [
        [:], [.range: "bytes=0-\(number)"], [.range: "bytes=\(number)-"],
        [.cacheControl: "max-age=\(number), max-stale=\(number), min-fresh=\(number)"],
      ] {
        let status = try await proxy.get("/a", fields).status
        #expect((100..<600).contains(status))
        proxy.origin.answers(200, [:], "map")
        proxy.pass(seconds: 1)
      }
    }
  }
}
