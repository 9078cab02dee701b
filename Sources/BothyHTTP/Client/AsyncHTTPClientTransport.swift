#if !canImport(Darwin)
  import AsyncHTTPClient
  public import BothySync
  import Foundation
  import HTTPTypes
  import NIOCore
  import NIOHTTP1
  import NIOHTTPCompression
  import NIOPosix

  /// Sends requests with AsyncHTTPClient and keeps connections open. This is the transport on Linux.
  ///
  /// It does not follow redirects, so a token is sent only to the configured address. The body of a stream is
  /// read from the connection on demand, so that a slow reader delays the sender instead of filling memory. A
  /// connection that can't be made within ten seconds fails. A GET or HEAD on a connection that the server has
  /// closed is sent again at once.
  public final class AsyncHTTPClientTransport: HTTPTransport {
    private let client: HTTPClient
    private let bodyLimit: Int
    private let codings: Set<String>

    /// Creates a transport. Opens no connection before the first request.
    ///
    /// - Parameters:
    ///   - compression: True if responses may be compressed. That isn't worthwhile on one machine.
    ///   - bodyLimit: The largest number of bytes of a response, uncompressed. 64 MiB by default.
    ///   - connections: The largest number of connections to a server. Further requests wait for one.
    public init(compression: Bool = true, bodyLimit: Int = 64 << 20, connections: Int = 8) {
      self.bodyLimit = bodyLimit
      codings = compression ? ["gzip", "deflate"] : []
      var configuration = HTTPClient.Configuration()
      configuration.redirectConfiguration = .disallow
      configuration.timeout.connect = .seconds(10)
      // A refused connection is a result. The sync engine and the cache decide when to try again.
      configuration.connectionPool.retryConnectionEstablishment = false
      configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connections
      configuration.decompression = compression ? .enabled(limit: .size(bodyLimit)) : .disabled
      client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    /// Closes the client's connections in the background. The result is ignored.
    deinit { client.shutdown { _ in } }

    /// Sends a request and reads the whole response into memory.
    ///
    /// - Throws: `RemoteError` of the class `unreachable` without a response, and `rejected` with the code
    ///   `answerTooLarge` for more than `bodyLimit` bytes.
    public func send(_ request: TransportRequest) async throws(RemoteError) -> TransportResponse {
      let deadline = NIODeadline.now() + .milliseconds(Int64(request.timeout / .milliseconds(1)))
      return try await begin(request, deadline).response(upTo: bodyLimit, silence: request.timeout)
    }

    /// Sends a request and returns when the head of the response is there. The wait for it has no limit of its
    /// own.
    ///
    /// - Throws: `RemoteError` like `send`. After the head, the body's stream throws.
    public func open(_ request: TransportRequest) async throws(RemoteError) -> TransportStream {
      try await begin(request, .now() + .hours(24 * 365))
    }

    /// Sends a request and returns when the head of the response is there.
    ///
    /// A GET or HEAD on a connection that the server had closed is sent again, at most four times (RFC 9110 §9.2.2),
    /// because several idle connections may be closed.
    private func begin(
      _ request: TransportRequest, _ deadline: NIODeadline
    ) async throws(RemoteError) -> TransportStream {
      var made = HTTPClientRequest(url: request.url)
      made.method = .init(rawValue: request.method.rawValue)
      for field in request.headers { made.headers.add(name: field.name.rawName, value: field.value) }
      if !request.body.isEmpty { made.body = .bytes(ByteBuffer(bytes: request.body)) }
      var left = request.method == .get || request.method == .head ? 4 : 0
      while true {
        do {
          return stream(try await client.execute(made, deadline: deadline))
        } catch {
          guard left > 0, Self.isClosed(error), !Task.isCancelled else {
            throw Self.failure(error, bodyLimit, RemoteError.noAnswer)
          }
          left -= 1
        }
      }
    }

    /// True if the server closed the connection before its response, properly or not.
    private static func isClosed(_ error: any Error) -> Bool {
      if let error = error as? IOError { return error.errnoCode == ECONNRESET || error.errnoCode == EPIPE }
      if let error = error as? ChannelError {
        switch error {
        case .ioOnClosedChannel, .alreadyClosed, .outputClosed, .inputClosed, .eof: return true
        default: return false
        }
      }
      return (error as? HTTPClientError) == .remoteConnectionClosed
    }

    private func stream(_ response: HTTPClientResponse) -> TransportStream {
      var fields = HTTPFields()
      for (name, value) in response.headers {
        if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
      }
      let limit = bodyLimit
      let body = AsyncThrowingStream(reading: response.body) {
        Array($0.readableBytesView)
      } failure: {
        Self.failure($0, limit, RemoteError.brokeOff)
      }
      var stream = TransportStream(status: Int(response.status.code), headers: fields, body: body)
      stream.isMultiplexed = response.version.major >= 2
      stream.undoneCodings = codings
      return stream
    }

    /// Returns the error for a failure below HTTP.
    /// - Parameter other: Makes the error for all but cancelled tasks, timeouts, broken addresses and too large bodies.
    private static func failure(
      _ error: any Error, _ limit: Int, _ other: (String) -> RemoteError
    ) -> RemoteError {
      if error is CancellationError || Task.isCancelled { return .cancelled }
      if (error as? NIOHTTPDecompression.DecompressionError) == .limit { return .tooLarge(limit) }
      guard let failure = error as? HTTPClientError else { return other("\(reason(error)).") }
      switch failure {
      case .cancelled: return .cancelled
      case .connectTimeout, .readTimeout, .writeTimeout, .deadlineExceeded, .tlsHandshakeTimeout,
        .getConnectionFromPoolTimeout:
        return .timedOut
      case .invalidURL, .emptyHost, .emptyScheme: return .badAddress
      default: return other("\(failure.shortDescription).")
      }
    }

    /// Returns the system's words for an error of a connection, plain words for one of TLS, and other errors as they
    /// describe themselves.
    private static func reason(_ error: any Error) -> String {
      switch error {
      case let error as IOError: String(cString: strerror(error.errnoCode))
      case let error as NIOConnectionError:
        if let failure = error.connectionErrors.first {
          reason(failure.error)
        } else {
          "The name \(error.host) leads to no address"
        }
      // Its type is in a module that only the HTTP client imports.
      case _ where String(reflecting: type(of: error)).hasPrefix("NIOSSL."): tlsReason("\(error)")
      default: "\(error)"
      }
    }

    /// Returns plain words for an error of TLS. Its own have addresses in the library's sources.
    package static func tlsReason(_ text: String) -> String {
      if text.contains("CERTIFICATE_VERIFY_FAILED") { return "Its TLS certificate isn't trusted here" }
      if text.contains("failedToValidateHostname") { return "Its TLS certificate is for another name" }
      if text.contains("WRONG_VERSION_NUMBER") { return "It doesn't use TLS, which https: needs" }
      return "TLS failed"
    }
  }
#endif
