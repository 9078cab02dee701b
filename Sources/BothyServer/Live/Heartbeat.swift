import ServiceLifecycle

/// Sends a sign of life through every open event stream, so that proxies keep them and dead ones are found.
struct Heartbeat: Service {
  let hub: HintHub
  let interval: Duration

  func run() async throws {
    try await cancelWhenGracefulShutdown {
      do {
        while true {
          try await Task.sleep(for: interval)
          hub.beat()
        }
      } catch is CancellationError {
        // The server stops; so does the beat.
      }
    }
  }
}
