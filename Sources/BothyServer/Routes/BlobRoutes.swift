import BothySyncService
import Crypto
import HTTPTypes
import Hummingbird
import NIOCore

/// The routes of blobs, at addresses that have their checksums. Blobs are sent in ranges and uploaded in parts.
///
/// The two upload fields are those of the IETF's draft on resumable uploads.
extension ServerServices {
  private static let pattern = "/v1/spaces/{space}/blobs/{sha256}"

  func blobRoutes() -> [Route] {
    let whole = [
      Route.Documented(
        status: 201, about: "The blob is complete and verified.", headers: ["ETag", "Upload-Offset"]),
      Route.Documented(status: 200, about: "The space had it already.", headers: ["ETag", "Upload-Offset"]),
    ]
    let names = ["ETag", "Accept-Ranges"]
    return [
      Route(
        method: .get, pattern: Self.pattern, operation: "getBlob",
        summary: """
          The blob's bytes, or one range of them. HEAD of a blob that is being uploaded is answered 404 with how much is here.
          """,
        parameters: [.range, .ifRange, .ifNoneMatch, .wantReprDigest],
        answers: [
          .init(
            status: 200, about: "All of it.", schema: "Bytes", type: ServerResponse.bytesType, headers: names),
          .init(
            status: 206, about: "The range.", schema: "Bytes", type: ServerResponse.bytesType,
            headers: names + ["Content-Range"]),
          .init(status: 304, about: "The caller has it.", headers: ["ETag"]),
        ], problems: [416, 501], handle: getBlob),
      Route(
        method: .put, pattern: Self.pattern, operation: "putBlob",
        summary: "Uploads a blob in one piece.",
        body: .init(schema: "Bytes", types: [ServerResponse.bytesType]),
        answers: whole, problems: [422, 501, 507], handle: putBlob),
      Route(
        method: .patch, pattern: Self.pattern, operation: "uploadBlobPart",
        summary:
          "Uploads the next part of a blob; Upload-Offset of the answer says where to continue.",
        parameters: [.uploadOffset, .uploadLength],
        body: .init(schema: "Bytes", types: [ServerResponse.bytesType]),
        answers: whole + [.init(status: 204, about: "The part is here.", headers: ["Upload-Offset"])],
        problems: [409, 422, 501, 507], handle: uploadBlobPart),
    ]
  }

  // MARK: giving

  private func getBlob(_ call: ServerContext) async throws -> ServerResponse {
    let name = call.names["sha256"] ?? ""
    let size: Int64
    let isVerified = call.headers[.wantReprDigest]?.contains("sha-256") ?? false
    let holding =
      isVerified
      ? try await service.verifiedBlobHolding(space: call.space, name)
      : try await service.blobHolding(space: call.space, name)
    switch holding {
    case .whole(let found): size = found
    case .part(let received):
      if call.method == .get {
        // The request for the blob is a write, which waits for others.
        _ = call.turn?.moveNow(to: .push)
        try await service.wantBlob(space: call.space, name)
      }
      var problem = HTTPFailure.notFound
      problem.headers[.uploadOffset] = String(received)
      throw problem
    }
    var headers: HTTPFields = [
      .eTag: "\"\(name)\"", .cacheControl: "private, max-age=31536000, immutable", .acceptRanges: "bytes",
    ]
    guard try Preconditions(call.headers).noneMatches(name) else {
      return ServerResponse(.notModified, headers: headers)
    }
    headers[.contentType] = ServerResponse.bytesType
    // Browsers must not show the bytes as a page of this server.
    headers[.contentDisposition] = "attachment"
    let isSame = call.headers[.ifRange].map { $0 == "\"\(name)\"" } ?? true
    switch isSame ? ByteRange(call.headers[.range], of: size) : .all {
    case .all: return ServerResponse(.ok, headers: headers, body: body(of: name, 0..<size, call))
    case .part(let range):
      headers[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"
      return ServerResponse(.partialContent, headers: headers, body: body(of: name, range, call))
    case .unsatisfiable:
      var problem = HTTPFailure(.rangeNotSatisfiable, "badRange", "The blob has \(size) bytes.")
      problem.headers[.contentRange] = "bytes */\(size)"
      throw problem
    }
  }

  /// Reads and writes a quarter of a megabyte at a time, and waits for slow callers.
  private func body(of name: String, _ range: Range<Int64>, _ call: ServerContext) -> ServerResponse.Body {
    .stream(length: range.count) { writer in
      var offset = range.lowerBound
      while offset < range.upperBound {
        let end = min(range.upperBound, offset + Int64(ServerResponse.pieceSize))
        let bytes = try await service.downloadBlob(space: call.space, name, offset..<end)
        guard !bytes.isEmpty else { throw BlobError(.notFound, "The blob is gone.") }
        try await writer.write(ByteBuffer(bytes: bytes), to: call.channel)
        offset += Int64(bytes.count)
      }
      try await writer.finish(nil)
    }
  }

  // MARK: taking

  /// Throws `HTTPFailure` 403 for a caller that may only read.
  private static func checkWriter(_ call: ServerContext) throws {
    guard call.user.isReader else { return }
    throw HTTPFailure(.forbidden, "forbidden", "You may only read in this space.", reason: "rights")
  }

  private func putBlob(_ call: ServerContext) async throws -> ServerResponse {
    try Self.checkWriter(call)
    let name = call.names["sha256"] ?? ""
    let bytes = Array(call.body.readableBytesView)
    // The server's part is the beginning of the same bytes, or the checksum detects the difference.
    var start = 0
    var status = HTTPResponse.Status.ok
    switch try await service.blobHolding(space: call.space, name) {
    case .part(let received):
      start = min(Int(received), bytes.count)
      status = .created
    case .whole:
      guard SHA256.hash(data: bytes).hexadecimal == name else {
        throw BlobError(.checksumMismatch, "The bytes don't have the checksum that names the blob.")
      }
    }
    let part = BlobPart(
      sha256: name, size: Int64(bytes.count), offset: Int64(start), bytes: Array(bytes[start...]))
    guard case .whole(let size) = try await service.uploadBlob(space: call.space, part) else {
      throw HTTPFailure.unavailable("The same blob is being uploaded by another client; try again.")
    }
    return Self.taken(name, Int(size), status)
  }

  private func uploadBlobPart(_ call: ServerContext) async throws -> ServerResponse {
    try Self.checkWriter(call)
    let name = call.names["sha256"] ?? ""
    let (offset, length) = (try call.number(.uploadOffset), try call.number(.uploadLength))
    let part = BlobPart(
      sha256: name, size: length, offset: offset, bytes: Array(call.body.readableBytesView))
    var status = HTTPResponse.Status.created
    if case .whole = try await service.blobHolding(space: call.space, name) { status = .ok }
    switch try await service.uploadBlob(space: call.space, part) {
    case .whole(let size): return Self.taken(name, Int(size), status)
    case .part(let received) where received == offset + Int64(part.bytes.count):
      return ServerResponse(.noContent, headers: [.uploadOffset: String(received)])
    case .part(let received):
      var problem = HTTPFailure(
        .conflict, "wrongOffset", "The server has \(received) bytes of the blob; go on from there.")
      problem.headers[.uploadOffset] = String(received)
      throw problem
    }
  }

  private static func taken(_ name: String, _ size: Int, _ status: HTTPResponse.Status) -> ServerResponse {
    ServerResponse(status, headers: [.eTag: "\"\(name)\"", .uploadOffset: String(size)])
  }
}

/// One range of bytes of a request (RFC 9110, 14.2). Several ranges, and units other than bytes, are ignored.
enum ByteRange: Equatable {
  case all
  case part(Range<Int64>)
  case unsatisfiable

