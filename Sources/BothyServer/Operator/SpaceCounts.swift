import BothySyncService

/// The counts of spaces, remembered, so that a page that is read again counts only what changed.
///
/// Counting a space reads its records. So spaces are counted one after another, and a space that is written all the time
/// is counted again after half a minute at the earliest, or after twenty times the time that it took.
package actor SpaceCounts {
  /// The counts of a space, and their time.
  struct Counted: Sendable {
    var statistics: SpaceStatistics
    var at: Int64
    /// The milliseconds that counting took.
    var took: Int64
    fileprivate var state: State
  }

  /// The users, containers and blobs of one space.
  struct Details: Sendable {
    var users: [UserStatistics]
    var userCount: Int
    var containers: [ContainerLine]
    /// The stored blobs and their bytes, or `nil` if their folder isn't known.
    var blobs: (count: Int, bytes: Int64)?
    var at: Int64
    var took: Int64
    fileprivate var state: State
  }

  /// The part of a space's row that changes with its content.
  fileprivate struct State: Hashable {
    var epoch: String
    var head: Int64
    var floor: Int64

    init(_ line: SpaceLine) { (epoch, head, floor) = (line.epoch, line.head, line.floor) }
  }

  /// The most users and containers of a space's page.
  static let listLimit = 100
  private static let capacity = 5000
  private static let detailCapacity = 50
  private static let leastAge: Int64 = 30_000

  private let storage: any ServerReports
  private let blobs: (any BlobFileStorage)?
  private let patience: Duration
  private let now: @Sendable () -> Int64
  private var known: [String: Counted] = [:]
  private var details: [String: Details] = [:]
  private var waiting: [SpaceLine] = []
  private var isCounting = false

  /// - Parameter patience: the longest time that a list waits for its counts.
  package init(
    _ storage: any ServerReports, blobs: (any BlobFileStorage)?, patience: Duration,
    now: @escaping @Sendable () -> Int64
  ) {
    (self.storage, self.blobs, self.patience, self.now) = (storage, blobs, patience, now)
  }

  /// Returns the counts of spaces as far as they are known after a short wait. Counting continues afterwards, so a later
  /// call finds more.
  func counts(of lines: [SpaceLine]) async throws -> [String: Counted] {
    let missing = lines.filter {
      !isFresh(known[$0.name]?.state, known[$0.name]?.at, known[$0.name]?.took, $0)
    }
    if !missing.isEmpty {
      waiting = missing
      if !isCounting {
        isCounting = true
        Task { await countWaiting() }
      }
      let end = ContinuousClock.now + patience
      while isCounting, ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(5)) }
    }
    return lines.reduce(into: [:]) { $0[$1.name] = known[$1.name] }
  }

  private func countWaiting() async {
    while !waiting.isEmpty {
      let line = waiting.removeFirst()
      let begin = ContinuousClock.now
      // A space that can't be counted stays without counts. The list itself reports a storage that is away.
      guard let statistics = try? await storage.statistics(of: line.name) else { continue }
      if known.count >= Self.capacity { known.removeAll() }
      known[line.name] = Counted(
        statistics: statistics, at: now(), took: Self.milliseconds(since: begin), state: State(line))
    }
    isCounting = false
  }

  /// Returns the users, containers and blobs of a space. Reads its records and the list of its blobs, unless both were
  /// read recently.
  func details(of line: SpaceLine) async throws -> Details {
    if let found = details[line.name], isFresh(found.state, found.at, found.took, line) { return found }
    let begin = ContinuousClock.now
    let users = try await storage.users(of: line.name)
    let kept = try await blobs?.kept(in: line.name)
    let found = Details(
      users: Array(users.sorted { $0.records > $1.records }.prefix(Self.listLimit)),
      userCount: users.count,
      containers: try await storage.containers(of: line.name, limit: Self.listLimit),
      blobs: kept.map { ($0.count, $0.values.reduce(0, +)) }, at: now(),
      took: Self.milliseconds(since: begin), state: State(line))
    if details.count >= Self.detailCapacity { details.removeAll() }
    details[line.name] = found
    return found
  }

  private func isFresh(_ state: State?, _ at: Int64?, _ took: Int64?, _ line: SpaceLine) -> Bool {
    guard let state, let at, let took else { return false }
    return state == State(line) || now() - at < max(Self.leastAge, 20 * took)
  }

  private static func milliseconds(since begin: ContinuousClock.Instant) -> Int64 {
    Int64((ContinuousClock.now - begin) / .milliseconds(1))
  }
}
