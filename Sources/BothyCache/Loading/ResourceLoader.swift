public import Foundation
public import HTTPTypes

/// The seam to a network stack: sends one request and brings back the head of the answer, the body piece by piece.
///
/// It follows no redirect and caches nothing; the cache does both by its own rules. It stops soon after its task is
/// cancelled or the body's stream is dropped.
public protocol ResourceLoader: Sendable {
  func load(_ request: ResourceRequest) async throws(LoadFailure) -> ResourceResponse
}

/// One request for a resource.
public struct ResourceRequest: Sendable, Hashable {
  public var method: HTTPRequest.Method
  public var url: String
  public var fields: HTTPFields
  public var body: Data
  /// The longest the head of the answer may take.
  public var timeout: Duration

  public init(
    _ url: String, method: HTTPRequest.Method = .get, fields: HTTPFields = [:], body: Data = Data(),
    timeout: Duration = .seconds(20)
  ) {
    self.method = method
    self.url = url
    self.fields = fields
    self.body = body
    self.timeout = timeout
  }
}

/// The head of an answer, and its body as it comes, with any content coding undone.
public struct ResourceResponse: Sendable {
  public var status: Int
  public var fields: HTTPFields
  /// Whether the connection carries several requests at a time, so that one host is enough.
  public var isMultiplexed: Bool
  /// Ends with the answer; throws `LoadFailure` when the answer breaks off before its declared end.
  public var body: AsyncThrowingStream<Data, any Error>

  public init(
    status: Int, fields: HTTPFields, isMultiplexed: Bool = false, body: AsyncThrowingStream<Data, any Error>
  ) {
    self.status = status
    self.fields = fields
    self.isMultiplexed = isMultiplexed
    self.body = body
  }
}

/// Why no answer came, or only a part of it.
public struct LoadFailure: Error, Sendable, Hashable, CustomStringConvertible {
  public enum Reason: Sendable, Hashable {
    /// No connection, or none any more: the network may come back.
    case unreachable
    case timedOut
    case cancelled
    /// The answer broke off: fewer bytes than were announced.
    case truncated
    /// The request cannot be sent at all: a broken address, a forbidden scheme.
    case invalidRequest
  }

  public var reason: Reason
  public var description: String

  public init(_ reason: Reason, _ description: String) {
    self.reason = reason
    self.description = description
  }
}
