public import Foundation
public import HTTPTypes

/// The seam to a network stack: sends one request and brings back the head of the answer, the body piece by piece.
///
/// It follows no redirect, keeps no cookies and caches nothing; the cache follows and keeps by its own rules. It sends
/// the fields as they are and adds none but those of the connection. It asks for the content codings that it undoes
/// itself (unless the request names some), and undoes them once. It waits for an answer as long as it is let,
/// and stops soon after its task is cancelled or the body's stream is dropped.
public protocol ResourceLoader: Sendable {
  /// Sends a request and returns when the head of the answer is there; any status is an answer. Throws `LoadFailure`
  /// when none came.
  func load(_ request: ResourceRequest) async throws(LoadFailure) -> ResourceResponse

  /// What its network is like, now and after each change, for as long as the stream is kept; nil when it does not know.
  /// A cache listens as long as it is open.
  func conditions() -> AsyncStream<NetworkConditions>?
}

extension ResourceLoader {
  /// Nothing is known of the network: what there is to load is tried.
  public func conditions() -> AsyncStream<NetworkConditions>? { nil }
}

/// One request for a resource.
public struct ResourceRequest: Sendable, Hashable {
  /// The method; the cache reads with GET.
  public var method: HTTPRequest.Method
  /// The whole address, with its query, secrets included: not for logs.
  public var url: String
  /// The fields as they are sent.
  public var fields: HTTPFields
  /// The bytes to send; none for reads.
  public var body: Data

  /// A GET without fields and body, unless told otherwise.
  public init(
    _ url: String, method: HTTPRequest.Method = .get, fields: HTTPFields = [:], body: Data = Data()
  ) {
    self.method = method
    self.url = url
    self.fields = fields
    self.body = body
  }
}

/// The head of an answer, and its body as it comes, with any content coding undone.
public struct ResourceResponse: Sendable {
  /// The status, whatever it is.
  public var status: Int
  /// The fields of the head, without those that name a coding that was undone.
  public var fields: HTTPFields
  /// Whether the connection carries several requests at a time, so that one host is enough.
  public var isMultiplexed: Bool
  /// Whether a content coding was undone: then the bytes are not those the server counts, and a broken body cannot be
  /// resumed. The fields no longer name the coding or a length.
  public var wasCoded: Bool
  /// Whether nothing but the end of the connection says that the body is whole (RFC 9112 §6.3): no length, no chunks, no
  /// stream of a connection with several. Such a body may have been cut off without a word.
  public var endsByClosing: Bool
  /// Ends with the answer; throws `LoadFailure` when the answer breaks off before its declared end.
  public var body: AsyncThrowingStream<Data, any Error>

  /// For loaders of one's own.
  public init(
    status: Int, fields: HTTPFields, isMultiplexed: Bool = false, wasCoded: Bool = false,
    endsByClosing: Bool = false,
    body: AsyncThrowingStream<Data, any Error>
  ) {
    self.status = status
    self.fields = fields
    self.isMultiplexed = isMultiplexed
    self.wasCoded = wasCoded
    self.endsByClosing = endsByClosing
    self.body = body
  }
}
