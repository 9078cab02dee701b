public import Foundation
public import HTTPTypes

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
