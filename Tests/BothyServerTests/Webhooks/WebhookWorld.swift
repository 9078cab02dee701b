import BothyServer
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Logging

/// A storage with writers, a receiver that does what a test says, and senders that can be killed.
final class WebhookWorld: Sendable {
  /// The receiver's treatment of one delivery.
  enum Treatment: Sendable {
    case take
    case refuse(status: Int, retryAfter: Duration? = nil)
    case hangUp
    /// Takes the delivery, and then the answer is lost.
    case takeSilently
    /// Takes the delivery, and then the sender is killed before it notes anything.
    case takeAndKill
  }

  struct Change: Sendable, Hashable {
    var space: String
    var position: Int64
    var record: String
    var version: Int64
  }

  struct Delivery: Sendable {
    var id: String
    var signature: String
    var bytes: Int
    var isReset: Bool
    var isIncomplete: Bool
    var epoch: String
    var changes: [Change]
  }

  struct Lost: Error {}

  let time = VirtualTime()
  let base: any FeedStorage & ServerMaintenance
  let service: SyncService
  let metrics = MetricsRegistry()
  let log = LogUnderTest()
  let taken = Locked<[Delivery]>([])
  let attempts = Locked(0)
  private let treatment = Locked<@Sendable (String) -> Treatment>({ _ in .take })

  init(_ storage: (any FeedStorage & ServerMaintenance)? = nil) throws {
    base = try storage ?? SQLiteServerStorage()
    let time = time
    service = SyncService(storage: base, now: { time.now })
  }

  func treat(_ all: Treatment) { treatment.value = { _ in all } }
  /// Treats deliveries by their space.
  func treat(by body: @escaping @Sendable (String) -> Treatment) { treatment.value = body }

  /// A sender of a process. `storage` is that of the process, so that it can be killed.
  func sender(
    _ hook: Webhook? = nil, holder: String = "server", isAlone: Bool = true, on storage: MortalStorage? = nil,
    _ change: (inout WebhookSettings) -> Void = { _ in }
  ) throws -> WebhookSender {
    let hook = try hook ?? Webhook(url: "https://example.org/x", secret: WebhookTests.secret)
    let storage = storage ?? MortalStorage(base)
    var settings = WebhookSettings([hook], holder: holder, isAlone: isAlone) { [self] request in
      attempts.change { $0 += 1 }
      let space = try JSONValue(parsing: request.body)["space"]?.stringValue ?? ""
      switch treatment.value(space) {
      case .take: try take(request)
      case .refuse(let status, let wait): return OutboundResponse(status: status, retryAfter: wait)
      case .hangUp: throw Lost()
      case .takeSilently:
        try take(request)
        throw Lost()
      case .takeAndKill:
        try take(request)
        storage.kill()
      }
      return OutboundResponse(status: 204)
    }
    settings.random = { 0.5 }
    settings.clock = VirtualClock()
    change(&settings)
    let time = time
    return WebhookSender(
      hook, settings, service, storage, metrics: metrics, logger: log.logger(), now: { time.now })
  }

  private func take(_ request: OutboundRequest) throws {
    let body = try JSONValue(parsing: request.body)
    let space = body["space"]?.stringValue ?? ""
    let changes = (body["changes"]?.arrayValue ?? []).map { change in
      Change(
        space: space, position: change["position"]?.intValue ?? 0, record: change["id"]?.stringValue ?? "",
        version: change["record"]?["version"]?.stringValue.flatMap { Int64($0) } ?? 0)
    }
    taken.change {
      $0.append(
        Delivery(
          id: request.headers["webhook-id"] ?? "", signature: request.headers["webhook-signature"] ?? "",
          bytes: request.body.count, isReset: body["reset"]?.boolValue ?? false,
          isIncomplete: body["incomplete"]?.boolValue ?? false, epoch: body["epoch"]?.stringValue ?? "",
          changes: changes))
    }
  }

  /// Writes a record anew or again, and returns the version.
  @discardableResult
  func write(
    _ id: String, in space: String = "s", base: Int64? = nil, type: String = "Note", delete: Bool = false,
    text: String = "t"
  ) async throws -> Int64 {
    let operation = SyncOperation(
      id: "o", kind: delete ? .delete : base == nil ? .insert : .update, record: RecordID(type: type, id: id),
      base: base.map(String.init), fields: delete ? [:] : ["title": .string(text)])
    let verdict = try await service.perform(space: space, user: Caller("ann"), operation)
    guard case .applied(let version, _, _) = verdict, let number = Int64(version) else { throw Lost() }
    return number
  }

  /// Steps until there is nothing to do now.
  func run(_ sender: WebhookSender) async { while await sender.step() {} }

  /// Steps, and moves the time on to what waits, until all spaces are delivered.
  func finish(_ sender: WebhookSender, hook: String = "webhook") async throws {
    for _ in 0..<100_000 {
      await run(sender)
      let states = try await base.states(of: hook, after: "", limit: 1000)
      guard states.contains(where: \.isBehind), let moment = sender.moment else { return }
      time.advance(by: max(1, moment - time.now))
    }
  }

  /// Steps until so much time has passed, in milliseconds.
  func pass(_ duration: Int64, _ sender: WebhookSender) async {
    let end = time.now + duration
    while true {
      await run(sender)
      guard let moment = sender.moment, moment <= end else { break }
      time.advance(by: max(1, moment - time.now))
    }
    time.advance(by: max(0, end - time.now))
  }

  /// The positions of all taken changes of a space, with repetitions.
  func positions(_ space: String = "s") -> [Int64] {
    taken.value.flatMap(\.changes).filter { $0.space == space }.map(\.position)
  }
}

/// A process's way to a storage. After its death it reads and writes nothing.
final class MortalStorage: FeedStorage {
  struct Dead: Error {}

  private let base: any FeedStorage
  private let isDead = Locked(false)

  init(_ base: any FeedStorage) { self.base = base }

  var identity: String { base.identity }

  func kill() { isDead.value = true }

  var isKilled: Bool { isDead.value }

  private func live() throws { if isDead.value { throw Dead() } }

  func write<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerTransaction) throws -> Result
  ) async throws -> Result {
    try live()
    return try await base.write(space: space, body)
  }

  func read<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
  ) async throws -> Result {
    try live()
    return try await base.read(space: space, body)
  }

  func heads(after name: String, limit: Int) async throws -> [SpaceHead] {
    try live()
    return try await base.heads(after: name, limit: limit)
  }

  func webhooks() async throws -> [String] {
    try live()
    return try await base.webhooks()
  }

  func state(of hook: String, in space: String) async throws -> WebhookState? {
    try live()
    return try await base.state(of: hook, in: space)
  }

  func states(of hook: String, after name: String, limit: Int) async throws -> [WebhookState] {
    try live()
    return try await base.states(of: hook, after: name, limit: limit)
  }

  func claim(
    _ hook: String, in space: String, for holder: String, until end: Int64, at now: Int64
  ) async throws -> WebhookProgress? {
    try live()
    return try await base.claim(hook, in: space, for: holder, until: end, at: now)
  }

  func note(
    _ progress: WebhookProgress, of hook: String, in space: String, by holder: String, until end: Int64
  ) async throws -> Bool {
    try live()
    return try await base.note(progress, of: hook, in: space, by: holder, until: end)
  }

  func place(_ hook: String, in space: String, at position: FeedPosition) async throws {
    try live()
    try await base.place(hook, in: space, at: position)
  }
}
