public import HTTPTypes

/// A response whose body is still arriving.
///
/// The connection stays in use until the body has ended or is released. Release it to stop a response that
/// isn't needed.
public struct TransportStream: Sendable {
  /// The status code. It is known before the body, so a refusal needs no reading.
  public var status: Int
  /// The fields of the response's head. They still name a compression that the transport undoes.
  public var headers: HTTPFields
  /// The pieces of the body in order, of any size, for one reader.
  ///
  /// It ends with the response. Throws `RemoteError` of the class `unreachable` if the connection is lost. In a
  /// cancelled task it may end early without an error.
  public var body: AsyncThrowingStream<[UInt8], any Error>
  /// True if the connection carries several requests at a time.
  package var isMultiplexed = false
  /// The content codings that the transport undoes, or `nil` for every one. `headers` still names the coding that was
  /// undone.
  package var undoneCodings: Set<String>?

  /// Creates a stream in a transport, which must close the connection when `body` is released
  /// (`onTermination`).
  ///
  /// - Parameter body: the pieces without compression, in order. It throws `RemoteError` if the connection is
  ///   lost.
  public init(status: Int, headers: HTTPFields, body: AsyncThrowingStream<[UInt8], any Error>) {
    self.status = status
    self.headers = headers
    self.body = body
  }
}
