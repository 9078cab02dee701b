#if !canImport(Darwin)
  import AsyncHTTPClient
  public import BothySync
  import HTTPTypes
  import NIOCore
  import NIOHTTP1
  import NIOHTTPCompression
  import Synchronization

  /// Sends requests with AsyncHTTPClient and keeps connections open. This is the transport on Linux.
  ///
  /// It does not follow redirects, so a token is sent only to the configured address.
  public final class AsyncHTTPClientTransport: HTTPTransport {
    private let client: HTTPClient
    private let bodyLimit: Int

    /// Creates a transport.
    /// - Parameters:
    ///   - compression: True if responses may be compressed. That isn't worthwhile on one machine.
    ///   - bodyLimit: The largest number of bytes of a response, uncompressed.
    ///   - connections: The largest number of connections to a server. Further requests wait for one.
    public init(compression: Bool = true, bodyLimit: Int = 64 << 20, connections: Int = 8) {
      self.bodyLimit = bodyLimit
      var configuration = HTTPClient.Configuration()
      configuration.redirectConfiguration = .disallow
      configuration.timeout.connect = .seconds(10)
      // A refused connection is a result. The sync engine decides when to try again.
      configuration.connectionPool.retryConnectionEstablishment = false
      configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connections
      configuration.decompression = compression ? .enabled(limit: .size(bodyLimit)) : .disabled
      client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    /// Closes the client's connections in the background. The result is ignored.
    deinit { client.shutdown { _ in } }

    public func send(_ request: TransportRequest) async throws(RemoteError) -> TransportResponse {
      do {
        let response = try await client.execute(
          Self.request(request), deadline: .now() + Self.amount(request.timeout))
        let body = try await Self.body(of: response, upTo: bodyLimit, silence: request.timeout)
        return TransportResponse(
          status: Int(response.status.code), headers: Self.fields(response), body: body)
      } catch {
        throw Self.remoteError(error, bodyLimit)
      }
    }

    public func open(_ request: TransportRequest) async throws(RemoteError) -> TransportStream {
      do {
        let response = try await client.execute(Self.request(request), timeout: .hours(24 * 365))
        let limit = bodyLimit
        let (body, continuation) = AsyncThrowingStream.makeStream(of: [UInt8].self)
        let task = Task {
          do {
            for try await piece in response.body { continuation.yield(Array(piece.readableBytesView)) }
            continuation.finish()
          } catch {
            continuation.finish(throwing: Self.remoteError(error, limit))
          }
        }
        continuation.onTermination = { _ in task.cancel() }
        return TransportStream(
          status: Int(response.status.code), headers: Self.fields(response), body: body)
      } catch {
        throw Self.remoteError(error, bodyLimit)
      }
    }

    /// Returns the whole body. A connection that breaks in the middle of it counts as a timeout.
    private static func body(
      of response: HTTPClientResponse, upTo limit: Int, silence: Duration
    ) async throws -> [UInt8] {
      let body = Mutex<[UInt8]>([])
      try await SilenceWatch.withLimit(silence) { heard in
        for try await piece in response.body {
          heard()
          try body.withLock { bytes in
            guard bytes.count + piece.readableBytes <= limit else { throw RemoteError.tooLarge(limit) }
            bytes.append(contentsOf: piece.readableBytesView)
          }
        }
      }
      return body.withLock { $0 }
    }

    private static func request(_ request: TransportRequest) -> HTTPClientRequest {
      var made = HTTPClientRequest(url: request.url)
      made.method = .init(rawValue: request.method.rawValue)
      for field in request.headers { made.headers.add(name: field.name.rawName, value: field.value) }
      if !request.body.isEmpty { made.body = .bytes(ByteBuffer(bytes: request.body)) }
      return made
    }

    private static func fields(_ response: HTTPClientResponse) -> HTTPFields {
      var fields = HTTPFields()
      for (name, value) in response.headers {
        if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
      }
      return fields
    }

    private static func amount(_ duration: Duration) -> TimeAmount {
      .milliseconds(Int64(duration / .milliseconds(1)))
    }

    /// Returns the error of the network for all failures below HTTP, except a cancelled task and a body over the limit.
    private static func remoteError(_ error: any Error, _ limit: Int) -> RemoteError {
      if let known = error as? RemoteError { return known }
      if error is CancellationError || Task.isCancelled { return .cancelled }
      if error is NIOTooManyBytesError { return .tooLarge(limit) }
      guard let failure = error as? HTTPClientError else {
        return RemoteError(.unreachable, "No answer came: \(error).", code: "network")
      }
      switch failure {
      case .cancelled: return .cancelled
      case .connectTimeout, .readTimeout, .writeTimeout, .deadlineExceeded, .tlsHandshakeTimeout,
        .getConnectionFromPoolTimeout:
        return RemoteError(.unreachable, "No answer came in time.", code: "timeout")
      case .invalidURL, .emptyHost, .emptyScheme:
        return RemoteError(.rejected, "The server's address isn't a URL.", code: "badAddress")
      default:
        return RemoteError(.unreachable, "No answer came: \(failure.shortDescription).", code: "network")
      }
    }
  }
#endif
