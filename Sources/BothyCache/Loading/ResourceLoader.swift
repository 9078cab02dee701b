public import Foundation
public import HTTPTypes

/// The interface to a network stack, which sends one request and returns the head of the response and its body in
/// pieces.
///
/// A loader follows no redirects, keeps no cookies and caches nothing, because the cache does so by its own rules. It
/// sends the fields unchanged and adds only those of the connection. It requests the content codings that it undoes
/// itself, unless the request names some, and undoes them once. It waits for a response without a limit of its own. It
/// stops soon after its task is cancelled or the body's stream is dropped.
public protocol ResourceLoader: Sendable {
  /// Sends a request and returns when the head of the response is there, whatever its status.
  ///
  /// - Throws: `BothyError` with the code `.timedOut`, `.cancelled` or `.refused` (a request that can't be sent). Any
  ///   other error means that no response came.
  func load(_ request: ResourceRequest) async throws -> ResourceResponse

  /// Returns the network's conditions, now and after each change, or `nil` if the loader does not know them.
  ///
  /// A cache listens as long as it is open.
  func conditions() -> AsyncStream<NetworkConditions>?
}

extension ResourceLoader {
  /// Returns `nil`: the conditions are unknown, so every load is tried.
  ///
  /// Prefetching takes the network for present and free of cost then.
  public func conditions() -> AsyncStream<NetworkConditions>? { nil }
}

/// One request for a resource, as a loader receives it.
///
/// A value. The cache has applied limits of hosts before.
public struct ResourceRequest: Sendable, Hashable {
  /// The method. The cache reads with GET.
  public var method: HTTPRequest.Method
  /// The whole address, with its query and secrets. Do not log it.
  public var url: String
  /// The fields to send. They may have credentials, validators and a range.
  public var fields: HTTPFields
  /// The bytes to send, empty for reads.
  public var body: Data

  /// Creates a request. The default is a GET without fields and body.
  package init(
    _ url: String, method: HTTPRequest.Method = .get, fields: HTTPFields = [:], body: Data = Data()
  ) {
    self.method = method
    self.url = url
    self.fields = fields
    self.body = body
  }
}

/// The head of a response, and its body in pieces, without content coding.
///
/// A loader returns it once the head is there, and the body follows while the cache reads it.
public struct ResourceResponse: Sendable {
  /// The status. Any is valid, also a redirect or an error.
  public var status: Int
  /// The fields of the head, without those that name a coding that was undone.
  ///
  /// `Content-Length` must be that of the body in pieces, or be missing.
  public var fields: HTTPFields
  /// True if the connection carries several requests at a time, so that one host is enough.
  package var isMultiplexed: Bool
  /// True if a content coding was undone. The fields then no longer name the coding or a length.
  ///
  /// The bytes differ from those that the server counts, so a broken body can't be resumed.
  package var wasCoded: Bool
  /// True if only the end of the connection marks the end of the body (RFC 9112 §6.3).
  ///
  /// The response then has no length and no chunks, and isn't a stream of a multiplexed connection. Such a body may
  /// have been cut off without notice.
  package var endsByClosing: Bool
  /// The body, which ends with the response. Throws if the response breaks off before its declared end.
  ///
  /// The cache reads it once, and may stop early, such as for a body beyond the limit.
  public var body: AsyncThrowingStream<Data, any Error>

  /// Creates a response in a custom loader.
  ///
  /// - Parameters:
  ///   - fields: the fields of the head, without those that name a coding that was undone.
  ///   - isMultiplexed: true if the connection carries several requests at a time, so that one host is enough.
  ///   - wasCoded: true if a content coding was undone. A broken body then can't be resumed.
  ///   - endsByClosing: true if only the end of the connection marks the end of the body (RFC 9112 §6.3). Such a body
  ///     may have been cut off without notice.
  ///   - body: the pieces, without content coding. It throws if the response breaks off before its declared end.
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
