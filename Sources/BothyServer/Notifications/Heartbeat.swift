import ServiceLifecycle

/// Sends a heartbeat through every open event stream, so that proxies keep the streams and dead ones are detected.
struct Heartbeat: Service {
  let hub: ChangeNotifier
  let interval: Duration

  func run() async throws {
    try await repeating(after: { interval }) { hub.beat() }
  }
}
