import BothyServer
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes

/// A storage that speaks the protocol of S3, as far as blobs need it: objects in memory, without a network. It checks
/// the checksum of each body. Listings have few keys, so that they have several pages.
final class FakeS3: Sendable {
  /// The end of a request.
  enum Fault: Sendable, Equatable {
    case none
    /// The storage never gets the request.
    case lostRequest
    /// The storage carries the request out, and no answer comes.
    case lostAnswer
    /// The storage answers this and does nothing.
    case refused(Int, String)
  }

  struct Lost: Error {}

  struct Object: Sendable {
    var bytes: [UInt8]
    var modified: Int64
  }

  private struct State: Sendable {
    var objects: [String: Object] = [:]
    var uploads: [String: (key: String, parts: [Int: [UInt8]], begun: Int64)] = [:]
    var requests: [String] = []
    var urls: [String] = []
    var serial = 0
  }

  private struct Request {
    var method: HTTPRequest.Method
    var key: String
    var query: [String: String]
    var range: String?
    var body: [UInt8]
  }

  static let bucket = "shelf"
  private let state = Locked(State())
  private let time: VirtualTime
  private let pageSize: Int

  init(time: VirtualTime, pageSize: Int = 3) {
    self.time = time
    self.pageSize = pageSize
  }

  /// The stored objects by their keys.
  var objects: [String: [UInt8]] { state.value.objects.mapValues(\.bytes) }
  /// The kinds of all keys: `content`, `marks` and so on.
  var kinds: [String] { state.value.objects.keys.map { String($0.prefix { $0 != "/" }) }.sorted() }
  /// The number of uploads in parts that were neither completed nor aborted.
  var openUploads: Int { state.value.uploads.count }
  /// The requests as texts, such as `PUT content` and `GET list marks`.
  var requests: [String] { state.value.requests }
  /// The addresses of the requests.
  var urls: [String] { state.value.urls }

  func forgetRequests() {
    state.change {
      $0.requests = []
      $0.urls = []
    }
  }

  /// Replaces the bytes of objects.
  func damage(_ sha256: String, with bytes: [UInt8]) {
    state.change { state in
      for key in state.objects.keys where key.hasPrefix("content/") && key.contains(sha256) {
        state.objects[key]?.bytes = bytes
      }
    }
  }

  /// Returns the network of one process.
  ///
  /// - Parameter script: returns the fault of the process's request of this number, from 0 on.
  func process(
    _ script: @escaping @Sendable (Int) async -> Fault = { _ in .none }
  ) -> @Sendable (OutboundRequest) async throws -> OutboundResponse {
    let count = Locked(0)
    return { [self] request in
      var number = 0
      count.change {
        number = $0
        $0 += 1
      }
      switch await script(number) {
      case .none: return try answer(request)
      case .lostRequest: throw Lost()
      case .lostAnswer:
        _ = try answer(request)
        throw Lost()
      case .refused(let status, let code): return Self.error(status, code)
      }
    }
  }

  private static func error(_ status: Int, _ code: String) -> OutboundResponse {
    let text = code.isEmpty ? "" : "<?xml version=\"1.0\"?>\n<Error><Code>\(code)</Code></Error>"
    return OutboundResponse(status: status, body: Array(text.utf8))
  }

  private func answer(_ sent: OutboundRequest) throws -> OutboundResponse {
    guard let parts = URLComponents(string: sent.url), parts.path.hasPrefix("/\(Self.bucket)/"),
      sent.headers["authorization"]?.hasPrefix("AWS4-HMAC-SHA256 ") == true,
      sent.headers["x-amz-content-sha256"] == S3Signature.hash(sent.body)
    else { return Self.error(403, "AccessDenied") }
    let query = Dictionary(
      (parts.queryItems ?? []).map { ($0.name, $0.value ?? "") }, uniquingKeysWith: { $1 })
    let request = Request(
      method: sent.method, key: String(parts.path.dropFirst(Self.bucket.count + 2)), query: query,
      range: sent.headers["range"], body: sent.body)
    var response = Self.error(400, "InvalidRequest")
    state.change { state in
      let place = request.key.isEmpty ? query["prefix"] ?? "" : request.key
      let kind = request.key.isEmpty ? (query["uploads"] == nil ? "list " : "uploads ") : ""
      state.requests.append("\(request.method.rawValue) \(kind)\(place.prefix { $0 != "/" })")
      state.urls.append(sent.url)
      response = respond(to: request, &state)
    }
    return response
  }

