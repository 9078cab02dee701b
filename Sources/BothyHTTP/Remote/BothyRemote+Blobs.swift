package import BothySync
import Foundation
import HTTPTypes

/// Transfers of blobs, at the space's addresses.
extension BothyRemote {
  package var blobs: (any BlobRemote)? { BlobRoutes(remote: self) }
}

private struct BlobRoutes: BlobRemote {
  let remote: BothyRemote

  private static let uploadOffset = HTTPField.Name("Upload-Offset") ?? .server
  private static let uploadLength = HTTPField.Name("Upload-Length") ?? .server

  func holding(of sha256: String) async throws(RemoteError) -> BlobHolding {
    try await holding(of: sha256, [:])
  }

  func verifiedHolding(of sha256: String) async throws(RemoteError) -> BlobHolding {
    // The request is for the digest of the bytes themselves (RFC 9530, 4).
    try await holding(of: sha256, [HTTPField.Name("Want-Repr-Digest") ?? .range: "sha-256=1"])
  }

  private func holding(of sha256: String, _ fields: HTTPFields) async throws(RemoteError) -> BlobHolding {
    let response = try await send(.head, sha256, fields)
    switch response.status {
    case 200:
      guard let size = response.headers[.contentLength].flatMap(Int64.init), size >= 0 else {
        throw Self.strange(response)
      }
      return .whole(size: size)
    case 404: return .part(max(0, response.headers[Self.uploadOffset].flatMap(Int64.init) ?? 0))
    default: throw Self.problem(response) ?? Self.strange(response)
    }
  }

  func upload(_ part: BlobPart) async throws(RemoteError) -> BlobHolding {
    let fields: HTTPFields = [
      .contentType: "application/octet-stream", Self.uploadOffset: String(part.offset),
      Self.uploadLength: String(part.size),
    ]
    let response = try await send(.patch, part.sha256, fields, body: part.bytes)
    let offset = response.headers[Self.uploadOffset].flatMap(Int64.init).map { max(0, $0) }
    switch (response.status, offset) {
    case (200, let size?), (201, let size?): return .whole(size: size)
    case (204, let received?), (409, let received?): return .part(received)
    default: throw Self.problem(response) ?? Self.strange(response)
    }
  }

  func download(_ sha256: String, _ range: Range<Int64>) async throws(RemoteError) -> [UInt8] {
    let field = "bytes=\(range.lowerBound)-\(range.upperBound - 1)"
    let response = try await send(.get, sha256, [.range: field])
    switch response.status {
    case 206: return response.body
    case 200: return Array(response.body.dropFirst(Int(range.lowerBound)).prefix(range.count))
    case 416: return []
    default: throw Self.problem(response) ?? Self.strange(response)
    }
  }

  func url(of sha256: String) -> URL {
    URL(string: address(sha256)) ?? URL(fileURLWithPath: "/dev/null")
  }

  private func address(_ sha256: String) -> String { "\(remote.base)/blobs/\(sha256)" }

  private func send(
    _ method: HTTPRequest.Method, _ sha256: String, _ fields: HTTPFields, body: [UInt8] = []
  ) async throws(RemoteError) -> TransportResponse {
    try await remote.authorized { headers throws(RemoteError) in
      var headers = headers
      for field in fields { headers.append(field) }
      let request = TransportRequest(
        method, address(sha256), headers: headers, body: body, timeout: remote.timeout)
      let response = try await remote.transport.send(request)
      return (response, response.status)
    }
  }

  /// Returns the error of a response. A response to HEAD has no body with a message.
  private static func problem(_ response: TransportResponse) -> RemoteError? {
    var error = BothyRemote.problem(response)
    if response.status == 501 {
      error?.code = BothyError.Code.blobsUnsupported.description
      error?.message = "This server keeps no blobs."
    }
    return error
  }

  /// Returns the error of a response that isn't part of this protocol.
  private static func strange(_ response: TransportResponse) -> RemoteError {
    BothyRemote.notTheServer("Its answer \(response.status) about a blob isn't one that a server gives.")
  }
}