  init(_ field: String?, of size: Int64) {
    self = .all
    guard let field, field.hasPrefix("bytes="), !field.contains(",") else { return }
    let bounds = field.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
    guard bounds.count == 2, bounds.allSatisfy({ $0.utf8.allSatisfy { (48...57).contains($0) } }) else {
      return
    }
    switch (Int64(bounds[0]), Int64(bounds[1])) {
    case (let first?, _) where bounds[1].isEmpty: self = first < size ? .part(first..<size) : .unsatisfiable
    case (let first?, let last?):
      guard first <= last else { return }
      // A last position beyond the end means the end (RFC 9110, 14.1.2).
      self = first < size ? .part(first..<(last < size ? last + 1 : size)) : .unsatisfiable
    case (_, let count?) where bounds[0].isEmpty:
      self = count > 0 && size > 0 ? .part(max(0, size - count)..<size) : .unsatisfiable
    default: return
    }
  }
}

extension ServerContext {
  /// Returns the value of a required field with a whole number.
  fileprivate func number(_ name: HTTPField.Name) throws -> Int64 {
    guard let text = headers[name], let number = Int64(text), number >= 0 else {
      throw HTTPFailure.badRequest("Send \(name.rawName), a whole number.")
    }
    return number
  }
}

extension HTTPField.Name {
  static let uploadOffset = HTTPField.Name("Upload-Offset") ?? .server
  static let uploadLength = HTTPField.Name("Upload-Length") ?? .server
  fileprivate static let wantReprDigest = HTTPField.Name("Want-Repr-Digest") ?? .server
}

extension Route.Parameter {
  static let range = Self(
    name: "Range", place: .header, schema: #"{"type":"string"}"#, about: "One range of bytes, `bytes=0-1023`."
  )
  fileprivate static let ifRange = Self(
    name: "If-Range", place: .header, schema: #"{"type":"string"}"#,
    about: "Give the range only of the blob with this entity tag, else all.")
  fileprivate static let wantReprDigest = Self(
    name: "Want-Repr-Digest", place: .header, schema: #"{"type":"string"}"#,
    about: "`sha-256=1` lets the server read all bytes first: a damaged blob is quarantined and answered 404."
  )
  fileprivate static let uploadOffset = Self(
    name: "Upload-Offset", place: .header, schema: #"{"type":"integer","minimum":0}"#,
    about: "Where the part begins.", isRequired: true)
  fileprivate static let uploadLength = Self(
    name: "Upload-Length", place: .header, schema: #"{"type":"integer","minimum":0}"#,
    about: "The size of the whole blob.", isRequired: true)
}
