import BothyHTTP
import BothyInspector
import BothyServer
import BothyStore
import BothySync
import Foundation
import Logging
import ServiceLifecycle
import Synchronization

/// The page of `bothy demo --open`: a server, two devices that sync automatically, and an inspector for each.
struct DemoPage {
  let folder: String
  let port: Int
  let output: OutputOptions

  /// Runs until it is interrupted.
  func run() async throws {
    var logger = Logger(label: "bothy.demo")
    logger.logLevel = .error
    let server = DemoServer(path: "\(folder)/server.sqlite", schema: Playground.schema(isStrict: true))
    try await server.whileServing { address in
      let devices = try ["Ada", "Ben"].map {
        try PagedDevice($0, folder: folder, server: address.url, logger)
      }
      let remote = RemoteConnection(to: RemoteAddress(url: address.url, space: "demo", token: nil)).remote
      let app = InspectorApp(playing: devices.map(\.shown), logger: logger) {
        try await remote.query(AnyQuery("Trip"))
      }
      let playground = LoopbackServer(app, port: port, logger: logger)
      try await devices[0].plant()
      let services = ServiceGroup(
        services: devices.flatMap(\.services) + [playground], logger: logger)
      let running = RunningService(host: "127.0.0.1", port: port, portOption: "--port", logger: logger)
      try await running.run(services) {
        for device in devices { await device.learnAddress() }
        // If the page fails to listen, its own task reports why.
        guard let page = await playground.address() else { return }
        try output.print {
          """
          Two devices and their server are on \(page)
          Change trips on both, switch their networks off and on. Ctrl-C ends it.
          """
        } json: {
          $0.member("url", page)
        }
        Browser.open(page)
      }
      for device in devices { try device.store.store.close() }
    }
  }
}

/// One device of the page, with its switch and its inspector.
private final class PagedDevice: Sendable {
  let name: String
  let store: SyncedStore
  private let remote: SwitchedRemote
  private let inspector: LoopbackServer
  private let address = Mutex<String?>(nil)

  init(_ name: String, folder: String, server: String, _ logger: Logger) throws {
    self.name = name
    let place = RemoteAddress(url: server, space: "demo", token: nil)
    let connection = RemoteConnection(to: place)
    let remote = SwitchedRemote(connection.remote)
    self.remote = remote
    let path = "\(folder)/\(name.lowercased()).bothy"
    _ = try PrivateFile.create(at: path)
    var configuration = SyncOptions()
    configuration.merging = MergePolicies(default: .fieldByField)
    configuration.logger = logger
    // A person is watching, so retries are short.
    configuration.backoff = Backoff(first: .milliseconds(200), limit: .seconds(2))
    store = try SyncedStore(
      at: path, schema: Playground.schema(isStrict: false), remote: remote, configuration: configuration)
    try store.remember(place)
    let subjects = InspectorSubjects(
      store,
      server: InspectorSubjects.Server(url: server, space: "demo") {
        guard remote.isOnline else { return false }
        return await connection.isReachable() ?? false
      })
    inspector = LoopbackServer(InspectorApp(subjects, logger: logger), logger: logger)
  }

  var shown: PlayDevice {
    PlayDevice(
      name, store: store, isOnline: { [remote] in remote.isOnline },
      setOnline: { [remote] in remote.isOnline = $0 },
      inspector: { [self] in address.withLock { $0 } })
  }

  var services: [any Service] { [inspector, Syncing(store: store, feed: remote.feed)] }

  func learnAddress() async {
    let found = await inspector.address()
    address.withLock { $0 = found }
  }

  /// Saves some initial trips.
  func plant() async throws {
    let huts = [("Kobberhaughytta", "Norway", 2), ("Corrour", "Scotland", 1), ("Lagazuoi", "Italy", 3)]
    for (title, country, nights) in huts {
      let fields: [String: FieldValue] = [
        "title": .text(title), "country": .text(country), "nights": .int(Int64(nights)),
      ]
      try await store.save(AnyRecord("Trip", id: title.lowercased(), fields))
    }
  }
}

/// The automatic sync of a device while the page runs.
private struct Syncing: Service {
  let store: SyncedStore
  let feed: NetworkFeed

  func run() async throws {
    await cancelWhenGracefulShutdown { await store.run(reachability: feed) }
  }
}
