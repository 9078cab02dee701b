#if canImport(Darwin)
  import BothySync
  import Foundation
  import HTTPTypes
  import Synchronization

  /// The running tasks, each of which receives its head, then its body, then its end.
  final class URLSessionTaskTable: NSObject, URLSessionDataDelegate, Sendable {
    typealias Head = CheckedContinuation<Result<TransportStream, RemoteError>, Never>

    private struct Running {
      var host: String
      var head: Head?
      var body: AsyncThrowingStream<[UInt8], any Error>.Continuation?
      var unread: UnreadBytes?
    }

    private struct State {
      var running: [Int: Running] = [:]
      /// True if the last connection to a host carried several requests at a time.
      var isMultiplexed: [String: Bool] = [:]
      /// Failures of tasks that ended before they were added, because their callers had already cancelled them.
      var endedEarly: [Int: RemoteError] = [:]
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
      let (pieces, body) = AsyncThrowingStream.makeStream(of: [UInt8].self, throwing: (any Error).self)
      body.onTermination = { [weak dataTask] reason in
        if case .cancelled = reason { dataTask?.cancel() }
      }
      let unread = UnreadBytes(
        suspend: { [weak dataTask] in dataTask?.suspend() }, resume: { [weak dataTask] in dataTask?.resume() }
      )
      let stream = AsyncThrowingStream<[UInt8], any Error>(reading: pieces) { piece in
        unread.take(piece.count)
        return piece
      } failure: {
        $0
      }
      let (head, isMultiplexed) = state.withLock { state -> (Head?, Bool) in
        let id = dataTask.taskIdentifier
        let running = state.running[id]
        state.running[id]?.head = nil
        state.running[id]?.body = body
        state.running[id]?.unread = unread
        return (running?.head, running.flatMap { state.isMultiplexed[$0.host] } ?? false)
      }
      guard let response = response as? HTTPURLResponse else {
        head?.resume(returning: .failure(.noAnswer("It is not HTTP.")))
        completionHandler(.cancel)
        return
      }
      var fields = HTTPFields()
      for (name, value) in response.allHeaderFields {
        if let name = (name as? String).flatMap({ HTTPField.Name($0) }), let value = value as? String {
          fields.append(HTTPField(name: name, value: value))
        }
      }
      var answer = TransportStream(status: response.statusCode, headers: fields, body: stream)
      answer.isMultiplexed = isMultiplexed
      answer.undoneCodings = ["gzip", "deflate", "br"]
      head?.resume(returning: .success(answer))
      completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
      guard let running = state.withLock({ $0.running[dataTask.taskIdentifier] }) else { return }
      running.unread?.add(data.count)
      running.body?.yield(Array(data))
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

    private static func failure(_ error: any Error, afterHead: Bool) -> RemoteError {
      switch (error as? URLError)?.code {
      case .cancelled: .cancelled
      case .timedOut: .timedOut
      case .badURL, .unsupportedURL: .badAddress
      default:
        afterHead ? .brokeOff(error.localizedDescription) : .noAnswer(error.localizedDescription)
      }
    }
  }
#endif
