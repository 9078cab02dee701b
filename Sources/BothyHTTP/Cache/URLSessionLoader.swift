#if canImport(Darwin)
  public import BothyCache
  public import BothySync
  public import Foundation
  import HTTPTypes
  import Synchronization

  /// Loads resources with URLSession. This is the loader on Apple platforms.
  ///
  /// The session belongs to the loader alone. It has no cache, no cookies and no credentials, and follows no redirect.
  /// It undoes gzip, deflate and br.
  public final class URLSessionLoader: ResourceLoader {
    private let session: URLSession
    private let tasks = TaskTable()
    private let monitor: any ReachabilityMonitor

    /// Creates a loader.
    /// - Parameters:
    ///   - configuration: the session's configuration. Caches, cookies and credentials are switched off in it.
    ///   - monitor: reports the network's state. The default is the system's monitor.
    public init(
      configuration: URLSessionConfiguration = .ephemeral, monitor: any ReachabilityMonitor = PathMonitor()
    ) {
      self.monitor = monitor
      configuration.urlCache = nil
      configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
      configuration.httpCookieStorage = nil
      configuration.httpShouldSetCookies = false
      configuration.urlCredentialStorage = nil
      // The cache limits the number of simultaneous requests to a host.
      configuration.httpMaximumConnectionsPerHost = 64
      session = URLSession(configuration: configuration, delegate: tasks, delegateQueue: nil)
    }

    public func conditions() -> AsyncStream<NetworkConditions>? { NetworkConditions.stream(of: monitor) }

    deinit { session.finishTasksAndInvalidate() }

    public func load(_ request: ResourceRequest) async throws -> ResourceResponse {
      guard let url = URL(string: request.url) else {
        throw LoadFailure(.invalidRequest, "The address isn't a URL.").error
      }
      var made = URLRequest(url: url)
      made.httpMethod = request.method.rawValue
      made.cachePolicy = .reloadIgnoringLocalCacheData
      made.timeoutInterval = 7 * 24 * 3600
      for field in request.fields { made.addValue(field.value, forHTTPHeaderField: field.name.rawName) }
      if !request.body.isEmpty { made.httpBody = request.body }
      let task = session.dataTask(with: made)
      let result = await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          tasks.add(task, host: url.host() ?? "", continuation)
          task.resume()
        }
      } onCancel: {
        task.cancel()
      }
      switch result {
      case .success(let response): return response
      case .failure(let failure): throw failure.error
      }
    }
  }

  /// The running tasks, each of which receives its head, then its body, then its end.
  private final class TaskTable: NSObject, URLSessionDataDelegate, Sendable {
    typealias Head = CheckedContinuation<Result<ResourceResponse, LoadFailure>, Never>

    private struct Running {
      var host: String
      var head: Head?
      var body: AsyncThrowingStream<Data, any Error>.Continuation?
    }

    private struct State {
      var running: [Int: Running] = [:]
      /// True if the last connection to a host carried several requests at a time.
      var isMultiplexed: [String: Bool] = [:]
      /// Failures of tasks that ended before they were added, because their callers had already cancelled them.
      var endedEarly: [Int: LoadFailure] = [:]
    }

    private let state = Mutex(State())

    func add(_ task: URLSessionTask, host: String, _ head: Head) {
      let failure = state.withLock { state in
        let failure = state.endedEarly.removeValue(forKey: task.taskIdentifier)
        if failure == nil { state.running[task.taskIdentifier] = Running(host: host, head: head) }
        return failure
      }
      if let failure { head.resume(returning: .failure(failure)) }
    }

    func urlSession(
      _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
      completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
      let (stream, body) = AsyncThrowingStream.makeStream(of: Data.self, throwing: (any Error).self)
      body.onTermination = { [weak dataTask] reason in
        if case .cancelled = reason { dataTask?.cancel() }
      }
      let (head, isMultiplexed) = state.withLock { state -> (Head?, Bool) in
        let id = dataTask.taskIdentifier
        let running = state.running[id]
        state.running[id]?.head = nil
        state.running[id]?.body = body
        return (running?.head, running.flatMap { state.isMultiplexed[$0.host] } ?? false)
      }
      guard let response = response as? HTTPURLResponse else {
        head?.resume(returning: .failure(LoadFailure(.invalidRequest, "The answer is not HTTP.")))
        completionHandler(.cancel)
        return
      }
      var fields = HTTPFields()
      for (name, value) in response.allHeaderFields {
        if let name = (name as? String).flatMap({ HTTPField.Name($0) }), let value = value as? String {
          fields.append(HTTPField(name: name, value: value))
        }
      }
      let (decoded, wasCoded) = ContentCoding.decoded(fields, undone: ["gzip", "deflate", "br"])
      head?.resume(
        returning: .success(
          ResourceResponse(
            status: response.statusCode, fields: decoded, isMultiplexed: isMultiplexed, wasCoded: wasCoded,
            endsByClosing: !isMultiplexed && !ContentCoding.saysItsEnd(fields), body: stream)))
      completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
      _ = state.withLock { $0.running[dataTask.taskIdentifier]?.body }?.yield(data)
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
    ) {
      guard let name = metrics.transactionMetrics.last?.networkProtocolName else { return }
      state.withLock { state in
        guard let host = state.running[task.taskIdentifier]?.host else { return }
        state.isMultiplexed[host] = name.hasPrefix("h2") || name.hasPrefix("h3")
      }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
      let running = state.withLock { state in
        let running = state.running.removeValue(forKey: task.taskIdentifier)
        if running == nil, let error {
          state.endedEarly[task.taskIdentifier] = Self.failure(error, afterHead: false)
        }
        return running
      }
      guard let error else {
        running?.body?.finish()
        return
      }
      let failure = Self.failure(error, afterHead: running?.head == nil)
      running?.head?.resume(returning: .failure(failure))
      running?.body?.finish(throwing: failure)
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
      newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
      completionHandler(nil)
    }

    private static func failure(_ error: any Error, afterHead: Bool) -> LoadFailure {
      guard let failure = error as? URLError else {
        return LoadFailure(afterHead ? .truncated : .unreachable, "No answer came: \(error).")
      }
      switch failure.code {
      case .cancelled: return LoadFailure(.cancelled, "The load was cancelled.")
      case .timedOut: return LoadFailure(.timedOut, "No answer came in time.")
      case .badURL, .unsupportedURL: return LoadFailure(.invalidRequest, "The address isn't a URL.")
      default:
        return LoadFailure(
          afterHead ? .truncated : .unreachable, "No answer came: \(failure.localizedDescription)")
      }
    }
  }
#endif
