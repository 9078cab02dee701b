import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import ServiceLifecycle

/// A page that is served on 127.0.0.1 alone.
final class LocalPage: Sendable {
  private let front: Front
  private let port: Int
  private let logger: Logger
  private let listening: AsyncStream<String>
  private let listens: AsyncStream<String>.Continuation

  /// - Parameter port: 0 lets the system choose one.
  init(_ front: Front, port: Int, logger: Logger) {
    self.front = front
    self.port = port
    self.logger = logger
    (listening, listens) = AsyncStream.makeStream()
  }

  /// Listens until the task is cancelled or the service group shuts down. Throws when the port is taken.
  func run() async throws {
    defer { listens.finish() }
    let (front, listens, port) = (front, listens, port)
    try await Application(
      responder: Responder(front: front),
      configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
      services: [front],
      onServerRunning: { channel in
        front.opens(at: channel.localAddress?.port ?? port)
        listens.yield(front.address)
      },
      logger: logger
    ).run()
  }

  /// The address that opens the page, once, when it listens; nil if it never does.
  func address() async -> String? {
    for await address in listening { return address }
    return nil
  }
}