  private func respond(to request: Request, _ state: inout State) -> OutboundResponse {
    let (key, upload) = (request.key, request.query["uploadId"])
    switch request.method {
    case .get where key.isEmpty && request.query["uploads"] != nil: return uploads(state)
    case .get where key.isEmpty: return list(request.query, state)
    case .get:
      guard let object = state.objects[key] else { return Self.error(404, "NoSuchKey") }
      return Self.range(request.range, of: object.bytes)
    case .put:
      if let upload {
        guard let number = Int(request.query["partNumber"] ?? ""), state.uploads[upload] != nil else {
          return Self.error(404, "NoSuchUpload")
        }
        state.uploads[upload]?.parts[number] = request.body
        return OutboundResponse(status: 200, headers: ["etag": "\"\(number)&\""])
      }
      state.objects[key] = Object(bytes: request.body, modified: time.now)
      return OutboundResponse(status: 200)
    case .delete:
      if let upload { state.uploads[upload] = nil } else { state.objects[key] = nil }
      return OutboundResponse(status: 204)
    case .post where upload == nil:
      state.serial += 1
      state.uploads["u\(state.serial)"] = (key, [:], time.now)
      return Self.document(
        "<InitiateMultipartUploadResult><UploadId>u\(state.serial)</UploadId></InitiateMultipartUploadResult>"
      )
    case .post:
      guard let found = upload.flatMap({ state.uploads.removeValue(forKey: $0) }) else {
        return Self.error(404, "NoSuchUpload")
      }
      let named = String(decoding: request.body, as: UTF8.self).split(separator: "<PartNumber>").dropFirst()
      let bytes = named.flatMap { found.parts[Int($0.prefix { $0 != "<" }) ?? 0] ?? [] }
      state.objects[key] = Object(bytes: bytes, modified: time.now)
      return Self.document("<CompleteMultipartUploadResult><Key>k</Key></CompleteMultipartUploadResult>")
    default: return Self.error(405, "MethodNotAllowed")
    }
  }

  private static func document(_ text: String) -> OutboundResponse {
    OutboundResponse(status: 200, body: Array("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\(text)".utf8))
  }

  private static func range(_ field: String?, of bytes: [UInt8]) -> OutboundResponse {
    guard let bounds = field?.dropFirst(6).split(separator: "-").compactMap({ Int($0) }), bounds.count == 2
    else { return OutboundResponse(status: 200, body: bytes) }
    guard bounds[0] < bytes.count else { return error(416, "InvalidRange") }
    return OutboundResponse(status: 206, body: Array(bytes[bounds[0]..<min(bytes.count, bounds[1] + 1)]))
  }

  private func list(_ query: [String: String], _ state: State) -> OutboundResponse {
    let (prefix, token) = (query["prefix"] ?? "", query["continuation-token"] ?? "")
    let limit = min(pageSize, Int(query["max-keys"] ?? "") ?? 1000)
    let keys = state.objects.keys.filter { $0.hasPrefix(prefix) && "&" + $0 > token }.sorted()
    var text = "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Prefix/>"
    for key in keys.prefix(limit) {
      guard let object = state.objects[key] else { continue }
      let modified = Timestamp(milliseconds: object.modified).rfc3339
      text +=
        "<Contents><Key>\(key)</Key><LastModified>\(modified)</LastModified><ETag>&quot;e&quot;</ETag>"
        + "<Size>\(object.bytes.count)</Size></Contents>"
    }
    text += "<IsTruncated>\(keys.count > limit)</IsTruncated>"
    if keys.count > limit {
      text += "<NextContinuationToken>&amp;\(keys[limit - 1])</NextContinuationToken>"
    }
    return Self.document(text + "</ListBucketResult>")
  }

  private func uploads(_ state: State) -> OutboundResponse {
    let found = state.uploads.map { id, upload in
      "<Upload><Key>\(upload.key)</Key><UploadId>\(id)</UploadId>"
        + "<Initiated>\(Timestamp(milliseconds: upload.begun).rfc3339)</Initiated></Upload>"
    }
    return Self.document("<ListMultipartUploadsResult>\(found.joined())</ListMultipartUploadsResult>")
  }
}
