import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import ServiceLifecycle

/// A page as the listener sees it: a door with an address, answers, events.
protocol PageFront: Sendable {
  var gate: Gate { get }
  func answer(_ call: InspectorCall) async -> Answer
  /// The events from now on. A listener that lags behind skips what came in between: pages read anew in any case.
  func events() -> AsyncStream<InspectorEvent>
}

/// A page that is served on 127.0.0.1 alone, with the services that it needs.
final class LocalPage: Sendable {
  private let front: any PageFront
  private let port: Int
  private let logger: Logger
  private let services: [any Service]
  private let listening: AsyncStream<String>
  private let listens: AsyncStream<String>.Continuation

  /// - Parameter port: 0 lets the system choose one.
  init(_ front: any PageFront, port: Int, logger: Logger, services: [any Service]) {
    self.front = front
    self.port = port
    self.logger = logger
    self.services = services
    (listening, listens) = AsyncStream.makeStream()
  }

  /// Listens until the task is cancelled or the service group shuts down. Throws when the port is taken.
  func run() async throws {
    defer { listens.finish() }
    let (doorkeeper, listens, port) = (front.gate.doorkeeper, listens, port)
    try await Application(
      responder: Responder(front: front),
      configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
      services: services,
      onServerRunning: { channel in
        doorkeeper.opens(at: channel.localAddress?.port ?? port)
        listens.yield(doorkeeper.address)
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
