import ServiceLifecycle

/// Sends a heartbeat through every open event stream, so that proxies keep the streams and dead ones are detected.
struct Heartbeat: Service {
  let hub: ChangeNotifier
  let interval: Duration
  /// The time between two signs of life on an event stream.
  static let interval = Duration.seconds(15)

  func run() async throws {
    try await repeating(after: { interval }) { hub.beat() }
  }
}
