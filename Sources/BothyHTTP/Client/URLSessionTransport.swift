#if canImport(Darwin)
  public import BothySync
  public import Foundation
  import HTTPTypes

  /// Sends requests with URLSession. This is the transport on Apple platforms.
  ///
  /// It does not follow redirects, so a token is sent only to the configured address. The session belongs to
  /// the transport alone, without a cache, cookies and stored credentials. It undoes gzip, deflate and br.
  /// The body of a stream is read ahead by about 1 MiB. Then a slow reader delays the sender. Requests that run
  /// when the transport is released are finished.
  public final class URLSessionTransport: HTTPTransport {
    private let session: URLSession
    private let tasks = URLSessionTaskTable()
    private let bodyLimit: Int

    /// Creates a transport. Opens no connection before the first request.
    ///
    /// - Parameters:
    ///   - configuration: The session's configuration. Caches, cookies and credentials are switched off in it.
    ///   - bodyLimit: The largest number of bytes that `send` accepts, uncompressed. 64 MiB by default.
    public init(configuration: URLSessionConfiguration = .ephemeral, bodyLimit: Int = 64 << 20) {
      self.bodyLimit = bodyLimit
      configuration.urlCache = nil
      configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
      configuration.httpCookieStorage = nil
      configuration.httpShouldSetCookies = false
      configuration.urlCredentialStorage = nil
      session = URLSession(configuration: configuration, delegate: tasks, delegateQueue: nil)
    }

    deinit { session.finishTasksAndInvalidate() }

    /// Sends a request and reads the whole response into memory.
    ///
    /// - Throws: `RemoteError` of the class `unreachable` without a response, and `rejected` with the code
    ///   `answerTooLarge` for more than `bodyLimit` bytes.
    public func send(_ request: TransportRequest) async throws(RemoteError) -> TransportResponse {
      try await begin(request, request.timeout).response(upTo: bodyLimit, silence: request.timeout)
    }

    /// Sends a request and returns when the head of the response is there. It ends after a week without a byte.
    ///
    /// - Throws: `RemoteError` like `send`. After the head, the body's stream throws.
    public func open(_ request: TransportRequest) async throws(RemoteError) -> TransportStream {
      try await begin(request, .seconds(7 * 24 * 3600))
    }

    /// Sends a request and returns when the head of the response is there.
    /// - Parameter silence: The longest time in which nothing arrives.
    private func begin(
      _ request: TransportRequest, _ silence: Duration
    ) async throws(RemoteError) -> TransportStream {
      guard let url = URL(string: request.url) else { throw .badAddress }
      var made = URLRequest(url: url)
      made.httpMethod = request.method.rawValue
      made.cachePolicy = .reloadIgnoringLocalCacheData
      made.timeoutInterval = silence / .seconds(1)
      for field in request.headers { made.addValue(field.value, forHTTPHeaderField: field.name.rawName) }
      if !request.body.isEmpty { made.httpBody = Data(request.body) }
      let task = session.dataTask(with: made)
      let result = await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          tasks.add(task, host: url.host() ?? "", continuation)
          task.resume()
        }
      } onCancel: {
        task.cancel()
      }
      return try result.get()
    }
  }
#endif
