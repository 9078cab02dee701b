import BothyStore
package import BothySync
package import Hummingbird
package import Logging
import ServiceLifecycle

/// A page behind its access control: a group of routes for any router of Hummingbird. It uses no sockets itself.
package struct InspectorApp: Service {
  private let authenticator: LoopbackAuthenticator
  private let home: [UInt8]
  private let takesChanges: Bool
  private let routes: any PageRoutes
  private let watch: any Service
  private let board: Broadcast<InspectorEvent>
  private let logger: Logger

  /// Creates the inspector's app: a page that shows the content of the device and the reasons of pending work, and
  /// accepts decisions about it.
  package init(_ subjects: InspectorSubjects, logger: Logger) {
    let watch = Watch(subjects)
    authenticator = LoopbackAuthenticator(opening: "bothy inspect")
    (home, takesChanges) = (PageDocument.inspector.bytes, true)
    routes = InspectorRoutes(subjects, watch)
    (self.watch, board, self.logger) = (watch, watch.board, logger)
  }

  /// Creates the playground's app: a page with two devices side by side, each with a switch for its network, to try
  /// working offline.
  ///
  /// - Parameters:
  ///   - devices: the devices, each with its own file. They sync by themselves.
  ///   - server: returns the current records of the server.
  package init(
    playing devices: [PlayDevice], logger: Logger,
    server: @escaping @Sendable () async throws -> [ServerRecord]
  ) {
    let watch = PlayWatch(devices)
    authenticator = LoopbackAuthenticator(opening: "bothy demo --open")
    (home, takesChanges) = (PageDocument.playground.bytes, true)
    routes = PlayRoutes(devices: devices, board: watch.board, server: server)
    (self.watch, board, self.logger) = (watch, watch.board, logger)
  }

  /// Creates the app of an operator's page: spaces, devices, refusals, limits, webhooks, upkeep and storage of servers.
  ///
  /// It knows no server code, because `subjects` makes the documents that the page shows. It has no changes to make.
  package init(operating subjects: OperatorSubjects, logger: Logger) {
    let watch = OperatorWatch(subjects)
    authenticator = LoopbackAuthenticator(opening: "bothy admin page")
    (home, takesChanges) = (PageDocument.operator.bytes, false)
    routes = OperatorRoutes(subjects: subjects)
    (self.watch, board, self.logger) = (watch, watch.board, logger)
  }

  /// Watches for changes until the task is cancelled or the service group shuts down. Then the event streams end.
  package func run() async throws { try await watch.run() }

  /// Sets the port, which defines the only host that requests may name.
  package func opens(at port: Int) { authenticator.opens(at: port) }

  /// The address that opens the page, with the token until its use.
  package var address: String { authenticator.address }

  /// Returns the events from now on. A slow listener misses events in between, which is harmless because pages read
  /// everything again.
  package func events() -> AsyncStream<InspectorEvent> {
    board.values(startingWith: InspectorEvent(.alive), keeping: 64)
  }

  /// Adds the page's middleware and routes to a router, or to a group of one.
  package func add<Context>(to router: some RouterMethods<Context>) {
    router.addMiddleware {
      PageMiddleware<Context>(authenticator: authenticator, takesChanges: takesChanges, logger: logger)
    }
    Assets.add(home, to: router)
    router.get("/events") { _, _ in Response.events(events()) }
    routes.add(to: router)
  }
}

/// The routes of one page, besides its files and events.
protocol PageRoutes: Sendable {
  func add(to router: some RouterMethods<some RequestContext>)
}
