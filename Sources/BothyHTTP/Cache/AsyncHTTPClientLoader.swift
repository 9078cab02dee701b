#if !canImport(Darwin)
  import AsyncHTTPClient
  public import BothyCache
  public import BothySync
  import Foundation
  import HTTPTypes
  import NIOCore
  import NIOHTTP1
  import NIOHTTPCompression

  /// Loads resources with AsyncHTTPClient and keeps connections open. This is the loader on Linux.
  ///
  /// It requests gzip and deflate and undoes them. The body is read from the connection on demand, so that a slow
  /// reader delays the sender instead of filling memory.
  public final class AsyncHTTPClientLoader: ResourceLoader {
    private let client: HTTPClient
    private let monitor: (any ReachabilityMonitor)?

    /// Creates a loader.
    /// - Parameters:
    ///   - connectTimeout: the longest time until a connection is established.
    ///   - idleConnections: the time that an unused connection is kept open.
    ///   - monitor: reports the network's state, such as a `NetworkFeed`, because the system does not report it.
    public init(
      connectTimeout: Duration = .seconds(10), idleConnections: Duration = .seconds(60),
      monitor: (any ReachabilityMonitor)? = nil
    ) {
      self.monitor = monitor
      var configuration = HTTPClient.Configuration()
      configuration.redirectConfiguration = .disallow
      configuration.timeout.connect = Self.amount(connectTimeout)
      // The cache limits the number of simultaneous requests to a host.
      configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 256
      configuration.connectionPool.idleTimeout = Self.amount(idleConnections)
      configuration.connectionPool.retryConnectionEstablishment = false
      // The cache limits the size of a body, which it reads in pieces.
      configuration.decompression = .enabled(limit: .none)
      client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    public func conditions() -> AsyncStream<NetworkConditions>? {
      monitor.map { NetworkConditions.stream(of: $0) }
    }

    /// Closes the client's connections in the background. The result is ignored.
    deinit { client.shutdown { _ in } }

    /// Sends the request and returns when the head of the response is there.
    ///
    /// A GET or HEAD on a connection that the server had closed is sent again, at most four times (RFC 9110 §9.2.2),
    /// because several idle connections may be closed.
    public func load(_ request: ResourceRequest) async throws -> ResourceResponse {
      let onlyAsks = request.method == .get || request.method == .head
      var left = onlyAsks ? 4 : 0
      while true {
        do { return try await send(request) } catch {
          guard left > 0, Self.isClosed(error), !Task.isCancelled else { throw Self.failure(error).error }
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

    private func send(_ request: ResourceRequest) async throws -> ResourceResponse {
      var made = HTTPClientRequest(url: request.url)
      made.method = .init(rawValue: request.method.rawValue)
      for field in request.fields { made.headers.add(name: field.name.rawName, value: field.value) }
      if !request.body.isEmpty { made.body = .bytes(ByteBuffer(bytes: request.body)) }
      let response = try await client.execute(made, deadline: .now() + .hours(24 * 7))
      var fields = HTTPFields()
      for (name, value) in response.headers {
        if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
      }
      let (decoded, wasCoded) = ContentCoding.decoded(fields, undone: ["gzip", "deflate"])
      let pieces = Pieces(response.body)
      return ResourceResponse(
        status: Int(response.status.code), fields: decoded, isMultiplexed: response.version.major >= 2,
        wasCoded: wasCoded, endsByClosing: response.version.major < 2 && !ContentCoding.saysItsEnd(fields),
        body: AsyncThrowingStream { try await pieces.next() })
    }

    /// The pieces of a body. Unchecked because an iterator isn't sendable, but the stream requests one piece at a time.
    private final class Pieces: @unchecked Sendable {
      private var iterator: HTTPClientResponse.Body.AsyncIterator

      init(_ body: HTTPClientResponse.Body) { iterator = body.makeAsyncIterator() }

      func next() async throws -> Data? {
        do {
          return try await iterator.next().map { Data($0.readableBytesView) }
        } catch {
          let failure = AsyncHTTPClientLoader.failure(error)
          guard failure.reason == .unreachable else { throw failure }
          throw LoadFailure(.truncated, "The answer broke off: \(error).")
        }
      }
    }

    private static func amount(_ duration: Duration) -> TimeAmount {
      .milliseconds(Int64(duration / .milliseconds(1)))
    }

    private static func failure(_ error: any Error) -> LoadFailure {
      if let known = error as? LoadFailure { return known }
      if error is CancellationError || Task.isCancelled {
        return LoadFailure(.cancelled, "The load was cancelled.")
      }
      guard let failure = error as? HTTPClientError else {
        return LoadFailure(.unreachable, "No answer came: \(error).")
      }
      switch failure {
      case .cancelled: return LoadFailure(.cancelled, "The load was cancelled.")
      case .connectTimeout, .readTimeout, .writeTimeout, .deadlineExceeded, .tlsHandshakeTimeout,
        .getConnectionFromPoolTimeout:
        return LoadFailure(.timedOut, "No answer came in time.")
      case .invalidURL, .emptyHost, .emptyScheme:
        return LoadFailure(.invalidRequest, "The address isn't a URL.")
      default: return LoadFailure(.unreachable, "No answer came: \(failure.shortDescription).")
      }
    }
  }
#endif
