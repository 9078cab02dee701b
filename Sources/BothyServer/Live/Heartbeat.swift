import ServiceLifecycle

/// Sends a heartbeat through every open event stream, so that proxies keep the streams and dead ones are detected.
struct Heartbeat: Service {
  let hub: ChangeNotifier
  let interval: Duration

  func run() async throws {
    try await cancelWhenGracefulShutdown {
      do {
        while true {
          try await Task.sleep(for: interval)
          hub.beat()
        }
      } catch is CancellationError {
        // The server stops, and this task with it.
      }
    }
  }
}
