import Hummingbird
import HummingbirdCore
package import Logging
import ServiceLifecycle

/// A server for one page, on 127.0.0.1 only. It admits one browser by an address that works once. `run()` is its
/// lifetime.
package final class LoopbackServer: Service {
  private let front: InspectorApp
  private let port: Int
  private let logger: Logger
  private let listening: AsyncStream<String>
  private let listens: AsyncStream<String>.Continuation

  /// - Parameter port: the port, or 0 to let the system choose one.
  package init(_ front: InspectorApp, port: Int = 0, logger: Logger) {
    self.front = front
    self.port = port
    self.logger = logger
    (listening, listens) = AsyncStream.makeStream()
  }

  /// Listens until the task is cancelled or the service group shuts down. Call it once. Throws if the port is in use.
  package func run() async throws {
    defer { listens.finish() }
    let (front, listens, port) = (front, listens, port)
    let router = Router(options: .autoGenerateHeadEndpoints)
    front.add(to: router)
    try await Application(
      router: router, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
      services: [front],
      onServerRunning: { channel in
        front.opens(at: channel.localAddress?.port ?? port)
        listens.yield(front.address)
      },
      logger: logger
    ).run()
  }

  /// Waits until the page listens, and returns the address that opens it once, or `nil` if it never listens. Call it
  /// once.
  package func address() async -> String? {
    for await address in listening { return address }
    return nil
  }
}
