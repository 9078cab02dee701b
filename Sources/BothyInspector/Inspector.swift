import Hummingbird
import HummingbirdCore
package import Logging
import ServiceLifecycle

/// A page on this machine that shows what is on the device and why something waits, and takes decisions about it.
///
/// It listens on 127.0.0.1 alone, and lets in one browser by an address that works once. `run()` is its lifetime.
package final class Inspector: Service {
  private let front: Front
  private let port: Int
  private let logger: Logger
  private let listening: AsyncStream<String>
  private let listens: AsyncStream<String>.Continuation

  /// - Parameter port: 0 lets the system choose one.
  package init(_ subjects: InspectorSubjects, port: Int = 0, logger: Logger) {
    front = Front(subjects, logger: logger)
    self.port = port
    self.logger = logger
    (listening, listens) = AsyncStream.makeStream()
  }

  /// Listens until the task is cancelled or the service group shuts down. Call it once. Throws when the port is taken.
  package func run() async throws {
    defer { listens.finish() }
    let (front, listens, port) = (front, listens, port)
    try await Application(
      responder: Responder(front: front),
      configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
      services: [front.watch],
      onServerRunning: { channel in
        front.opens(at: channel.localAddress?.port ?? port)
        listens.yield(front.address)
      },
      logger: logger
    ).run()
  }

  /// The address that opens the page, once, when it listens; nil if it never does. Ask once.
  package func address() async -> String? {
    for await address in listening { return address }
    return nil
  }
}
