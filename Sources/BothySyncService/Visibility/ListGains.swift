import BothyStore

/// The names that lists gain and lose in one transaction. Each request of a user reads the lists that name it, and others
/// make them, so their number is bounded.
///
/// One owner has a part of that number, so it can't use up the room of another user. Lists that are too many already stay
/// as they are: their names may go and not come back.
struct ListGains {
  /// One owner has this part of the lists that may name a user.
  static let part = 8

  private var all: [String: Int] = [:]
  private var owners: [String: [String: Int]] = [:]

  /// Notes a list that gains and loses members.
  mutating func add(_ gained: Set<String>, _ lost: Set<String>, of owner: String?) {
    for (names, change) in [(gained, 1), (lost, -1)] {
      for name in names {
        all[name, default: 0] += change
        if let owner { owners[owner, default: [:]][name, default: 0] += change }
      }
    }
  }

  /// Throws `SyncServiceError` `.tooManyReaders` if more lists would name a user. Reads the lists as they were before.
  func check(atMost limit: Int, in storage: any ServerSnapshot) throws {
    try check(all, of: nil, atMost: limit, limit, storage)
    for (owner, changes) in owners {
      try check(changes, of: owner, atMost: max(limit / Self.part, 1), limit, storage)
    }
  }

  private func check(
    _ changes: [String: Int], of owner: String?, atMost most: Int, _ limit: Int, _ storage: any ServerSnapshot
  ) throws {
    let gained = changes.filter { $0.value > 0 }.sorted { $0.key < $1.key }
    guard !gained.isEmpty else { return }
    let counts = try storage.listCounts(of: gained.map(\.key), ownedBy: owner, limit: most)
    for ((name, change), count) in zip(gained, counts) where count.addingClamped(change) > most {
      throw SyncServiceError(
        .tooManyReaders,
        "'\(name.prefix(64))' may be in \(limit) lists of this space, and in \(max(limit / Self.part, 1)) of one owner "
          + "(--lists). Take it out of other lists, or share the records with it by its name.")
    }
  }
}
