import BothyStore

/// Looks at server processes from outside, as any monitor does: at their `/metrics` and `/readyz`.
///
/// A process that doesn't answer is remembered with the time since when, and delays no other.
package actor ServerWatch {
  /// The response of a server: the status and the body.
  package struct Response: Sendable {
    package var status: Int
    package var body: [UInt8]

    package init(status: Int, body: [UInt8]) {
      self.status = status
      self.body = body
    }
  }

  package private(set) var servers: [WatchedServer]
  private let now: @Sendable () -> Int64
  private let get: @Sendable (String) async throws -> Response

  /// - Parameters:
  ///   - urls: the addresses of the processes, without a path.
  ///   - get: sends a request with a time limit. It throws without a response.
  package init(
    _ urls: [String], now: @escaping @Sendable () -> Int64,
    get: @escaping @Sendable (String) async throws -> Response
  ) {
    servers = urls.map { WatchedServer($0, at: now()) }
    self.now = now
    self.get = get
  }

  /// Looks at all processes at once, with two requests each.
  package func look() async {
    let urls = servers.map(\.url)
    await withTaskGroup(of: (Int, Result<(MetricsText, String?), FailedLook>).self) { tasks in
      for (index, url) in urls.enumerated() {
        tasks.addTask { [get] in (index, await Self.look(at: url, get)) }
      }
      for await (index, result) in tasks { note(result, of: index) }
    }
  }

  private func note(_ result: Result<(MetricsText, String?), FailedLook>, of index: Int) {
    switch result {
    case .success(let (metrics, unreadiness)):
      servers[index].answered(metrics, unreadiness: unreadiness, at: now())
    case .failure(let problem): servers[index].missed(problem.sentence, at: now())
    }
  }

  private struct FailedLook: Error { var sentence: String }

  private static func look(
    at url: String, _ get: @Sendable (String) async throws -> Response
  ) async -> Result<(MetricsText, String?), FailedLook> {
    let metrics: Response
    let ready: Response
    do {
      metrics = try await get(url + "/metrics")
      ready = try await get(url + "/readyz")
    } catch {
      return .failure(FailedLook(sentence: (error as? BothyError)?.message ?? "\(error)"))
    }
    guard metrics.status == 200 else {
      return .failure(
        FailedLook(
          sentence:
            "/metrics was answered with the status \(metrics.status). Give the address of the process, not of a proxy."
        ))
    }
    let text = MetricsText(parsing: String(decoding: metrics.body, as: UTF8.self))
    guard text.sum("bothy_connections") != nil else {
      return .failure(
        FailedLook(sentence: "/metrics has none of Bothy's metrics. Give the address of a Bothy server."))
    }
    return .success((text, ready.status == 200 ? nil : Self.reason(ready)))
  }

  /// Returns the message of an error response, or a sentence with the status.
  private static func reason(_ response: Response) -> String {
    // A body that isn't JSON has no message.
    let message = try? JSONValue(parsing: response.body)["error"]?["message"]?.stringValue
    return message ?? "/readyz was answered with the status \(response.status)."
  }
}
