import BothyHTTP
import BothyKinto
import BothyStore
import BothySync
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

/// The real Kinto server that `scripts/test-kinto` starts.
enum RealKinto {
  static let url = ProcessInfo.processInfo.environment["BOTHY_KINTO_URL"]

  static let credentials = KintoCredentials.basic(user: "tester", password: "secret")

  /// Returns a space that no other test has.
  static func newSpace() -> String { "space/\(UUIDv7.make())" }
}

/// An installation of an app whose server is a real Kinto, behind a network that fails as a test says.
final class KintoDevice {
  let name: String
  let space: String
  let network: FaultyTransport
  let remote: KintoRemote
  private(set) var store: SyncedStore
  private let folder: TemporaryFolder
  private let configuration: SyncOptions
  private let time: VirtualTime

  init(
    _ name: String, in space: String, _ configuration: SyncOptions = .quiet,
    time: VirtualTime = VirtualTime()
  )
    throws
  {
    self.name = name
    self.space = space
    self.configuration = configuration
    self.time = time
    network = FaultyTransport(platformTransport(compression: false))
    var options = KintoOptions()
    options.timeout = .seconds(100)
    remote = KintoRemote(
      url: try #require(RealKinto.url), space: space, transport: network, credentials: RealKinto.credentials,
      schema: StoreSchema(version: 1, Card.self), options: options, clock: SyncClock(now: time.reader()))
    folder = try TemporaryFolder()
    store = try Self.open(folder, remote, configuration, time)
  }

  /// Closes the file and opens it again, like a relaunch of the app.
  func restart() throws {
    try store.store.close()
    store = try Self.open(folder, remote, configuration, time)
  }

  private static func open(
    _ folder: TemporaryFolder, _ remote: KintoRemote, _ configuration: SyncOptions, _ time: VirtualTime
  ) throws -> SyncedStore {
    try SyncedStore(
      at: folder.file("cards.sqlite"), schema: StoreSchema(version: 1, Card.self),
      remote: remote,
      configuration: configuration,
      options: StoreOptions(durability: .normal, processes: .single, readers: 1),
      clock: SyncClock(now: time.reader()))
  }

  func cards() throws -> [Card] { try store.store.fetch(RecordQuery<Card>()) }

  func card(_ id: String) throws -> Card? { try store.store.fetch(Card.self, id: id) }

  func insert(_ card: Card) throws { try store.store.write { try $0.insert(card) } }

  func update(_ id: String, _ change: @escaping @Sendable (inout Card) -> Void) throws {
    try store.store.write { _ = try $0.update(Card.self, id: id, change) }
  }

  func delete(_ id: String) throws { try store.store.write { _ = try $0.delete(Card.self, id: id) } }

  /// Returns the problems of the device after all devices have synced, which must be empty.
  func problems() async throws -> [String] {
    var problems: [String] = []
    let left = try store.outboxEntries()
    if !left.isEmpty { problems.append("\(name) still has \(left.map(\.id))") }
    let server = try await remote.digest(.everything)
    let own = try store.digest()
    if own.count != server.count || own.digest != server.digest {
      problems.append(
        "\(name) has \(own.count) records \(own.digest), Kinto \(server.count) \(server.digest)")
    }
    let findings = try store.diagnose().findings
    if !findings.isEmpty { problems.append("\(name): \(findings)") }
    return problems
  }
}
